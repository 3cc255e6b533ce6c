#include "self_record.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "helper_thread.h"
#include "recorder.h"
#include "wake.h"

#define AXIS_NS 10000 /* by which a time of ours and one of the trace may differ */

/* Of this process, which has one collector. */
static struct {
    struct nvt_recorder recorder; /* the thread's, under `lock` */
    pthread_mutex_t lock;
    pthread_t thread;
    _Atomic int ending;
    pid_t pid;      /* 0: not recording; a forked child has another */
    int64_t origin; /* of the trace's time axis */
    char path[64];
    char library[4096];
} here = {.recorder = NVT_RECORDER_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void *record(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "nvtally-record");
    while (!atomic_load(&here.ending)) {
        uint64_t taken;
        pthread_mutex_lock(&here.lock);
        nvt_recorder_look(&here.recorder);
        double fullest = nvt_recorder_drain(&here.recorder, &taken);
        nvt_recorder_housekeeping(&here.recorder);
        pthread_mutex_unlock(&here.lock);
        nvt_recorder_sleep(&here.recorder, fullest, NULL);
    }
    return NULL;
}

/* The process exits: nobody drains any more, and nothing stays behind. */
static void end(void)
{
    if (here.pid != getpid())
        return;
    atomic_store(&here.recorder.control->ended, 1);
    atomic_store(&here.ending, 1);
    nvt_control_wake(here.recorder.control);
    pthread_join(here.thread, NULL);
    /* Threads that go on until the end may still write to their rings and read the control page:
     * only the folder goes, the memory with the process. */
    nvt_recorder_remove(&here.recorder);
}

static enum nvt_self_record_status check(const char *library)
{
    static const char *const variables[] = {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH",
                                            NVT_SESSION_ENV};
    for (size_t i = 0; i < NVT_COUNT_OF(variables); i++) {
        const char *present = getenv(variables[i]);
        if (present && *present)
            return NVT_SELF_RECORD_OTHER_TOOL;
    }
    return strlen(library) < sizeof(here.library) && !access(library, R_OK)
               ? NVT_SELF_RECORD_OK
               : NVT_SELF_RECORD_NO_COLLECTOR;
}

static int make_recorder(struct nvt_recorder *recorder, struct nvt_error *err)
{
    struct nvt_record_options options = NVT_RECORD_OPTIONS_INIT;
    options.trace = NVT_TRACE_NVTX | NVT_TRACE_KERNEL;
    int memory = memfd_create("nvtally", MFD_CLOEXEC);
    if (memory < 0)
        return nvt_fail(err, "no memory file can be made: %s", strerror(errno));
    snprintf(here.path, sizeof(here.path), "/proc/self/fd/%d", memory);
    recorder->clock = nvt_clock_best();
    recorder->output = nvt_output_new(here.path, options.level, err);
    int status = recorder->output ? nvt_output_begin(recorder->output, err) : -1;
    if (!status)
        status = nvt_output_clock(recorder->output, recorder->clock, err);
    if (!status && !nvt_recorder_folder(recorder, err) &&
        !nvt_recorder_control(recorder, &options, err) && !nvt_recorder_axis(recorder, err)) {
        here.origin = nvt_output_origin(recorder->output);
        nvt_recorder_watch(recorder);
        return 0;
    }
    if (recorder->output)
        nvt_output_close(recorder->output, 0, 0, NULL);
    nvt_recorder_tear_down(recorder);
    close(memory);
    return -1;
}

enum nvt_self_record_status nvt_self_record_start(const char *library, struct nvt_error *err)
{
    if (here.pid)
        return here.pid == getpid() ? NVT_SELF_RECORD_OK : NVT_SELF_RECORD_OTHER_TOOL;
    enum nvt_self_record_status status = check(library);
    if (status)
        return status;
    snprintf(here.library, sizeof(here.library), "%s", library);
    if (make_recorder(&here.recorder, err))
        return NVT_SELF_RECORD_SYSTEM;
    if (nvt_helper_thread_start(&here.thread, record, NULL)) {
        nvt_output_close(here.recorder.output, 0, 0, NULL);
        nvt_recorder_tear_down(&here.recorder);
        here.recorder = (struct nvt_recorder)NVT_RECORDER_INIT;
        nvt_fail(err, "no thread can be started");
        return NVT_SELF_RECORD_SYSTEM;
    }
    here.pid = getpid();
    (void)atexit(end); /* refused: a stop ends it all the same */
    if (setenv(NVT_SESSION_ENV, here.recorder.folder, 1) ||
        setenv("NVTX_INJECTION64_PATH", library, 1) ||
        setenv("CUDA_INJECTION64_PATH", library, 1)) {
        nvt_fail(err, "out of memory");
        return NVT_SELF_RECORD_SYSTEM;
    }
    return NVT_SELF_RECORD_OK;
}

/* Have the injected library, where CUDA has loaded it, send what the devices did. */
static void ask_for_device_records(void)
{
    void *injected = dlopen(here.library, RTLD_LAZY | RTLD_NOLOAD);
    if (!injected)
        return;
    void (*hand_over)(void) = (void (*)(void))dlsym(injected, "nvtally_inject_hand_over");
    if (hand_over)
        hand_over();
    dlclose(injected);
}

void nvt_self_record_axis(int64_t start, int64_t stop, int64_t *first, int64_t *last)
{
    *first = start - here.origin - AXIS_NS;
    *last = stop - here.origin + AXIS_NS;
}

const char *nvt_self_record_collect(uint64_t *lost)
{
    uint64_t taken;
    if (here.pid != getpid())
        return NULL;
    ask_for_device_records();
    pthread_mutex_lock(&here.lock);
    struct nvt_recorder *recorder = &here.recorder;
    nvt_recorder_adopt(recorder);
    /* Other threads may go on writing: a ring's worth is all that can be from before. */
    nvt_recorder_drain(recorder, &taken);
    *lost = recorder->totals.dropped + recorder->totals.nested + recorder->totals.unwritten +
            atomic_load(&recorder->control->homeless);
    for (size_t i = 0; i < recorder->count; i++) {
        nvt_drain_flush(recorder->drains[i], 1);
        *lost += nvt_drain_lost(recorder->drains[i]);
    }
    nvt_output_clock(recorder->output, recorder->clock, NULL);
    pthread_mutex_unlock(&here.lock);
    return here.path;
}
