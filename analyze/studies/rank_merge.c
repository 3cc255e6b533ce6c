/* The digests of the traces of a job, put together: names and groups that several have become the job's. */
#include <stdlib.h>

#include "../../lib/grow.h"
#include "../input/ranks.h"
#include "../model/parallel.h"
#include "rank_digest.h"

/* A trace of the job. */
struct nvt_rank_file {
    const struct nvt_input_trace *from;
    const struct nvt_ranks *digest; /* that of the input, or `own` */
    struct nvt_ranks own;
    uint32_t *names, *groups; /* the job's, of each of the digest's */
    struct nvt_error err;
    int status;
};

/* --- release --- */

static void free_items(struct nvt_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->count; i++)
        if (!ranks->items[i].names) {
            free(ranks->items[i].parts);
            free(ranks->items[i].turns);
            free(ranks->items[i].steps);
        }
    free(ranks->items);
    ranks->items = NULL;
    ranks->count = 0;
}

static void free_digest(struct nvt_ranks *ranks)
{
    free_items(ranks);
    free(ranks->groups);
    nvt_map_free(&ranks->group_of);
    nvt_strings_free(ranks->names);
}

void nvt_ranks_free(struct nvt_ranks *ranks)
{
    free_digest(ranks);
    for (size_t i = 0; i < ranks->file_count; i++) {
        free_digest(&ranks->files[i].own);
        free(ranks->files[i].names);
        free(ranks->files[i].groups);
    }
    free(ranks->files);
    *ranks = (struct nvt_ranks){0};
}

/* --- one trace behind the others --- */

/* The job's name for one of the digest's. NVT_NO_STRING when out of memory. */
static uint32_t name_of(struct nvt_ranks *ranks, const struct nvt_ranks *digest, uint32_t name)
{
    return nvt_strings_add_text(ranks->names, nvt_strings_get(digest->names, name, NULL));
}

/* 0, or -1 when out of memory. */
static int merge_names(struct nvt_ranks *ranks, struct nvt_rank_file *file)
{
    const uint32_t count = nvt_strings_count(file->digest->names);
    file->names = calloc((size_t)count + 1, sizeof(*file->names));
    for (uint32_t i = 0; file->names && i < count; i++)
        if ((file->names[i] = name_of(ranks, file->digest, i)) == NVT_NO_STRING)
            return -1;
    return file->names ? 0 : -1;
}

/* 0, or -1 when out of memory. */
static int merge_groups(struct nvt_ranks *ranks, struct nvt_rank_file *file)
{
    const struct nvt_ranks *digest = file->digest;
    file->groups = calloc((size_t)digest->group_count + 1, sizeof(*file->groups));
    for (uint32_t i = 0; file->groups && i < digest->group_count; i++) {
        struct nvt_rank_group group = digest->groups[i];
        const char *key = nvt_strings_get(digest->names, group.key, NULL);
        group.name = file->names[group.name];
        group.members = file->names[group.members];
        if ((file->groups[i] = nvt_ranks_group(ranks, key, &group)) == NVT_NONE)
            return -1;
    }
    return file->groups ? 0 : -1;
}

/* 0, or -1 when out of memory. */
static int merge(struct nvt_ranks *ranks, struct nvt_rank_file *file)
{
    if (merge_names(ranks, file) || merge_groups(ranks, file))
        return -1;
    for (uint32_t i = 0; i < file->digest->count; i++) {
        if (nvt_grow(&ranks->items, ranks->count, sizeof(*ranks->items)))
            return -1;
        struct nvt_rank *rank = &ranks->items[ranks->count++];
        const uint32_t number = nvt_input_rank(file->from, file->digest->items[i].process);
        *rank = file->digest->items[i];
        rank->from = file->from;
        /* Which rank it is may be known since its row is. */
        rank->number = number == NVT_NONE ? -1 : (int64_t)number;
        rank->names = file->names;
        rank->groups = file->groups;
    }
    return 0;
}

/* --- all of them --- */

static void make_digest(void *context, size_t i)
{
    struct nvt_rank_file *file = &((struct nvt_rank_file *)context)[i];
    if (!file->digest) {
        file->status = nvt_ranks_of_trace(&file->own, file->from, &file->err);
        file->digest = &file->own;
    }
}

/* 0, or -1 with err. */
static int merge_all(struct nvt_ranks *ranks, struct nvt_error *err)
{
    nvt_parallel(make_digest, ranks->files, ranks->file_count);
    for (size_t i = 0; i < ranks->file_count; i++) {
        if (ranks->files[i].status) {
            if (err)
                *err = ranks->files[i].err;
            return -1;
        }
        if (merge(ranks, &ranks->files[i]))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

static int has_parts(const struct nvt_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->count; i++)
        if (ranks->items[i].part_count)
            return 1;
    return 0;
}

int nvt_ranks_find(struct nvt_ranks *ranks, const struct nvt_input *input, const size_t *numbers,
                   size_t number, struct nvt_error *err)
{
    ranks->names = nvt_strings_new();
    ranks->files = calloc(input->trace_count + 1, sizeof(*ranks->files));
    if (!ranks->names || !ranks->files)
        return nvt_fail(err, "out of memory");
    for (size_t i = 0; i < input->trace_count; i++)
        if (!numbers || numbers[i] == number)
            ranks->files[ranks->file_count++] =
                (struct nvt_rank_file){.from = &input->traces[i],
                                       .digest = input->traces[i].digest,
                                       .err = NVT_ERROR_INIT};
    if (merge_all(ranks, err))
        return -1;
    if (has_parts(ranks) || !nvt_input_has_mpi(input))
        return 0;
    free_items(ranks);
    return nvt_ranks_of_mpi(ranks, input, numbers, number, err);
}

static struct nvt_ranks *make_apart(const struct nvt_input_trace *from, struct nvt_error *err)
{
    struct nvt_ranks *digest = calloc(1, sizeof(*digest));
    if (!digest) {
        nvt_error_set(err, "out of memory");
        return NULL;
    }
    if (!nvt_ranks_of_trace(digest, from, err))
        return digest;
    nvt_ranks_free(digest);
    free(digest);
    return NULL;
}

static void free_apart(struct nvt_ranks *digest)
{
    nvt_ranks_free(digest);
    free(digest);
}

const struct nvt_input_digester nvt_rank_digester = {
    .make = make_apart, .free = free_apart, .put = nvt_ranks_put, .take = nvt_ranks_take};
