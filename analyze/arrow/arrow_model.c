#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/text.h"
#include "arrow_tables.h"

void nvt_arrow_append_text(struct nvt_buffer *out, const char *text)
{
    char bytes[NVT_UTF8_MAX];
    for (uint32_t character; (character = nvt_utf8_next(&text));)
        (void)nvt_buffer_append(out, bytes, nvt_utf8_put(character, bytes));
}

/* --- texts --- */

static void free_texts(struct nvt_arrow_texts *texts)
{
    free(texts->offsets);
    free(texts->bytes);
    *texts = (struct nvt_arrow_texts){0};
}

void nvt_arrow_model_free(struct nvt_arrow_model *model)
{
    for (size_t i = 0; model->model && i < model->model->count; i++) {
        if (model->texts)
            free_texts(&model->texts[i]);
        if (model->paths)
            free_texts(&model->paths[i]);
    }
    free(model->texts);
    free(model->paths);
    model->texts = model->paths = NULL;
}

/* Of a trace's strings, or of one text. 0, or -1 when out of memory. */
static int make_texts(struct nvt_arrow_texts *texts, const struct nvt_trace *trace,
                      const char *only)
{
    struct nvt_buffer bytes = {0};
    const uint32_t count = only ? 1 : nvt_strings_count(trace->strings);
    int64_t *offsets = malloc(((size_t)count + 1) * sizeof(*offsets));
    if (!offsets || count > INT_MAX) {
        free(offsets);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = (int64_t)bytes.size;
        nvt_arrow_append_text(&bytes, only ? only : nvt_name(trace, i));
    }
    offsets[count] = (int64_t)bytes.size;
    if (bytes.failed) {
        free(offsets);
        nvt_buffer_free(&bytes);
        return -1;
    }
    *texts = (struct nvt_arrow_texts){offsets, (char *)bytes.data, count};
    return 0;
}

static int prepare_texts(struct nvt_arrow_model *model)
{
    const size_t count = model->model->count;
    if (!model->texts)
        model->texts = calloc(count + 1, sizeof(*model->texts));
    if (!model->paths)
        model->paths = calloc(count + 1, sizeof(*model->paths));
    if (!model->texts || !model->paths)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct nvt_trace *trace = model->model->parts[i].trace;
        if ((!model->texts[i].offsets && make_texts(&model->texts[i], trace, NULL)) ||
            (!model->paths[i].offsets && make_texts(&model->paths[i], trace, trace->path)))
            return -1;
    }
    return 0;
}

/* --- columns --- */

static const struct nvt_arrow_model *model_of(const struct nvt_arrow_source *source)
{
    return source->context;
}

static const struct nvt_shown_table *table_of(const struct nvt_arrow_source *source)
{
    return source->other;
}

static int64_t rows(const struct nvt_arrow_source *source, size_t batch)
{
    return nvt_layout_rows(model_of(source)->model->parts[batch].trace, table_of(source)->layout);
}

static const struct nvt_layout_column *stored_of(const struct nvt_shown_table *table,
                                                 const struct nvt_shown_column *column)
{
    return column->kind == NVT_SHOWN_STORED ? &table->layout->columns[column->stored] : NULL;
}

/* Whether a column stands in memory as it is shown, so that it can be borrowed. */
static int is_borrowed(const struct nvt_model *model, const struct nvt_shown_table *table,
                       const struct nvt_shown_column *column)
{
    const struct nvt_layout_column *stored = stored_of(table, column);
    if (column->kind == NVT_SHOWN_RANGE)
        return model->count == 1;
    if (column->kind == NVT_SHOWN_RANGE_NAME)
        return 1;
    if (!stored || stored->meaning == NVT_MEANS_DETAIL || column->unknown == NVT_UNKNOWN_AND_1)
        return 0;
    return column->target == NVT_TABLE_COUNT ||
           (model->count == 1 && stored->meaning != NVT_MEANS_ROW_AND_1);
}

static const char *format_of(const struct nvt_model *model, const struct nvt_shown_table *table,
                             const struct nvt_shown_column *column)
{
    const struct nvt_layout_column *stored = stored_of(table, column);
    if (!is_borrowed(model, table, column))
        return "l";
    if (!stored)
        return "I";
    const int is_signed = stored->meaning == NVT_MEANS_SIGNED ||
                          stored->meaning == NVT_MEANS_TIME ||
                          stored->meaning == NVT_MEANS_TIME_OR_NONE ||
                          (stored->meaning == NVT_MEANS_LINKED && stored->width == 8);
    if (stored->meaning == NVT_MEANS_REAL)
        return "g";
    switch (stored->width) {
    case 1:
        return "C";
    case 2:
        return "S";
    case 4:
        return is_signed ? "i" : "I";
    default:
        return is_signed ? "l" : "L";
    }
}

static int is_text(const struct nvt_shown_table *table, const struct nvt_shown_column *column)
{
    const struct nvt_layout_column *stored = stored_of(table, column);
    return column->kind == NVT_SHOWN_FILE || column->kind == NVT_SHOWN_RANGE_NAME ||
           (stored && stored->meaning == NVT_MEANS_TEXT);
}

static void field(const struct nvt_arrow_source *source, size_t column, struct nvt_arrow_field *out)
{
    const struct nvt_shown_column *what = &table_of(source)->columns[column];
    *out = (struct nvt_arrow_field){.name = what->name,
                                    .format =
                                        format_of(model_of(source)->model, table_of(source), what),
                                    .unit = what->unit,
                                    .about = what->about};
    if (is_text(table_of(source), what)) {
        out->format = "U";
        out->dictionary = "i";
    }
}

/* Bits of what is null, or none where nothing is. 0, or -1 when out of memory. */
static int find_nulls(const struct nvt_arrow_source *source, size_t batch, size_t column,
                      struct nvt_arrow_buffers *buffers)
{
    const struct nvt_model *model = model_of(source)->model;
    for (int64_t i = 0; i < buffers->length; i++)
        if (nvt_model_value(model, table_of(source), (uint32_t)column, batch, (uint32_t)i).type ==
                NVT_VALUE_IS_NULL &&
            nvt_arrow_set_null(buffers, i))
            return -1;
    return 0;
}

/* Numbers as they are shown, copied. */
static int copy(const struct nvt_arrow_source *source, size_t batch, size_t column,
                struct nvt_arrow_buffers *buffers)
{
    const struct nvt_model *model = model_of(source)->model;
    int64_t *values = malloc(((size_t)buffers->length + 1) * sizeof(*values));
    buffers->values = values;
    if (!values)
        return -1;
    for (int64_t i = 0; i < buffers->length; i++)
        values[i] =
            nvt_model_value(model, table_of(source), (uint32_t)column, batch, (uint32_t)i).integer;
    return 0;
}

/* Which of the file's: an index of 0 for every row. */
static int fill_paths(const struct nvt_arrow_source *source, size_t batch,
                      struct nvt_arrow_buffers *buffers, struct ArrowArray *array)
{
    const struct nvt_arrow_texts *paths = &model_of(source)->paths[batch];
    buffers->values = calloc((size_t)buffers->length + 1, sizeof(int32_t));
    if (!buffers->values || nvt_arrow_array(array, buffers))
        return -1;
    return nvt_arrow_set_dictionary(array, source->owner, paths->offsets, paths->bytes,
                                    paths->count);
}

static int fill(const struct nvt_arrow_source *source, size_t batch, size_t column,
                struct ArrowArray *array)
{
    const struct nvt_shown_table *table = table_of(source);
    const struct nvt_shown_column *what = &table->columns[column];
    const struct nvt_model_part *part = &model_of(source)->model->parts[batch];
    struct nvt_arrow_buffers buffers = {.length = rows(source, batch)};
    if (what->kind == NVT_SHOWN_FILE)
        return fill_paths(source, batch, &buffers, array);
    if (find_nulls(source, batch, column, &buffers))
        return -1;
    if (is_borrowed(model_of(source)->model, table, what)) {
        buffers.owner = source->owner;
        buffers.values = what->kind == NVT_SHOWN_RANGE ? part->op_ranges
                         : what->kind == NVT_SHOWN_RANGE_NAME
                             ? part->op_range_names
                             : nvt_layout_values(part->trace, table->layout, what->stored);
    } else if (copy(source, batch, column, &buffers)) {
        free(buffers.validity);
        return -1;
    }
    if (nvt_arrow_array(array, &buffers))
        return -1;
    if (!is_text(table, what))
        return 0;
    const struct nvt_arrow_texts *texts = &model_of(source)->texts[batch];
    return nvt_arrow_set_dictionary(array, source->owner, texts->offsets, texts->bytes,
                                    texts->count);
}

int nvt_arrow_of_model(struct nvt_arrow_model *model, const struct nvt_shown_table *table,
                       struct ArrowArrayStream *out, struct nvt_error *err)
{
    const struct nvt_arrow_source source = {.owner = model->owner,
                                            .columns = table->count,
                                            .batches = model->model->count,
                                            .rows = rows,
                                            .field = field,
                                            .fill = fill,
                                            .context = model,
                                            .other = table};
    for (uint32_t i = 0; i < table->count; i++)
        if (nvt_model_prepare(model->model, &table->columns[i], err))
            return -1;
    if (prepare_texts(model) || nvt_arrow_stream(&source, out))
        return nvt_fail(err, "out of memory");
    return 0;
}
