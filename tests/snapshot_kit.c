#include "snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "cli.h"

struct nvt_buffer snapshot_bytes;

void snapshot_put(const void *data, size_t size)
{
    assert_int_equal(nvt_buffer_append(&snapshot_bytes, data, size), 0);
}

void snapshot_begin(void)
{
    nvt_buffer_free(&snapshot_bytes);
    snapshot_put("\x80\x04", 2);
}

void snapshot_text(const char *value)
{
    snapshot_put("\x8c", 1);
    snapshot_put(&(uint8_t){(uint8_t)strlen(value)}, 1);
    snapshot_put(value, strlen(value));
}

void snapshot_integer(int64_t value)
{
    snapshot_put("\x8a\x08", 2);
    snapshot_put(&value, 8);
}

void snapshot_list(void)
{
    snapshot_put("](", 2);
}

void snapshot_list_ends(void)
{
    snapshot_put("e", 1);
}

void snapshot_dict(void)
{
    snapshot_put("}(", 2);
}

void snapshot_dict_ends(void)
{
    snapshot_put("u", 1);
}

void snapshot_pair(const char *key, int64_t value)
{
    snapshot_text(key);
    snapshot_integer(value);
}

void snapshot_pair_text(const char *key, const char *value)
{
    snapshot_text(key);
    snapshot_text(value);
}

void snapshot_frames(const char *all)
{
    char copy[1000], *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", all);
    snapshot_text("frames");
    snapshot_list();
    for (char *frame = strtok_r(copy, ";", &rest); frame; frame = strtok_r(NULL, ";", &rest)) {
        char *line = strrchr(frame, ' ');
        assert_non_null(line);
        *line++ = '\0';
        char *file = strrchr(frame, ' ');
        assert_non_null(file);
        *file++ = '\0';
        snapshot_dict();
        snapshot_pair_text("name", frame);
        snapshot_pair_text("filename", file);
        snapshot_pair("line", atoi(line));
        snapshot_dict_ends();
    }
    snapshot_list_ends();
}

void snapshot_entry(const char *action, int64_t time, int64_t address, int64_t size,
                    const char *stack)
{
    snapshot_dict();
    snapshot_pair_text("action", action);
    snapshot_pair("addr", address);
    snapshot_pair("size", size);
    snapshot_pair("stream", 0);
    if (time >= 0)
        snapshot_pair("time_us", time);
    snapshot_frames(stack);
    snapshot_dict_ends();
}

void snapshot_block(const char *state, int64_t address, int64_t size, int64_t requested,
                    const char *stack)
{
    snapshot_dict();
    snapshot_pair("address", address);
    snapshot_pair("size", size);
    snapshot_pair("requested_size", requested);
    snapshot_pair_text("state", state);
    snapshot_frames(stack);
    snapshot_dict_ends();
}

void snapshot_segment(int64_t device, int64_t address, int64_t size)
{
    snapshot_dict();
    snapshot_pair("device", device);
    snapshot_pair("address", address);
    snapshot_pair("total_size", size);
    snapshot_pair_text("segment_type", "large");
    snapshot_text("blocks");
    snapshot_list();
}

void snapshot_segment_ends(void)
{
    snapshot_list_ends();
    snapshot_dict_ends();
}

void snapshot_annotation(const char *stage, const char *name, int64_t time)
{
    snapshot_dict();
    snapshot_pair_text("stage", stage);
    snapshot_pair_text("name", name);
    snapshot_pair("device", 0);
    snapshot_pair("time_us", time);
    snapshot_dict_ends();
}

const char *snapshot_write_pickle(void)
{
    const char *path = cli_in(cli_folder, "snapshot.pickle");
    snapshot_put(".", 1);
    cli_write_file(path, snapshot_bytes.data, snapshot_bytes.size);
    return path;
}

struct nvt_trace *snapshot_read_it(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char shown[1100];
    struct nvt_trace *trace = nvt_trace_read(snapshot_write_pickle(), &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, shown, sizeof(shown)));
    return trace;
}
