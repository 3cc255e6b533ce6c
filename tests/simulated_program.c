#include "simulated_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../analyze/model/cuda_names.h"

uint32_t simulated_pick(struct simulated *sim, uint32_t below)
{
    sim->random = sim->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(sim->random >> 33) % below;
}

/* --- making ------------------------------------------------------------------------------------------ */

/* Durations have no pattern, so that no two ways through the program take the same time. */
static int64_t between(struct simulated *sim, int64_t least, int64_t most)
{
    return least + simulated_pick(sim, (uint32_t)(most - least));
}

static void add(struct simulated *sim, enum step_kind kind, int stream, int event)
{
    struct step *step = &sim->steps[sim->count++];
    *step = (struct step){.kind = kind, .stream = stream, .event = event};
    if (kind == STEP_WORK)
        step->ns = between(sim, 1000, 40000);
    if (kind == STEP_LAUNCH) {
        step->ns = between(sim, 1500, 6000);
        step->device = between(sim, 1000, simulated_pick(sim, 4) ? 30000 : 200000);
    }
}

void simulated_make(struct simulated *sim, uint64_t seed, int count, int streams, int threads)
{
    int event = -1;
    *sim = (struct simulated){.streams = streams, .random = seed};
    while (sim->count < count - 2) {
        uint32_t what = simulated_pick(sim, 100);
        int stream = (int)simulated_pick(sim, (uint32_t)streams);
        if (what < 25) {
            add(sim, STEP_WORK, 0, -1);
        } else if (what < 75) {
            add(sim, STEP_LAUNCH, stream, -1);
        } else if (what < 84) {
            event = sim->count;
            add(sim, STEP_RECORD, stream, -1);
        } else if (what < 93 && event >= 0) {
            add(sim, STEP_LET_WAIT, stream, event);
        } else if (what < 95) {
            add(sim, STEP_WAIT_STREAM, stream, -1);
        } else if (what < 97 && event >= 0) {
            add(sim, STEP_WAIT_EVENT, 0, event);
        } else if (what == 97) {
            add(sim, STEP_WAIT_DEVICE, 0, -1);
        } else if (what > 97 && threads > 1) {
            /* Whoever hands over was at work, and so is who goes on: else nobody could tell. */
            add(sim, STEP_WORK, 0, -1);
            sim->steps[sim->count - 1].ns += 100000;
            add(sim, STEP_HAND_OVER, 0, -1);
        }
    }
    add(sim, STEP_WORK, 0, -1);
    if (simulated_pick(sim, 2))
        add(sim, STEP_WAIT_DEVICE, 0, -1);
}

/* --- running ----------------------------------------------------------------------------------------- */

static void raise(int64_t *time, int64_t to)
{
    if (to > *time)
        *time = to;
}

/* The streams of a device as a program goes on. */
struct streams {
    int last[STREAMS_MOST];      /* step of the last kernel, -1 */
    int64_t ready[STREAMS_MOST]; /* events allow the next kernel from here on */
};

static void launch(struct simulated *sim, struct streams *streams, int at)
{
    struct step *step = &sim->steps[at];
    int before = streams->last[step->stream];
    step->op_start = step->start + LAUNCH_NS;
    raise(&step->op_start, streams->ready[step->stream]);
    if (before >= 0)
        raise(&step->op_start, sim->steps[before].op_end + BEHIND_NS);
    step->op_end = step->op_start + step->device;
    streams->last[step->stream] = at;
    streams->ready[step->stream] = 0;
}

/* What has ended before needs no waking. */
static void wait_for(const struct simulated *sim, struct step *step, int op)
{
    if (op >= 0 && sim->steps[op].op_end > step->start)
        raise(&step->end, sim->steps[op].op_end + WAKE_NS);
}

static void run_step(struct simulated *sim, struct streams *streams, int at)
{
    struct step *step = &sim->steps[at];
    int behind = step->event >= 0 ? sim->steps[step->event].record_op : -1;
    switch (step->kind) {
    case STEP_WORK:
        step->end = step->start + step->ns;
        break;
    case STEP_LAUNCH:
        step->end = step->start + step->ns;
        launch(sim, streams, at);
        break;
    case STEP_RECORD:
        step->end = step->start + EVENT_CALL;
        step->record_op = streams->last[step->stream];
        break;
    case STEP_LET_WAIT:
        step->end = step->start + EVENT_CALL;
        if (behind >= 0)
            raise(&streams->ready[step->stream], sim->steps[behind].op_end + EVENT_NS);
        break;
    case STEP_WAIT_STREAM:
        step->end = step->start + WAIT_NS;
        wait_for(sim, step, streams->last[step->stream]);
        break;
    case STEP_WAIT_EVENT:
        step->end = step->start + WAIT_NS;
        wait_for(sim, step, behind);
        break;
    case STEP_WAIT_DEVICE:
        step->end = step->start + WAIT_NS;
        for (int s = 0; s < sim->streams; s++)
            wait_for(sim, step, streams->last[s]);
        break;
    case STEP_HAND_OVER:
        step->end = step->start + HANDOVER_NS;
        break;
    }
}

int64_t simulated_run(struct simulated *sim)
{
    struct streams streams = {{-1, -1, -1, -1}, {0}};
    int64_t now = 1000, last = 0;
    int thread = 0;
    for (int i = 0; i < sim->count; i++) {
        struct step *step = &sim->steps[i];
        step->thread = thread;
        step->start = now;
        run_step(sim, &streams, i);
        now = step->end;
        thread ^= step->kind == STEP_HAND_OVER;
        if (step->kind != STEP_HAND_OVER)
            raise(&last, step->end);
        raise(&last, step->op_end);
    }
    return last;
}

/* --- its trace --------------------------------------------------------------------------------------- */

static void add_call(struct nvt_trace *trace, uint32_t thread, const char *name, int at,
                     const struct step *step)
{
    const struct nvt_api api = {.start = step->start,
                                .end = step->end,
                                .thread = thread,
                                .correlation = (uint64_t)at + 1,
                                .name = nvt_strings_add_text(trace->strings, name)};
    assert_int_not_equal(nvt_api_add(trace, &api), NVT_NONE);
}

static void add_kernel(struct nvt_trace *trace, int at, const struct step *step)
{
    char name[32];
    snprintf(name, sizeof(name), "kernel %d", at);
    const struct nvt_op op = {.start = step->op_start,
                              .end = step->op_end,
                              .stream = (uint32_t)step->stream + 7,
                              .name = nvt_strings_add_text(trace->strings, name),
                              .short_name = nvt_strings_add_text(trace->strings, "kernel"),
                              .correlation = (uint64_t)at + 1,
                              .thread = NVT_NONE,
                              .launch = INT64_MIN,
                              .detail = NVT_NONE};
    assert_int_not_equal(nvt_op_add(trace, &op), NVT_NONE);
}

static void add_sync(struct nvt_trace *trace, const struct simulated *sim, int at, uint8_t type,
                     int without_events)
{
    const struct step *step = &sim->steps[at];
    struct nvt_sync sync = {.start = step->start,
                            .end = step->end,
                            .stream = (uint32_t)step->stream + 7,
                            .correlation = (uint64_t)at + 1,
                            .type = type};
    if (step->event >= 0 && !without_events) {
        sync.recorded = (uint64_t)step->event + 1;
        sync.recorded_stream = (uint32_t)sim->steps[step->event].stream + 7;
    }
    assert_int_not_equal(nvt_sync_add(trace, &sync), NVT_NONE);
}

static void add_work(struct nvt_trace *trace, uint32_t thread, int at, const struct step *step)
{
    char name[32];
    snprintf(name, sizeof(name), "work %d", at);
    const struct nvt_range range = {.start = step->start,
                                    .end = step->end,
                                    .thread = thread,
                                    .end_thread = thread,
                                    .name = nvt_strings_add_text(trace->strings, name)};
    assert_int_not_equal(nvt_range_add(trace, &range), NVT_NONE);
}

struct nvt_trace *simulated_trace(const struct simulated *sim, int without_events)
{
    static const struct {
        const char *call;
        uint8_t sync; /* NVT_SYNC_UNKNOWN: none */
    } calls[] = {
        [STEP_LAUNCH] = {"cudaLaunchKernel", NVT_SYNC_UNKNOWN},
        [STEP_RECORD] = {"cudaEventRecord", NVT_SYNC_UNKNOWN},
        [STEP_LET_WAIT] = {"cudaStreamWaitEvent", NVT_SYNC_WAIT_EVENT},
        [STEP_WAIT_STREAM] = {"cudaStreamSynchronize", NVT_SYNC_STREAM},
        [STEP_WAIT_EVENT] = {"cudaEventSynchronize", NVT_SYNC_EVENT},
        [STEP_WAIT_DEVICE] = {"cudaDeviceSynchronize", NVT_SYNC_CONTEXT},
    };
    struct nvt_trace *trace = nvt_trace_new("simulated", "test");
    struct nvt_error err = NVT_ERROR_INIT;
    assert_non_null(trace);
    uint32_t process = nvt_trace_process(trace, 100);
    uint32_t threads[2] = {nvt_trace_thread(trace, process, 100),
                           nvt_trace_thread(trace, process, 101)};
    for (int i = 0; i < sim->count; i++) {
        const struct step *step = &sim->steps[i];
        uint32_t thread = threads[step->thread];
        if (step->kind == STEP_HAND_OVER)
            continue;
        if (step->kind == STEP_WORK) {
            add_work(trace, thread, i, step);
            continue;
        }
        add_call(trace, thread, calls[step->kind].call, i, step);
        if (step->kind == STEP_LAUNCH)
            add_kernel(trace, i, step);
        if (calls[step->kind].sync != NVT_SYNC_UNKNOWN)
            add_sync(trace, sim, i, calls[step->kind].sync, without_events);
    }
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    return trace;
}
