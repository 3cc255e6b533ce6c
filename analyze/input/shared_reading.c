#include "shared_reading.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/job.h"
#include "image.h"

/* Whole traces have nothing beside them. */
static void put_nothing(const struct nvt_input_trace *item, struct nvt_buffer *out)
{
    (void)item;
    (void)out;
}

static int take_nothing(struct nvt_input_trace *item, struct nvt_cursor *in)
{
    (void)item;
    (void)in;
    return 0;
}

const struct nvt_input_digester nvt_whole_traces = {.put = put_nothing, .take = take_nothing};

int nvt_readings_are_shared(const struct nvt_input *input, size_t count)
{
    return count > 1 && nvt_job_size() > 1 && !nvt_job_rank() && input->digester &&
           (input->leaves_out || !input->digester->make);
}

/* --- one reading --- */

static void put_reading(const struct nvt_input *input, const struct nvt_reading *reading,
                        struct nvt_buffer *out)
{
    const struct nvt_input_trace *item = &reading->item;
    (void)nvt_buffer_append(out, &reading->status, sizeof(reading->status));
    (void)nvt_buffer_append(out, &reading->err, sizeof(reading->err));
    nvt_image_put(out, reading->notes.data, reading->notes.size, 1);
    if (reading->status)
        return;
    /* What has to stay as it is, is read again by the first process. */
    if (!item->digest && input->digester->make)
        nvt_trace_release_events(item->trace, 1);
    nvt_image_put_trace(out, item->trace);
    nvt_image_put(out, item->worked_on, item->worked_on_count, sizeof(*item->worked_on));
    input->digester->put(item, out);
}

static int take_item(const struct nvt_input *input, struct nvt_input_trace *item,
                     struct nvt_cursor *in)
{
    uint64_t count = 0;
    item->trace = nvt_image_take_trace(in);
    if (!item->trace)
        return -1;
    item->trace->iteration = input->iteration;
    item->worked_on = nvt_image_take(in, &count, sizeof(*item->worked_on));
    item->worked_on_count = (uint32_t)count;
    return in->at && !input->digester->take(item, in) ? 0 : -1;
}

static void take_reading(const struct nvt_input *input, struct nvt_reading *reading,
                         struct nvt_cursor *in)
{
    uint64_t size = 0;
    const uint8_t *status = nvt_cursor_bytes(in, sizeof(reading->status)),
                  *err = nvt_cursor_bytes(in, sizeof(reading->err));
    if (status && err) {
        memcpy(&reading->status, status, sizeof(reading->status));
        memcpy(&reading->err, err, sizeof(reading->err));
    }
    reading->notes.data = nvt_image_take(in, &size, 1);
    reading->notes.size = reading->notes.capacity = (size_t)size;
    if (!in->at || (!reading->status && take_item(input, &reading->item, in))) {
        in->at = NULL;
        nvt_input_trace_free(input, &reading->item);
        reading->status = nvt_fail_at(&reading->err, reading->path, -1, "out of memory");
    }
}

/* --- the first process --- */

/* Who reads which: one after the other, the first process as well. The numbers of those that a process reads. */
static size_t choose(const struct nvt_reading *items, size_t count, int rank, size_t *numbers)
{
    size_t chosen = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        const int is_regular = items[i].item.file[0] || items[i].item.file[1];
        if (items[i].was_given)
            continue;
        const int reader = is_regular ? (int)(next++ % (size_t)nvt_job_size()) : 0;
        if (reader == rank)
            numbers[chosen++] = i;
    }
    return chosen;
}

/* 0, or -1 with err. */
static int ask(const struct nvt_reading *items, const size_t *numbers, size_t count, int rank,
               struct nvt_error *err)
{
    struct nvt_buffer paths = {0};
    for (size_t i = 0; i < count; i++)
        nvt_image_put_text(&paths, items[numbers[i]].path);
    const int failed = paths.failed ? nvt_fail(err, "out of memory")
                       : count      ? nvt_job_send(rank, paths.data, paths.size, err)
                                    : 0;
    nvt_buffer_free(&paths);
    return failed;
}

static void collect(const struct nvt_input *input, struct nvt_reading *items, const size_t *numbers,
                    size_t count, int rank)
{
    for (size_t i = 0; i < count; i++) {
        struct nvt_reading *reading = &items[numbers[i]];
        struct nvt_buffer bytes = {0};
        reading->status = nvt_job_receive(rank, &bytes, &reading->err);
        struct nvt_cursor in = {bytes.data, bytes.data + bytes.size};
        if (!reading->status)
            take_reading(input, reading, &in);
        nvt_buffer_free(&bytes);
    }
}

void nvt_readings_share(const struct nvt_input *input, struct nvt_reading *items, size_t count,
                        void (*mine)(void *context, const size_t *numbers, size_t count),
                        void *context)
{
    size_t *numbers = calloc(count, sizeof(*numbers));
    struct nvt_error err = NVT_ERROR_INIT;
    int failed = numbers ? 0 : nvt_fail(&err, "out of memory");
    for (int rank = 1; rank < nvt_job_size() && !failed; rank++)
        failed = ask(items, numbers, choose(items, count, rank, numbers), rank, &err);
    if (!failed)
        mine(context, numbers, choose(items, count, 0, numbers));
    for (int rank = 1; rank < nvt_job_size() && !failed; rank++) {
        const size_t chosen = choose(items, count, rank, numbers);
        collect(input, items, numbers, chosen, rank);
    }
    for (size_t i = 0; i < count && failed; i++) {
        items[i].status = -1;
        items[i].err = err;
    }
    free(numbers);
}

/* --- the others --- */

/* Read the files of a request, and answer each in its turn. 0, or -1: the first process is gone. */
static int answer(const struct nvt_input *input, struct nvt_cursor *in)
{
    size_t count = 0;
    struct nvt_reading *readings = NULL;
    int failed = 0;
    while (in->at < in->end && in->at && !failed) {
        failed = nvt_grow(&readings, count, sizeof(*readings));
        if (!failed)
            readings[count++] = (struct nvt_reading){.path = nvt_image_take_text(in)};
    }
    if (!failed)
        nvt_readings_make(input, readings, count, 1);
    for (size_t i = 0; i < count; i++) {
        struct nvt_buffer out = {0};
        put_reading(input, &readings[i], &out);
        failed = failed || nvt_job_send(0, out.data, out.failed ? 0 : out.size, NULL);
        nvt_buffer_free(&out);
        nvt_reading_free(input, &readings[i]);
        free((void *)(uintptr_t)readings[i].path);
    }
    free(readings);
    return failed ? -1 : 0;
}

/* `input` NULL: nothing is asked for. */
static void serve(const struct nvt_input *input)
{
    struct nvt_buffer request = {0};
    int failed = 0;
    do {
        request.size = 0;
        failed = nvt_job_receive(0, &request, NULL);
        struct nvt_cursor in = {request.data, request.data + request.size};
        if (!failed && request.size && input)
            failed = answer(input, &in);
    } while (!failed && request.size);
    nvt_buffer_free(&request);
}

int nvt_readings_serve(const struct nvt_input *input)
{
    if (!nvt_job_rank())
        return 0;
    serve(input);
    nvt_job_end();
    return 1;
}

void nvt_readings_leave(void)
{
    if (nvt_job_rank())
        serve(NULL);
    else
        for (int rank = 1; rank < nvt_job_size(); rank++)
            (void)nvt_job_send(rank, NULL, 0, NULL);
    nvt_job_end();
}
