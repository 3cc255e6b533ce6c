#include "viewer_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_trace.h"
#include "view_kit.h"

void viewer_show(struct shown *shown, struct nvt_trace *trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    *shown = (struct shown){.item = {.trace = trace}};
    shown->input = (struct nvt_input){.traces = &shown->item, .trace_count = 1};
    assert_int_equal(nvt_viewer_make(&shown->viewer, &shown->input, 1, &err), 0);
}

void viewer_hide(struct shown *shown)
{
    struct nvt_trace *trace = shown->item.trace;
    nvt_editions_free(shown->editions);
    nvt_viewer_free(&shown->viewer);
    nvt_buffer_free(&shown->input.notes);
    nvt_trace_free(trace);
}

const char *viewer_text_of(struct nvt_buffer *buffer)
{
    assert_int_equal(nvt_buffer_append(buffer, "", 1), 0);
    return (const char *)buffer->data;
}

struct nvt_trace *viewer_made_loop(void)
{
    struct program program = {.iterations = 8,
                              .host_ns = 300000,
                              .kernels = 20,
                              .kernel_ns = 4000,
                              .busy = "deepcopy",
                              .busy_ns = 400000,
                              .os_call = "read",
                              .os_ns = 200000,
                              .leak_bytes = 1000,
                              .copies = 2,
                              .copy_ns = 3000,
                              .copy_bytes = 1 << 20};
    return make_program(&program);
}

uint64_t viewer_spans_of(const struct nvt_scene *scene, enum nvt_view_kind kind, int64_t *ns)
{
    uint64_t count = 0;
    *ns = 0;
    for (uint32_t i = 0; i < scene->count; i++)
        for (uint32_t t = 0; t < scene->lanes[i].tracks.count; t++)
            if (scene->lanes[i].kind == kind) {
                count += scene->lanes[i].tracks.items[t].count;
                *ns += nvt_track_sum(&scene->lanes[i].tracks.items[t], 0,
                                     scene->lanes[i].tracks.items[t].count);
            }
    return count;
}

void viewer_expect_state(const char *address, const char *needle)
{
    for (int i = 0;; i++) {
        struct view_reply reply = view_ask(address, "edition");
        assert_int_equal(reply.status, 200);
        const int is_there = strstr(reply.text, needle) != NULL;
        if (!is_there && i == 600)
            fail_msg("no %s in %s", needle, reply.text);
        free(reply.text);
        if (is_there)
            return;
        usleep(100000);
    }
}
