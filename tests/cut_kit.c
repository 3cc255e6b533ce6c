#include "cut_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../collectors/output.h"
#include "../lib/clock.h"

void cut_expect_good(int status, const struct nvt_error *err)
{
    char text[1200];
    if (status)
        fail_msg("%s", nvt_error_text(err, text, sizeof(text)));
}

void cut_close_good(struct nvt_trace_writer *writer)
{
    struct nvt_error err = NVT_ERROR_INIT;
    cut_expect_good(nvt_trace_writer_close(writer, &err), &err);
}

struct nvt_trace_writer *cut_copy_of(const char *from, const char *to)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    struct nvt_trace_file *file = nvt_trace_file_open(from, &err);
    struct nvt_trace_writer *writer = nvt_trace_writer_new(to, 1, &err);
    assert_non_null(file);
    assert_non_null(writer);
    while (nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        cut_expect_good(nvt_trace_writer_chunk(writer, &chunk, payload, chunk.raw_size, &err),
                        &err);
    nvt_trace_file_close(file);
    return writer;
}

void cut_at(struct nvt_trace_writer *writer, uint64_t ticks)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_cut *cut = nvt_cut_begin(writer, ticks, &err);
    int status;
    cut_expect_good(cut ? 0 : -1, &err);
    assert_non_null(cut);
    while ((status = nvt_cut_go(cut, writer, 0, &err)) == 1) {
    }
    cut_expect_good(status, &err);
    cut_expect_good(nvt_cut_take_over(cut, writer, &err), &err);
    nvt_cut_free(cut);
}

int64_t cut_on_axis(const char *path, uint64_t ticks)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_chunk chunk;
    const uint8_t *payload;
    static struct nvt_clock_sample samples[1000];
    size_t count = 0;
    struct nvt_trace_file *file = nvt_trace_file_open(path, &err);
    assert_non_null(file);
    while (count < 1000 && nvt_trace_file_next(file, &chunk, &payload, &err) == 1)
        if (chunk.kind == NVT_CHUNK_CLOCK)
            memcpy(&samples[count++], payload, 24);
    nvt_trace_file_close(file);
    return nvt_clock_convert(samples, count, ticks) - samples[0].monotonic_ns;
}

struct nvt_trace *cut_read_good(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    cut_expect_good(trace ? 0 : -1, &err);
    assert_non_null(trace);
    assert_null(trace->warning);
    return trace;
}
