#include "tests/bench/nvt_sink.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "collectors/output.h"
#include "lib/buffer.h"
#include "lib/device_columns.h"

#define FLUSH_BYTES  (512 * 1024)
#define DEVICE_BYTES (128 * 1024) /* a batch, which is what comes from a traced process */

/* The chunk of a thread's events in the making. */
struct pending {
    uint32_t thread; /* index in the file */
    struct nvt_buffer tokens, times;
    uint32_t count;
    int64_t first, last;
};

/* Rows of a device chunk, as docs/trace-format.md numbers them. */
enum { ROW_KERNEL = 1, ROW_CALL = 5 };
enum { CALL_RUNTIME = 0 };

/* Names of a device chunk, at most. */
#define NAMES 64

/* The chunk about devices in the making. */
struct device_pending {
    struct nvt_buffer rows;
    uint32_t names[NAMES]; /* string ids in the file */
    uint32_t name_count, count;
    int64_t last_start, first, last;
};

struct nvt_sink {
    struct nvt_output *output;
    struct device_pending device;
    int64_t next_clock; /* when the clock is written again */
    uint32_t process;
    struct pending *threads;
    int thread_count;
    int failed;
};

struct nvt_sink *nvt_sink_new(const char *path, int threads, struct nvt_error *err)
{
    struct nvt_sink *sink = calloc(1, sizeof(*sink));
    if (sink)
        sink->threads = calloc((size_t)threads, sizeof(*sink->threads));
    if (!sink || !sink->threads) {
        free(sink);
        nvt_fail(err, "out of memory");
        return NULL;
    }
    sink->output = nvt_output_new(path, 1, err);
    if (sink->output && nvt_output_begin(sink->output, err)) {
        nvt_output_discard(sink->output);
        sink->output = NULL;
    }
    if (!sink->output) {
        free(sink->threads);
        free(sink);
        return NULL;
    }
    sink->thread_count = threads;
    sink->process =
        nvt_output_process(sink->output, 1000, 1, 0, "made up", &(struct nvt_costs){{0}});
    for (int i = 0; i < threads; i++)
        sink->threads[i].thread = nvt_output_thread(sink->output, sink->process, 1000 + i, "");
    return sink;
}

static void flush_device(struct nvt_sink *sink)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct device_pending *device = &sink->device;
    struct nvt_buffer out = {0};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE_COLUMNS,
                              .process = sink->process,
                              .thread = sink->threads[0].thread,
                              .count = device->count,
                              .first = (uint64_t)device->first,
                              .last = (uint64_t)device->last};
    if (!device->count)
        return;
    sink->failed |= nvt_buffer_varint(&out, device->name_count);
    for (uint32_t i = 0; i < device->name_count; i++)
        sink->failed |= nvt_buffer_varint(&out, device->names[i]);
    sink->failed |= nvt_device_columns_put(&out, device->rows.data, device->rows.size) ||
                    nvt_output_chunk(sink->output, &chunk, out.data, out.size, &err);
    nvt_buffer_free(&out);
    device->rows.size = 0;
    device->name_count = device->count = 0;
    device->last_start = 0;
}

static uint64_t device_name(struct nvt_sink *sink, const char *name)
{
    struct device_pending *device = &sink->device;
    uint32_t id = nvt_output_string(sink->output, name, strlen(name)), at = 0;
    while (at < device->name_count && device->names[at] != id)
        at++;
    if (at == device->name_count)
        device->names[device->name_count++] = id;
    return at;
}

/* A row of kind, start, end and so many further fields, behind each other. */
static void put_row(struct nvt_sink *sink, uint32_t kind, int64_t start, int64_t end,
                    const uint64_t *fields, size_t count)
{
    struct device_pending *device = &sink->device;
    uint8_t body[32 * NVT_VARINT_MAX];
    uint8_t *at = nvt_varint_put(body, nvt_zigzag(start - device->last_start));
    at = nvt_varint_put(at, nvt_zigzag(end - start));
    for (size_t i = 0; i < count; i++)
        at = nvt_varint_put(at, fields[i]);
    if (!device->count++)
        device->first = start;
    device->last = end > device->last ? end : device->last;
    device->last_start = start;
    sink->failed |= nvt_buffer_varint(&device->rows, kind) ||
                    nvt_buffer_varint(&device->rows, (uint64_t)(at - body)) ||
                    nvt_buffer_append(&device->rows, body, (size_t)(at - body));
}

static void make_device_room(struct nvt_sink *sink)
{
    if (sink->device.rows.size >= DEVICE_BYTES || sink->device.name_count == NAMES)
        flush_device(sink);
}

void nvt_sink_call(struct nvt_sink *sink, int thread, const char *name, int64_t start, int64_t end,
                   uint64_t correlation)
{
    make_device_room(sink);
    const uint64_t fields[] = {correlation, CALL_RUNTIME, device_name(sink, name),
                               1000 + (uint64_t)thread, 0};
    put_row(sink, ROW_CALL, start, end, fields, NVT_COUNT_OF(fields));
}

void nvt_sink_kernel(struct nvt_sink *sink, int thread, const char *name, int64_t start,
                     int64_t end, uint64_t correlation)
{
    make_device_room(sink);
    const uint64_t fields[] = {correlation,
                               device_name(sink, name),
                               0,
                               1,
                               7 + (uint64_t)thread,
                               0,
                               0,
                               256,
                               1,
                               1,
                               128,
                               1,
                               1,
                               64,
                               0,
                               0,
                               0};
    put_row(sink, ROW_KERNEL, start, end, fields, NVT_COUNT_OF(fields));
}

/* The clocks side by side, once a second, as a recorder does it. */
static void put_clock(struct nvt_sink *sink, int64_t time)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const uint64_t moments[] = {(uint64_t)time, (uint64_t)time, (uint64_t)time};
    struct nvt_chunk chunk = {
        .kind = NVT_CHUNK_CLOCK, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX, .count = 1};
    sink->failed |= nvt_output_chunk(sink->output, &chunk, moments, sizeof(moments), &err) != 0;
    sink->next_clock = time + 1000000000;
}

static void flush(struct nvt_sink *sink, struct pending *pending)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer out = {0};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_EVENTS,
                              .process = sink->process,
                              .thread = pending->thread,
                              .count = pending->count,
                              .first = (uint64_t)pending->first,
                              .last = (uint64_t)pending->last};
    if (!pending->count)
        return;
    sink->failed |= nvt_buffer_varint(&out, NVT_COLUMN_TOKENS) ||
                    nvt_buffer_varint(&out, pending->tokens.size) ||
                    nvt_buffer_append(&out, pending->tokens.data, pending->tokens.size) ||
                    nvt_buffer_varint(&out, NVT_COLUMN_TIMES) ||
                    nvt_buffer_varint(&out, pending->times.size) ||
                    nvt_buffer_append(&out, pending->times.data, pending->times.size) ||
                    nvt_output_chunk(sink->output, &chunk, out.data, out.size, &err);
    nvt_buffer_free(&out);
    pending->count = 0;
    pending->tokens.size = pending->times.size = 0;
}

static void put(struct nvt_sink *sink, int thread, uint64_t token, int64_t time)
{
    struct pending *pending = &sink->threads[thread];
    if (time >= sink->next_clock)
        put_clock(sink, time);
    if (pending->tokens.size + pending->times.size >= FLUSH_BYTES)
        flush(sink, pending);
    if (!pending->count++)
        pending->first = pending->last = time;
    sink->failed |= nvt_buffer_varint(&pending->tokens, token) ||
                    nvt_buffer_varint(&pending->times, (uint64_t)(time - pending->last));
    pending->last = time;
}

void nvt_sink_push(struct nvt_sink *sink, int thread, const char *name, int64_t time)
{
    uint32_t id = nvt_output_string(sink->output, name, strlen(name));
    put(sink, thread, (uint64_t)id << 3 | NVT_TOKEN_PUSH, time);
}

void nvt_sink_pop(struct nvt_sink *sink, int thread, int64_t time)
{
    put(sink, thread, NVT_TOKEN_POP, time);
}

int nvt_sink_close(struct nvt_sink *sink, struct nvt_error *err)
{
    for (int i = 0; i < sink->thread_count; i++) {
        flush(sink, &sink->threads[i]);
        nvt_buffer_free(&sink->threads[i].tokens);
        nvt_buffer_free(&sink->threads[i].times);
    }
    flush_device(sink);
    nvt_buffer_free(&sink->device.rows);
    int failed = sink->failed;
    int status = nvt_output_close(sink->output, 0, 0, err);
    free(sink->threads);
    free(sink);
    return !status && failed ? nvt_fail(err, "the trace could not be written") : status;
}
