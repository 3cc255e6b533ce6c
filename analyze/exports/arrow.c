#include "arrow.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/create_file.h"
#include "../../lib/folder.h"
#include "../../lib/map.h"
#include "../arrow/arrow_tables.h"
#include "../arrow/ipc.h"

#define NO_RANK "__HIVE_DEFAULT_PARTITION__" /* as Hive, DuckDB, Spark and Dask have it */

struct writing {
    const char *folder;
    struct nvt_model model;
    struct nvt_arrow_model arrow;
    struct nvt_arrow_owner owner;
};

/* What streams borrow from lasts longer than they do. */
static void end_nothing(struct nvt_arrow_owner *owner)
{
    (void)owner;
}

/* --- one file --- */

static int write_file(const char *path, const struct ArrowSchema *schema,
                      const struct ArrowArray *batch, const struct nvt_arrow_choice *choice,
                      struct nvt_error *err)
{
    FILE *out = nvt_folder_make_above(path) ? NULL : nvt_create_stream(path);
    if (!out)
        return nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    int failed = nvt_arrow_write(out, schema, batch, choice);
    if (failed && !ferror(out))
        nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno ? errno : ENOMEM));
    else
        failed = 0; /* of the stream, which says so at its end */
    return nvt_stream_end(out, path, failed, err);
}

/* --- rows by rank --- */

/* The rows of each rank behind each other; ranks by number, INT64_MIN where none is known. */
struct by_rank {
    int64_t *rows, *ranks;
    size_t *begins; /* one more than there are ranks */
    uint32_t count;
};

static void free_by_rank(struct by_rank *by)
{
    free(by->rows);
    free(by->ranks);
    free(by->begins);
}

static int64_t rank_of(const struct ArrowArray *ranks, int64_t row)
{
    const uint8_t *bits = ranks->buffers[0];
    return bits && !(bits[row / 8] >> row % 8 & 1) ? INT64_MIN
                                                   : ((const int64_t *)ranks->buffers[1])[row];
}

/* 0, or -1 when out of memory. */
static int find_ranks(const struct ArrowArray *ranks, struct by_rank *by)
{
    const size_t length = (size_t)ranks->length;
    struct nvt_map map = {0};
    uint32_t *numbers = malloc((length + 1) * sizeof(*numbers));
    int status = numbers ? 0 : -1;
    for (size_t i = 0; i < length && !status; i++) {
        numbers[i] = nvt_map_number(&map, (uint64_t)rank_of(ranks, (int64_t)i), &by->count);
        status = numbers[i] == NVT_MAP_NONE ? -1 : 0;
    }
    nvt_map_free(&map);
    by->rows = malloc((length + 1) * sizeof(*by->rows));
    by->ranks = calloc((size_t)by->count + 1, sizeof(*by->ranks));
    by->begins = calloc((size_t)by->count + 2, sizeof(*by->begins));
    if (status || !numbers || !by->rows || !by->ranks || !by->begins) {
        free(numbers);
        return -1;
    }
    for (size_t i = 0; i < length; i++)
        by->begins[numbers[i] + 2]++;
    for (uint32_t i = 2; i <= by->count; i++)
        by->begins[i] += by->begins[i - 1];
    for (size_t i = 0; i < length; i++) {
        by->ranks[numbers[i]] = rank_of(ranks, (int64_t)i);
        by->rows[by->begins[numbers[i] + 1]++] = (int64_t)i;
    }
    free(numbers);
    return 0;
}

/* A trace's rows, in a file for each rank without the column, which the folder's name has. */
static int write_ranks(const struct writing *writing, const char *name, size_t part,
                       const struct ArrowSchema *schema, const struct ArrowArray *batch,
                       struct nvt_error *err)
{
    struct by_rank by = {0};
    const uint32_t column = nvt_shown_find(nvt_shown_table(name), "rank");
    int status = find_ranks(batch->children[column], &by) ? nvt_fail(err, "out of memory") : 0;
    for (uint32_t i = 0; i < by.count && !status; i++) {
        char path[PATH_MAX], rank[32] = NO_RANK;
        const struct nvt_arrow_choice choice = {
            .skipped = column,
            .rows = by.count == 1 ? NULL : by.rows + by.begins[i],
            .count = (int64_t)(by.begins[i + 1] - by.begins[i])};
        if (by.ranks[i] != INT64_MIN)
            snprintf(rank, sizeof(rank), "%" PRId64, by.ranks[i]);
        if (snprintf(path, sizeof(path), "%s/%s/rank=%s/%zu.arrow", writing->folder, name, rank,
                     part) >= (int)sizeof(path))
            status = nvt_fail_at(err, writing->folder, -1, "the path is too long");
        else
            status = write_file(path, schema, batch, &choice, err);
    }
    free_by_rank(&by);
    return status;
}

/* --- tables --- */

static int write_part(const struct writing *writing, const char *name, size_t part,
                      const struct ArrowSchema *schema, const struct ArrowArray *batch,
                      struct nvt_error *err)
{
    const struct nvt_arrow_choice all = {.skipped = -1};
    char path[PATH_MAX];
    if (writing->model.count > 1)
        return write_ranks(writing, name, part, schema, batch, err);
    if (snprintf(path, sizeof(path), "%s/%s.arrow", writing->folder, name) >= (int)sizeof(path))
        return nvt_fail_at(err, writing->folder, -1, "the path is too long");
    return write_file(path, schema, batch, &all, err);
}

static int write_table(struct writing *writing, const struct nvt_shown_table *table,
                       struct nvt_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    int status = nvt_arrow_of_model(&writing->arrow, table, &stream, err);
    if (status)
        return -1;
    if (stream.get_schema(&stream, &schema)) {
        stream.release(&stream);
        return nvt_fail(err, "out of memory");
    }
    for (size_t part = 0; part < writing->model.count && !status; part++) {
        struct ArrowArray batch = {0};
        if (stream.get_next(&stream, &batch)) {
            status = nvt_fail(err, "out of memory");
            break;
        }
        if (batch.length)
            status = write_part(writing, table->name, part, &schema, &batch, err);
        if (batch.release)
            batch.release(&batch);
    }
    schema.release(&schema);
    stream.release(&stream);
    return status;
}

static int write_tables(const struct nvt_input *input, const char *folder, struct nvt_error *err)
{
    struct writing writing = {.folder = folder, .owner = {1, end_nothing}};
    int status = nvt_model_make(&writing.model, input, err);
    if (status)
        return -1;
    writing.arrow = (struct nvt_arrow_model){.owner = &writing.owner, .model = &writing.model};
    for (size_t i = 0; i < NVT_TABLE_COUNT && !status; i++)
        if (nvt_model_rows(&writing.model, &nvt_shown_tables()[i]))
            status = write_table(&writing, &nvt_shown_tables()[i], err);
    nvt_arrow_model_free(&writing.arrow);
    nvt_model_free(&writing.model);
    return status;
}

/* --- the folder --- */

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *where)
{
    (void)what;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_all(const char *folder)
{
    (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int nvt_arrow_folder(const struct nvt_input *input, const char *folder, struct nvt_error *err)
{
    char partial[PATH_MAX];
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (snprintf(partial, sizeof(partial), "%.*s.partial", (int)length, folder) >=
        (int)sizeof(partial))
        return nvt_fail_at(err, folder, -1, "the path is too long");
    /* An empty folder is taken away here: rmdir says whether it is one. */
    if (rmdir(folder) && errno != ENOENT)
        return nvt_fail_at(err, folder, -1, "is there already; name an empty folder, or a new one");
    remove_all(partial);
    if (nvt_folder_make(partial))
        return nvt_fail_at(err, folder, -1, "cannot be written: %s", strerror(errno));
    int status = write_tables(input, partial, err);
    if (!status && rename(partial, folder))
        status = nvt_fail_at(err, folder, -1, "cannot be written: %s", strerror(errno));
    if (status)
        remove_all(partial);
    return status;
}
