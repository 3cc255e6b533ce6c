#include "input_read.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../model/alike_names.h"
#include "../model/launchers.h"
#include "../model/leaked_pushes.h"
#include "../model/named_iterations.h"
#include "../model/parallel.h"
#include "../model/plain_names.h"
#include "../readers/reader.h"
#include "rows.h"
#include "shared_reading.h"

void nvt_input_trace_free(const struct nvt_input *input, struct nvt_input_trace *item)
{
    nvt_trace_free(item->trace);
    if (item->launches)
        nvt_launches_free(item->launches);
    free(item->launches);
    if (item->digest)
        input->digester->free(item->digest);
    if (item->diagnosed)
        input->digester->forget(item->diagnosed);
    free(item->worked_on);
    item->diagnosed = NULL;
    item->worked_on = NULL;
    item->trace = NULL;
    item->launches = NULL;
    item->digest = NULL;
}

void nvt_reading_free(const struct nvt_input *input, struct nvt_reading *reading)
{
    nvt_input_trace_free(input, &reading->item);
    nvt_buffer_free(&reading->notes);
}

/* --- what is noted --- */

/* 0, or -1 when out of memory. */
static int note_leaked(struct nvt_buffer *notes, const struct nvt_trace *trace)
{
    struct nvt_leaked_pushes leaked;
    const int found = nvt_leaked_pushes_find(trace, &leaked);
    if (found > 0)
        nvt_note_in(
            notes,
            "note: %s: range %s was pushed %u times and never popped (thread %lld): a return, "
            "continue or exception skips the pop; what comes behind counts as within it",
            trace->path, nvt_name(trace, leaked.name), leaked.pushed,
            (long long)trace->threads.tid[leaked.thread]);
    return found < 0 ? -1 : 0;
}

/* 0, or -1 when out of memory. */
static int note_all(struct nvt_buffer *notes, const struct nvt_trace *trace)
{
    if (trace->warning)
        nvt_note_in(notes, "warning: %s: %s", trace->path, trace->warning);
    for (const char *note = trace->notes; note && *note;) {
        const size_t length = strcspn(note, "\n");
        nvt_note_in(notes, "note: %s: %.*s", trace->path, (int)length, note);
        note += length + (note[length] == '\n');
    }
    return note_leaked(notes, trace);
}

/* --- one trace --- */

static int leave_out_launchers(const struct nvt_window *window, struct nvt_trace *trace,
                               struct nvt_error *err)
{
    return !(window && window->launchers) && nvt_launchers_leave_out(trace)
               ? nvt_fail_at(err, trace->path, -1, "out of memory")
               : 0;
}

static int group_names(const struct nvt_input *input, struct nvt_buffer *notes,
                       struct nvt_trace *trace, struct nvt_error *err)
{
    const int is_asked = input->grouping == NVT_GROUP_ALL;
    uint32_t example, names;
    if (input->grouping == NVT_GROUP_NONE)
        return 0;
    if (nvt_alike_ranges(trace, is_asked ? 0 : NVT_MANY_NAMES, &example, &names, err))
        return -1;
    if (!is_asked && example != NVT_NO_STRING)
        nvt_note_in(notes,
                    "note: %s: of %" PRIu32
                    " names, those that differ only in a number are one, such "
                    "as %.60s (--every-name: not)",
                    trace->path, names, nvt_name(trace, example));
    return 0;
}

/* Only the digest stays, and what rows are made of. 0, or -1 with err. */
static int digest(const struct nvt_input *input, struct nvt_input_trace *item,
                  struct nvt_error *err)
{
    uint32_t named = NVT_NO_STRING;
    const int stays = input->digester->look ? input->digester->look(item, err) : 0;
    if (stays)
        return stays < 0 ? -1 : 0;
    if (!input->digester->make)
        return 0;
    item->digest = input->digester->make(item, err);
    if (!item->digest)
        return -1;
    if (nvt_rows_configuration(item->trace, &named))
        return nvt_fail_at(err, item->trace->path, -1, "out of memory");
    nvt_trace_release_events(item->trace, named != NVT_NO_STRING);
    return 0;
}

static int read_one(const struct nvt_input *input, struct nvt_reading *reading)
{
    struct nvt_input_trace *item = &reading->item;
    struct nvt_error *err = &reading->err;
    if (input->compensate)
        item->trace = nvt_trace_read_compensated(reading->path, err);
    else if (input->beginning)
        item->trace = nvt_trace_read_beginning(reading->path, input->beginning, err);
    else if (input->only_launches)
        item->trace = nvt_trace_read_launches(reading->path, &item->launches, err);
    else
        item->trace = nvt_trace_read(reading->path, err);
    if (!item->trace)
        return -1;
    if ((input->iteration && nvt_iterations_set(item->trace, input->iteration, err)) ||
        leave_out_launchers(input->window, item->trace, err) ||
        nvt_input_cut(input->window, item->trace, err) ||
        (input->plain_names && nvt_plain_names(item->trace, err)) ||
        group_names(input, &reading->notes, item->trace, err))
        return -1;
    if (note_all(&reading->notes, item->trace))
        return nvt_fail(err, "out of memory");
    return input->digester ? digest(input, item, err) : 0;
}

/* --- several --- */

/* Device and number 0: no file, which never was given. */
static int is_same_file(const struct nvt_input_trace *a, const struct nvt_input_trace *b)
{
    return (a->file[0] || a->file[1]) && !memcmp(a->file, b->file, sizeof(a->file));
}

/* Which file it is, and whether it was given before. */
static void find_file(const struct nvt_input *input, struct nvt_reading *items, size_t at)
{
    struct nvt_input_trace *item = &items[at].item;
    struct stat status;
    if (stat(items[at].path, &status) || !S_ISREG(status.st_mode))
        return;
    item->file[0] = (uint64_t)status.st_dev;
    item->file[1] = (uint64_t)status.st_ino;
    for (size_t i = 0; i < input->trace_count && !items[at].was_given; i++)
        items[at].was_given = is_same_file(&input->traces[i], item);
    for (size_t i = 0; i < at && !items[at].was_given; i++)
        items[at].was_given = is_same_file(&items[i].item, item);
}

struct work {
    const struct nvt_input *input;
    struct nvt_reading *items;
    int again;
    atomic_int has_failed;
};

static void read_numbered(void *context, size_t i)
{
    struct work *work = context;
    struct nvt_reading *reading = &work->items[i];
    /* Relaxed: who sees it late reads a trace that nobody needs. */
    const int failed = atomic_load_explicit(&work->has_failed, memory_order_relaxed);
    if (reading->was_given && !work->again)
        return;
    reading->status = failed && !work->input->leaves_out ? -1 : read_one(work->input, reading);
    if (!reading->status)
        return;
    nvt_input_trace_free(work->input, &reading->item);
    atomic_store_explicit(&work->has_failed, 1, memory_order_relaxed);
}

/* Those of several that this process reads. */
struct some {
    struct work *work;
    const size_t *numbers;
};

static void read_one_of(void *context, size_t i)
{
    const struct some *some = context;
    read_numbered(some->work, some->numbers[i]);
}

static void read_some(void *context, const size_t *numbers, size_t count)
{
    struct some some = {context, numbers};
    nvt_parallel_each(read_one_of, &some, count);
}

void nvt_readings_make(const struct nvt_input *input, struct nvt_reading *items, size_t count,
                       int again)
{
    struct work work = {.input = input, .items = items, .again = again};
    for (size_t i = 0; i < count; i++) {
        items[i].err = (struct nvt_error)NVT_ERROR_INIT;
        find_file(input, items, i);
    }
    if (nvt_readings_are_shared(input, count)) {
        nvt_readings_share(input, items, count, read_some, &work);
        return;
    }
    /* Of a few files each is read by several threads, of many each by one. */
    if (count < nvt_thread_count())
        for (size_t i = 0; i < count; i++)
            read_numbered(&work, i);
    else
        nvt_parallel_each(read_numbered, &work, count);
}
