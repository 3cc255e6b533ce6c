#include <stdlib.h>

#include "../../lib/buffer.h"
#include "arrow_tables.h"

static const struct nvt_table *table_of(const struct nvt_arrow_source *source)
{
    return source->context;
}

static int64_t rows(const struct nvt_arrow_source *source, size_t batch)
{
    (void)batch;
    return (int64_t)nvt_table_rows(table_of(source));
}

static void field(const struct nvt_arrow_source *source, size_t column, struct nvt_arrow_field *out)
{
    const struct nvt_column *what = nvt_table_column(table_of(source), column);
    static const char *const formats[] = {
        [NVT_INT] = "l", [NVT_REAL] = "g", [NVT_TEXT] = "U", [NVT_BOOL] = "b"};
    *out = (struct nvt_arrow_field){
        .name = what->heading, .format = formats[what->type], .unit = what->unit};
}

static int find_nulls(const struct nvt_table *table, size_t column,
                      struct nvt_arrow_buffers *buffers)
{
    for (int64_t i = 0; i < buffers->length; i++)
        if (nvt_table_is_null(table, (size_t)i, column) && nvt_arrow_set_null(buffers, i))
            return -1;
    return 0;
}

static int copy_texts(const struct nvt_table *table, size_t column,
                      struct nvt_arrow_buffers *buffers)
{
    struct nvt_buffer bytes = {0};
    int64_t *offsets = malloc(((size_t)buffers->length + 1) * sizeof(*offsets));
    if (!offsets)
        return -1;
    for (int64_t i = 0; i < buffers->length; i++) {
        offsets[i] = (int64_t)bytes.size;
        nvt_arrow_append_text(&bytes, nvt_table_text(table, (size_t)i, column));
    }
    offsets[buffers->length] = (int64_t)bytes.size;
    if (bytes.failed) {
        nvt_buffer_free(&bytes);
        free(offsets);
        return -1;
    }
    buffers->offsets = offsets;
    buffers->values = bytes.data;
    return 0;
}

static int copy_bools(const struct nvt_table *table, size_t column,
                      struct nvt_arrow_buffers *buffers)
{
    uint8_t *bits = nvt_arrow_bits(buffers->length);
    for (int64_t i = 0; bits && i < buffers->length; i++)
        if (!nvt_table_bool(table, (size_t)i, column))
            nvt_arrow_clear(bits, i);
    buffers->values = bits;
    return bits ? 0 : -1;
}

static int copy_numbers(const struct nvt_table *table, size_t column,
                        struct nvt_arrow_buffers *buffers)
{
    int64_t *values = malloc(((size_t)buffers->length + 1) * sizeof(*values));
    for (int64_t i = 0; values && i < buffers->length; i++)
        values[i] = nvt_table_int(table, (size_t)i, column);
    buffers->values = values;
    return values ? 0 : -1;
}

static int copy_reals(const struct nvt_table *table, size_t column,
                      struct nvt_arrow_buffers *buffers)
{
    double *values = malloc(((size_t)buffers->length + 1) * sizeof(*values));
    for (int64_t i = 0; values && i < buffers->length; i++)
        values[i] = nvt_table_real(table, (size_t)i, column);
    buffers->values = values;
    return values ? 0 : -1;
}

static int fill(const struct nvt_arrow_source *source, size_t batch, size_t column,
                struct ArrowArray *array)
{
    const struct nvt_table *table = table_of(source);
    const enum nvt_type type = nvt_table_column(table, column)->type;
    struct nvt_arrow_buffers buffers = {.length = rows(source, batch)};
    int failed = find_nulls(table, column, &buffers);
    if (!failed)
        failed = type == NVT_TEXT   ? copy_texts(table, column, &buffers)
                 : type == NVT_BOOL ? copy_bools(table, column, &buffers)
                 : type == NVT_REAL ? copy_reals(table, column, &buffers)
                                    : copy_numbers(table, column, &buffers);
    if (failed) {
        free(buffers.validity);
        return -1;
    }
    return nvt_arrow_array(array, &buffers);
}

int nvt_arrow_of_table(const struct nvt_table *table, struct nvt_arrow_owner *owner,
                       struct ArrowArrayStream *out, struct nvt_error *err)
{
    const struct nvt_arrow_source source = {.owner = owner,
                                            .columns = nvt_table_columns(table),
                                            .batches = 1,
                                            .rows = rows,
                                            .field = field,
                                            .fill = fill,
                                            .context = table};
    return nvt_arrow_stream(&source, out) ? nvt_fail(err, "out of memory") : 0;
}
