#include "waits.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/map.h"
#include "../../lib/text.h"
#include "../model/os_names.h"
#include "hot_functions.h"

const char *nvt_wait_text(enum nvt_wait what)
{
    static const char *const texts[NVT_WAITS] = {
        [NVT_WAIT_NONE] = "",
        [NVT_WAIT_PYTHON] = "",
        [NVT_WAIT_LOCK] = "a lock",
        [NVT_WAIT_PROCESS_LOCK] = "a lock of multiprocessing",
        [NVT_WAIT_GIL] = "Python's GIL",
        [NVT_WAIT_SEMAPHORE] = "a semaphore",
        [NVT_WAIT_WORK] = "work from a queue",
        [NVT_WAIT_ROOM] = "room in a queue",
        [NVT_WAIT_EVENT] = "an event",
        [NVT_WAIT_CONDITION] = "a condition",
        [NVT_WAIT_BARRIER] = "a barrier",
        [NVT_WAIT_THREAD] = "a thread",
    };
    return texts[what < NVT_WAITS ? what : NVT_WAIT_NONE];
}

/* --- functions in which threads wait ---------------------------------------------------------------- */

struct wait_frame {
    const char *function, *file;
    enum nvt_wait what;
};

static const struct wait_frame wait_frames[] = {
#define WAIT_FRAME(function_, file_, what_)                                                        \
    {.function = #function_, .file = #file_, .what = NVT_WAIT_##what_},
#include "wait_frames.def"
};

/* Whether a name is "FUNCTION (FILE:LINE)". */
static int is_frame(const struct wait_frame *frame, const char *name)
{
    const char *open = strstr(name, " (");
    size_t function = strlen(frame->function), file = strlen(frame->file);
    if (!open || strncmp(open + 2, frame->file, file) != 0 || open[2 + file] != ':')
        return 0;
    return !strcmp(frame->function, "*") ||
           ((size_t)(open - name) == function && !strncmp(name, frame->function, function));
}

/* NULL: it is none of these. */
static const struct wait_frame *find_frame(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(wait_frames); i++)
        if (is_frame(&wait_frames[i], name))
            return &wait_frames[i];
    return NULL;
}

static int is_python(const struct nvt_trace *trace, uint32_t row)
{
    return nvt_frame_owner(trace, row) == NVT_OF_PYTHON;
}

uint32_t nvt_wait_site(const struct nvt_trace *trace, uint32_t frame)
{
    uint32_t outermost = 0;
    for (; frame; frame = trace->call_frames.parent[frame - 1]) {
        if (!nvt_is_own_frame(trace, frame - 1))
            continue;
        outermost = frame;
        if (!is_python(trace, frame - 1) ||
            !find_frame(nvt_name(trace, trace->call_frames.name[frame - 1])))
            return frame;
    }
    return outermost;
}

/* --- what a stack waits for ------------------------------------------------------------------------- */

/* A module of Python's that has waits of its own; NVT_WAITS: another library's. */
static enum nvt_wait wait_of_module(const struct nvt_trace *trace, uint32_t row)
{
    const char *module = nvt_file_name(nvt_name(trace, trace->call_frames.module[row]));
    if (!strncmp(module, "_queue.", 7))
        return NVT_WAIT_WORK; /* SimpleQueue has room for everything */
    if (!strncmp(module, "_multiprocessing.", 17))
        return NVT_WAIT_PROCESS_LOCK;
    if (nvt_frame_owner(trace, row) == NVT_OF_INTERPRETER || !strncmp(module, "libc.so", 7) ||
        !strncmp(module, "libpthread", 10) || nvt_frame_owner(trace, row) == NVT_OF_SYSTEM ||
        nvt_frame_owner(trace, row) == NVT_OF_UNKNOWN)
        return NVT_WAIT_NONE;
    return NVT_WAITS;
}

/* What a function adds to what those that it called say. */
static enum nvt_wait refine(enum nvt_wait what, const struct wait_frame *frame)
{
    if (what == NVT_WAIT_LOCK || frame->what == NVT_WAIT_NONE)
        return what;
    if (frame->what == NVT_WAIT_CONDITION) /* Event.wait waits for one, Barrier.wait as well */
        return what == NVT_WAIT_CONDITION && !strcmp(frame->function, "wait") ? NVT_WAIT_EVENT
                                                                              : what;
    /* Readers of a queue between processes wait for each other, one of them for work. */
    if (what == NVT_WAIT_PROCESS_LOCK && frame->what == NVT_WAIT_WORK &&
        !strcmp(frame->function, "_feed"))
        return what;
    return frame->what;
}

/* What a wait of Python's own is for, by its stack. */
static enum nvt_wait wait_of_stack(const struct nvt_trace *trace, uint32_t frame)
{
    enum nvt_wait what = NVT_WAIT_NONE;
    int is_first = 1;
    for (; frame && !is_python(trace, frame - 1); frame = trace->call_frames.parent[frame - 1]) {
        enum nvt_wait of = wait_of_module(trace, frame - 1);
        if (of == NVT_WAITS)
            return NVT_WAIT_NONE;
        what = of ? of : what;
    }
    for (; frame && is_python(trace, frame - 1); frame = trace->call_frames.parent[frame - 1]) {
        const struct wait_frame *known =
            find_frame(nvt_name(trace, trace->call_frames.name[frame - 1]));
        if (is_first && !what && (!known || !known->what))
            what = NVT_WAIT_LOCK; /* taken there */
        if (!known)
            break;
        what = is_first && !what ? known->what : refine(what, known);
        is_first = 0;
    }
    return what;
}

/* What a stack waits for; of_frame keeps it for each row of call_frames: enum nvt_wait and 1, 0 while it is not known. */
static enum nvt_wait known_wait(uint8_t *of_frame, const struct nvt_trace *trace, uint32_t frame)
{
    if (!frame)
        return NVT_WAIT_PYTHON;
    if (!of_frame[frame - 1])
        of_frame[frame - 1] = (uint8_t)(wait_of_stack(trace, frame) + 1);
    return (enum nvt_wait)(of_frame[frame - 1] - 1);
}

/* --- calls ------------------------------------------------------------------------------------------ */

/* Whether a call is one by which Python waits, as far as its name says. */
static int may_be_python(const char *name)
{
    return !strncmp(name, "sem_", 4) || !strcmp(name, "futex");
}

/* Python's interpreter waits for a condition with a time limit (sys.setswitchinterval) in one place alone: take_gil, in ceval_gil.c. */
static int is_of_gil(const struct nvt_trace *trace, const char *name, uint32_t call)
{
    return (!strcmp(name, "pthread_cond_timedwait") || !strcmp(name, "pthread_cond_clockwait")) &&
           nvt_is_interpreter(nvt_file_name(nvt_name(trace, trace->os_calls.caller[call])));
}

static int is_of_python(const struct nvt_trace *trace, uint32_t call)
{
    const char *caller = nvt_file_name(nvt_name(trace, trace->os_calls.caller[call]));
    return nvt_is_interpreter(caller) || !strncmp(caller, "_multiprocessing.", 17) ||
           !strncmp(caller, "_queue.", 7);
}

/* A Condition's waiter is a lock that its thread has taken, to take it again. Whoever waits in Condition.wait for another's lock
 * has been notified, and waits for the Condition's own. */
static int is_lock_of_condition(const struct nvt_waits *waits, uint32_t call)
{
    const struct nvt_trace *trace = waits->trace;
    uint32_t frame = waits->frame[call], holder = trace->os_calls.holder[call];
    while (frame && !is_python(trace, frame - 1))
        frame = trace->call_frames.parent[frame - 1];
    return frame && holder && trace->threads.tid[trace->os_calls.thread[call]] != (int64_t)holder &&
           !strncmp(nvt_name(trace, trace->call_frames.name[frame - 1]), "wait (threading.py:", 19);
}

struct maker {
    struct nvt_waits *waits;
    struct nvt_os_names names;
    struct nvt_map addresses; /* process and address -> the last stack */
    uint8_t *of_frame;
};

/* 0, or -1 when out of memory. */
static int add_call(struct maker *maker, uint32_t call)
{
    const struct nvt_trace *trace = maker->waits->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    uint32_t *frame = &maker->waits->frame[call];
    uint32_t process = trace->threads.process[calls->thread[call]];
    if (!calls->address[call])
        return 0;
    uint32_t *known = nvt_map_at(&maker->addresses, calls->address[call] ^ (uint64_t)process << 48 ^
                                                        (uint64_t)calls->name[call] << 56);
    if (!known)
        return -1;
    if (*frame)
        *known = *frame;
    else if (*known != NVT_MAP_NONE)
        *frame = *known;
    return 0;
}

static void judge(struct maker *maker, uint32_t call)
{
    const struct nvt_trace *trace = maker->waits->trace;
    const struct nvt_os_call_info *info =
        nvt_os_names_find(&maker->names, trace, trace->os_calls.name[call]);
    enum nvt_wait what = NVT_WAIT_NONE;
    if (info && info->kind == NVT_OS_LOCKS)
        what = NVT_WAIT_LOCK;
    else if (info && is_of_gil(trace, info->name, call))
        what = NVT_WAIT_GIL;
    else if (info && may_be_python(info->name) && is_of_python(trace, call))
        what = known_wait(maker->of_frame, trace, maker->waits->frame[call]);
    if (nvt_is_idle_wait(what) && is_lock_of_condition(maker->waits, call))
        what = NVT_WAIT_LOCK;
    maker->waits->what[call] = (uint8_t)what;
}

enum nvt_os_kind nvt_wait_kind(const struct nvt_waits *waits, struct nvt_os_names *names,
                               uint32_t call)
{
    return nvt_is_lock_wait(waits->what[call])
               ? NVT_OS_LOCKS
               : nvt_os_names_kind(names, waits->trace, waits->trace->os_calls.name[call]);
}

int nvt_waits_make(struct nvt_waits *waits, const struct nvt_trace *trace)
{
    const struct nvt_os_calls *calls = &trace->os_calls;
    struct maker maker = {.waits = waits,
                          .of_frame = calloc((size_t)trace->call_frames.count + 1, 1)};
    int failed = 1;
    waits->trace = trace;
    waits->what = calloc((size_t)calls->count + 1, sizeof(*waits->what));
    waits->frame = calloc((size_t)calls->count + 1, sizeof(*waits->frame));
    if (!maker.of_frame || !waits->what || !waits->frame)
        goto out;
    if (calls->count)
        memcpy(waits->frame, calls->frame, calls->count * sizeof(*waits->frame));
    /* Short waits take the stack of the one before, those at the beginning that of the one behind. */
    for (uint32_t i = 0; i < calls->count; i++)
        if (add_call(&maker, i))
            goto out;
    for (uint32_t i = calls->count; i-- > 0;)
        if (add_call(&maker, i))
            goto out;
    for (uint32_t i = 0; i < calls->count; i++)
        judge(&maker, i);
    failed = 0;
out:
    nvt_os_names_free(&maker.names);
    nvt_map_free(&maker.addresses);
    free(maker.of_frame);
    return failed ? -1 : 0;
}

void nvt_waits_free(struct nvt_waits *waits)
{
    free(waits->what);
    free(waits->frame);
    *waits = (struct nvt_waits){0};
}
