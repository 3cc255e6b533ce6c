#include "perfetto_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"
#include "read_kit.h"

struct nvt_buffer perfetto_file, perfetto_packet, perfetto_message, perfetto_inner;

int perfetto_set_up(void **state)
{
    perfetto_file.size = perfetto_packet.size = perfetto_message.size = perfetto_inner.size = 0;
    return cli_folder_set_up(state);
}

int perfetto_tear_down(void **state)
{
    nvt_buffer_free(&perfetto_file);
    nvt_buffer_free(&perfetto_packet);
    nvt_buffer_free(&perfetto_message);
    nvt_buffer_free(&perfetto_inner);
    return cli_folder_tear_down(state);
}

void perfetto_put_packet(uint32_t sequence)
{
    nvt_proto_number(&perfetto_packet, 10, sequence);
    nvt_proto_message(&perfetto_file, 1, &perfetto_packet);
}

void perfetto_at(uint64_t time)
{
    nvt_proto_number(&perfetto_packet, 8, time);
}

void perfetto_put_track(uint64_t uuid, uint64_t parent, uint64_t pid, uint64_t tid,
                        const char *name)
{
    nvt_proto_number(&perfetto_message, 1, uuid);
    if (parent)
        nvt_proto_number(&perfetto_message, 5, parent);
    if (pid) {
        nvt_proto_number(&perfetto_inner, 1, pid);
        if (tid)
            nvt_proto_number(&perfetto_inner, 2, tid);
        nvt_proto_text(&perfetto_inner, tid ? 5 : 6, name);
        nvt_proto_message(&perfetto_message, tid ? 4 : 3, &perfetto_inner);
    } else {
        nvt_proto_text(&perfetto_message, 2, name);
    }
    nvt_proto_message(&perfetto_packet, 60, &perfetto_message);
    perfetto_put_packet(1);
}

void perfetto_put_event(uint64_t time, unsigned type, uint64_t track, const char *category,
                        const char *name)
{
    perfetto_at(time);
    nvt_proto_number(&perfetto_message, 9, type);
    nvt_proto_number(&perfetto_message, 11, track);
    if (category)
        nvt_proto_text(&perfetto_message, 22, category);
    if (name)
        nvt_proto_text(&perfetto_message, 23, name);
    nvt_proto_message(&perfetto_packet, 11, &perfetto_message);
    perfetto_put_packet(1);
}

void perfetto_put_slice(uint64_t begin, uint64_t end, uint64_t track, const char *category,
                        const char *name)
{
    perfetto_put_event(begin, BEGIN, track, category, name);
    perfetto_put_event(end, END, track, NULL, NULL);
}

struct nvt_trace *perfetto_read_file(void)
{
    const char *path = cli_in(cli_folder, "t.pftrace");
    cli_write_file(path, (const char *)perfetto_file.data, perfetto_file.size);
    return kit_read(path);
}

uint32_t perfetto_range_called(const struct nvt_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), name))
            return i;
    fail_msg("no range is called %s", name);
    return 0;
}

void perfetto_assert_span(const struct nvt_trace *trace, const char *name, int64_t start,
                          int64_t end)
{
    const uint32_t i = perfetto_range_called(trace, name);
    assert_int_equal(trace->ranges.start[i], start);
    assert_int_equal(trace->ranges.end[i], end);
}
