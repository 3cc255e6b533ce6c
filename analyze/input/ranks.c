#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../../lib/map.h"
#include "../../lib/rank_text.h"
#include "clocks.h"
#include "input_read.h"

/* Clocks of hosts of a job may be apart by so much: ns. */
#define APART_NS 2000000000

uint32_t nvt_rank_of_path(const char *path)
{
    const char *base = strrchr(path, '/');
    return nvt_rank_in_text(base ? base + 1 : path);
}

uint32_t nvt_input_rank(const struct nvt_input_trace *from, uint32_t process)
{
    const struct nvt_processes *processes = &from->trace->processes;
    if (process < processes->count && processes->rank[process] != NVT_NONE)
        return processes->rank[process];
    const char *fact = nvt_trace_meta(from->trace, "rank");
    const struct nvt_record *record = nvt_record_of_trace(from);
    const double number = record ? nvt_record_number(record, "rank") : NAN;
    if (fact && *fact >= '0' && *fact <= '9')
        return (uint32_t)strtoul(fact, NULL, 10);
    return number >= 0 && number < NVT_NONE ? (uint32_t)number
                                            : nvt_rank_of_path(from->trace->path);
}

uint32_t nvt_input_trace_rank(const struct nvt_input_trace *from)
{
    const struct nvt_processes *processes = &from->trace->processes;
    for (uint32_t i = 0; i < processes->count; i++)
        if (processes->rank[i] != NVT_NONE)
            return processes->rank[i];
    return nvt_input_rank(from, NVT_NONE);
}

int nvt_input_at_once(const struct nvt_trace *a, const struct nvt_trace *b)
{
    if (!nvt_has_realtime(a) || !nvt_has_realtime(b))
        return 0;
    const int64_t shift = nvt_realtime_shift(b, a);
    const int64_t first = nvt_clock_sum(b->first_ns, shift),
                  last = nvt_clock_sum(b->last_ns, shift);
    return nvt_clock_since(first, a->last_ns) <= APART_NS &&
           nvt_clock_since(a->first_ns, last) <= APART_NS;
}

/* --- traces of one run ------------------------------------------------------------------------ */

/* Texts by number, and how often each occurred. */
struct tally {
    struct nvt_strings *texts;
    size_t *counts, capacity;
};

/* Count a text once more; its number, from 1 on, or 0 when out of memory. */
static uint32_t count_text(struct tally *tally, const char *text)
{
    uint32_t id = nvt_strings_add_text(tally->texts, text);
    if (id == NVT_NO_STRING)
        return 0;
    if (nvt_reserve_zeroed(&tally->counts, &tally->capacity, (size_t)id + 1,
                           sizeof(*tally->counts)))
        return 0;
    tally->counts[id]++;
    return id;
}

/* What a trace was run with, as far as that is known, with a terminator: 0 or -1. */
static int write_configuration(const struct nvt_input_trace *from, struct nvt_buffer *text)
{
    const struct nvt_record *record = nvt_record_of_trace(from);
    if (record && !from->is_by_name)
        return nvt_buffer_printf(text, "%p %zu", (const void *)from->runs, from->record);
    if (!record)
        return nvt_buffer_printf(text, "none");
    char *axes = nvt_record_sorted_axes(record, NULL);
    int status =
        axes ? nvt_buffer_printf(text, "%s\n%s", nvt_record_text(record, "workload"), axes) : -1;
    free(axes);
    return status;
}

/* What the traces of its run have in common, and no others: 0 or -1. */
static int write_run(const struct nvt_input_trace *from, size_t index, struct tally *ranks,
                     struct nvt_buffer *text)
{
    const uint32_t rank = nvt_input_trace_rank(from);
    const int is_of_row = from->runs && !from->is_by_name;
    if (is_of_row)
        return write_configuration(from, text) || nvt_buffer_append(text, "", 1);
    if (rank == NVT_NONE)
        return nvt_buffer_printf(text, "alone %zu", index) || nvt_buffer_append(text, "", 1);
    struct nvt_buffer of_rank = {0};
    int status = nvt_buffer_printf(&of_rank, "%u ", rank) || write_configuration(from, &of_rank) ||
                 nvt_buffer_append(&of_rank, "", 1);
    uint32_t id = status ? 0 : count_text(ranks, (const char *)of_rank.data);
    status = !id || nvt_buffer_printf(text, "%zu ", ranks->counts[id]) ||
             write_configuration(from, text) || nvt_buffer_append(text, "", 1);
    nvt_buffer_free(&of_rank);
    return status;
}

size_t *nvt_input_run_numbers(const struct nvt_input *input, size_t *count)
{
    struct tally ranks = {.texts = nvt_strings_new()}, runs = {.texts = nvt_strings_new()};
    size_t *numbers = calloc(input->trace_count + 1, sizeof(*numbers));
    int status = ranks.texts && runs.texts && numbers ? 0 : -1;
    *count = 0;
    for (size_t i = 0; i < input->trace_count && !status; i++) {
        struct nvt_buffer text = {0};
        status = write_run(&input->traces[i], i, &ranks, &text);
        uint32_t id = status ? 0 : count_text(&runs, (const char *)text.data);
        nvt_buffer_free(&text);
        if (!id)
            status = -1;
        else
            numbers[i] = id - 1;
        *count = id > *count ? id : *count;
    }
    nvt_strings_free(ranks.texts);
    nvt_strings_free(runs.texts);
    free(ranks.counts);
    free(runs.counts);
    if (!status)
        return numbers;
    free(numbers);
    return NULL;
}

/* --- files of one job --- */

/* How many ranks the job has that a trace is of, 0 unknown. */
static uint32_t world_of(const struct nvt_trace *trace)
{
    const char *size = nvt_trace_meta(trace, "world_size");
    const unsigned long number = size && *size >= '0' && *size <= '9' ? strtoul(size, NULL, 10) : 0;
    return number < NVT_NONE ? (uint32_t)number : 0;
}

/* The size that most traces say; of several the first that was given. 0: none says any. */
static uint32_t usual_world(const struct nvt_input *input)
{
    size_t most = 0;
    uint32_t usual = 0, before = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const uint32_t world = world_of(input->traces[i].trace);
        size_t count = 0;
        for (size_t k = i; k < input->trace_count && world && world != before; k++)
            count += world_of(input->traces[k].trace) == world;
        before = world;
        if (count > most) {
            most = count;
            usual = world;
        }
    }
    return usual;
}

/* The rank that a trace itself states: names of files may have those of a host. NVT_NONE: none. */
static uint32_t stated_rank(const struct nvt_input_trace *from)
{
    const struct nvt_processes *processes = &from->trace->processes;
    int is_stated = nvt_trace_meta(from->trace, "rank") != NULL;
    for (uint32_t i = 0; i < processes->count && !is_stated; i++)
        is_stated = processes->rank[i] != NVT_NONE;
    return is_stated ? nvt_input_trace_rank(from) : NVT_NONE;
}

/* Whether a trace stays; else a note says why not. `files` has the place of each rank's. 0, 1, or -1 when out of memory. */
static int is_of_job(struct nvt_input *input, size_t at, uint32_t usual, struct nvt_map *files)
{
    const struct nvt_trace *trace = input->traces[at].trace;
    const uint32_t world = world_of(trace), rank = stated_rank(&input->traces[at]);
    if (world && world != usual) {
        nvt_note(input, "warning: %s: is of a job of %u ranks, the others of one of %u: left out",
                 trace->path, world, usual);
        return 0;
    }
    uint32_t *file = rank == NVT_NONE ? NULL : nvt_map_at(files, rank);
    if (!file)
        return rank == NVT_NONE ? 1 : -1;
    if (*file == NVT_MAP_NONE) {
        *file = (uint32_t)at;
        return 1;
    }
    nvt_note(input, "warning: %s: is of rank %u, as %s is: left out", trace->path, rank,
             input->traces[*file].trace->path);
    return 0;
}

int nvt_input_keep_job(struct nvt_input *input, struct nvt_error *err)
{
    const uint32_t usual = usual_world(input);
    struct nvt_map files = {0};
    const size_t count = input->trace_count;
    size_t kept = 0;
    int stays = 1;
    for (size_t i = 0; i < count; i++) {
        const struct nvt_input_trace item = input->traces[i];
        input->traces[kept] = item;
        stays = stays < 0 ? -1 : is_of_job(input, kept, usual, &files);
        if (stays)
            kept++;
        else
            nvt_input_trace_free(input, &input->traces[kept]);
    }
    input->trace_count = kept;
    nvt_map_free(&files);
    return stays < 0 ? nvt_fail(err, "out of memory") : 0;
}

int nvt_input_note_twice(struct nvt_input *input, struct nvt_error *err)
{
    size_t runs, *numbers = nvt_input_run_numbers(input, &runs);
    size_t *sizes = numbers ? calloc(runs + 1, sizeof(*sizes)) : NULL;
    struct nvt_map files = {0};
    int failed = !sizes;
    for (size_t i = 0; i < input->trace_count && !failed; i++)
        sizes[numbers[i]]++;
    for (size_t i = 0; i < input->trace_count && !failed; i++) {
        const uint32_t rank = stated_rank(&input->traces[i]);
        uint32_t *file = rank == NVT_NONE ? NULL : nvt_map_at(&files, rank);
        failed = rank != NVT_NONE && !file;
        if (file && *file == NVT_MAP_NONE)
            *file = (uint32_t)i;
        else if (file && (sizes[numbers[i]] < sizes[numbers[*file]] ||
                          nvt_input_at_once(input->traces[i].trace, input->traces[*file].trace)))
            nvt_note(input,
                     "warning: %s: is of rank %u, as %s is: it is taken for another run, and not "
                     "compared with the other ranks",
                     input->traces[i].trace->path, rank, input->traces[*file].trace->path);
    }
    nvt_map_free(&files);
    free(sizes);
    free(numbers);
    return failed ? nvt_fail(err, "out of memory") : 0;
}
