#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "drain.h"
#include "facts.h"
#include "launch.h"

#define FLUSH_NS  100000000  /* a killed recorder loses so much at most */
#define CLOCK_NS  1000000000 /* between calibrations */
#define IDLE_NS   2000000    /* longest sleep between looks at the rings */
#define BUSY_FILL 0.2        /* a ring so full is drained again at once */

struct recorder {
    char folder[256];
    struct nvt_control *control;
    enum nvt_clock clock;
    int watch; /* inotify, -1 when there is none: the folder is then read every time */
    struct nvt_output *output;
    struct nvt_drain **drains;
    size_t count, capacity;
    int waiting; /* rings that are there and not ready, or there was no memory for them */
    struct nvt_drain_totals totals;
    int64_t next_flush, next_clock;
};

/* --- the session's folder ------------------------------------------------------------------------ */

static int make_folder(struct recorder *recorder, struct nvt_error *err)
{
    const char *places[] = {getenv("NVTALLY_TMPDIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (!places[i] || snprintf(recorder->folder, sizeof(recorder->folder), "%s/nvtally-XXXXXX",
                                   places[i]) >= (int)sizeof(recorder->folder))
            continue;
        if (mkdtemp(recorder->folder))
            return 0;
    }
    recorder->folder[0] = 0;
    return nvt_fail(err, "no private folder can be made in /dev/shm or /tmp: %s", strerror(errno));
}

static uint32_t slots_of(uint64_t bytes)
{
    uint32_t slots = 1024;
    while (slots < (1u << 26) && (uint64_t)slots * 2 * sizeof(struct nvt_slot) <= bytes)
        slots *= 2;
    return slots;
}

static int make_control(struct recorder *recorder, const struct nvt_record_options *options,
                        struct nvt_error *err)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", recorder->folder, NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *memory = MAP_FAILED;
    if (descriptor >= 0 && !posix_fallocate(descriptor, 0, sizeof(struct nvt_control)))
        memory = mmap(NULL, sizeof(struct nvt_control), PROT_READ | PROT_WRITE, MAP_SHARED,
                      descriptor, 0);
    int cause = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (memory == MAP_FAILED)
        return nvt_fail_at(err, path, -1, "cannot be made: %s", strerror(cause));
    recorder->control = memory;
    recorder->control->version = NVT_SHARED_VERSION;
    recorder->control->recorder = getpid();
    recorder->control->clock = recorder->clock;
    recorder->control->on_full = options->on_full;
    recorder->control->slots = slots_of(options->ring_bytes);
    recorder->control->trace = options->trace;
    if (options->capture)
        snprintf(recorder->control->capture, sizeof(recorder->control->capture), "%s",
                 options->capture);
    recorder->control->magic = NVT_CONTROL_MAGIC;
    return 0;
}

static void remove_folder(struct recorder *recorder)
{
    if (!recorder->folder[0])
        return;
    /* Rings go as they are closed: without memory for opendir() this is all that is left. */
    char control[300];
    snprintf(control, sizeof(control), "%s/%s", recorder->folder, NVT_CONTROL_NAME);
    unlink(control);
    DIR *folder = opendir(recorder->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(recorder->folder);
}

/* --- rings --------------------------------------------------------------------------------------- */

static int is_known(const struct recorder *recorder, const char *path)
{
    for (size_t i = 0; i < recorder->count; i++)
        if (!strcmp(nvt_drain_path(recorder->drains[i]), path))
            return 1;
    return 0;
}

static void adopt(struct recorder *recorder, const char *name)
{
    char path[PATH_MAX];
    struct nvt_drain *drain;
    if (strncmp(name, NVT_RING_PREFIX, strlen(NVT_RING_PREFIX)))
        return;
    snprintf(path, sizeof(path), "%s/%s", recorder->folder, name);
    if (is_known(recorder, path))
        return;
    if (recorder->count == recorder->capacity) {
        size_t capacity = recorder->capacity ? recorder->capacity * 2 : 64;
        struct nvt_drain **drains = realloc(recorder->drains, capacity * sizeof(*drains));
        if (!drains) {
            recorder->waiting = 1;
            return;
        }
        recorder->drains = drains;
        recorder->capacity = capacity;
    }
    if (nvt_drain_open(path, recorder->output, &drain, NULL))
        unlink(path);
    else if (drain)
        recorder->drains[recorder->count++] = drain;
    else
        recorder->waiting = 1;
}

static void adopt_all(struct recorder *recorder)
{
    DIR *folder = opendir(recorder->folder);
    if (!folder)
        recorder->waiting = 1;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        adopt(recorder, entry->d_name);
    if (folder)
        closedir(folder);
}

/* New rings, when the folder has changed since the last look. */
static void look_for_rings(struct recorder *recorder)
{
    char events[4096];
    int changed = recorder->watch < 0 || recorder->waiting;
    while (recorder->watch >= 0 && read(recorder->watch, events, sizeof(events)) > 0)
        changed = 1;
    recorder->waiting = 0;
    if (changed)
        adopt_all(recorder);
}

/* One round over all rings. Returns how full the fullest was; *taken gets the slots drained. */
static double drain_all(struct recorder *recorder, uint64_t *taken)
{
    double fullest = 0;
    *taken = 0;
    for (size_t i = 0; i < recorder->count; i++) {
        *taken += nvt_drain_take(recorder->drains[i]);
        double fill = nvt_drain_fill(recorder->drains[i]);
        fullest = fill > fullest ? fill : fullest;
    }
    atomic_fetch_add_explicit(&recorder->control->heartbeat, 1, memory_order_relaxed);
    return fullest;
}

/* Forget rings whose thread or process has ended. */
static void close_ended(struct recorder *recorder, int all)
{
    for (size_t i = 0; i < recorder->count;) {
        struct nvt_drain *drain = recorder->drains[i];
        if (!all && !nvt_drain_is_over(drain)) {
            i++;
            continue;
        }
        while (nvt_drain_take(drain)) {
        }
        nvt_drain_close(drain, nvt_ticks(recorder->clock), &recorder->totals);
        recorder->drains[i] = recorder->drains[--recorder->count];
    }
}

static void housekeeping(struct recorder *recorder)
{
    int64_t now = nvt_monotonic_ns();
    if (now < recorder->next_flush)
        return;
    recorder->next_flush = now + FLUSH_NS;
    for (size_t i = 0; i < recorder->count; i++)
        nvt_drain_flush(recorder->drains[i], 1);
    close_ended(recorder, 0);
    if (now >= recorder->next_clock) {
        recorder->next_clock = now + CLOCK_NS;
        nvt_output_clock(recorder->output, recorder->clock, NULL);
    }
}

/* --- life ------------------------------------------------------------------------------------------ */

/* Reap what has ended. Returns whether recording goes on. */
static int children_left(const struct nvt_launch *launch, int wait_for_all, int *command_ended,
                         int *wait_status)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == launch->pid) {
            *command_ended = 1;
            *wait_status = status;
        }
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return 0;
        if (pid == 0)
            return wait_for_all || !*command_ended;
    }
}

static void record_until_end(struct recorder *recorder, const struct nvt_launch *launch,
                             int wait_for_all, int *wait_status)
{
    int command_ended = 0, idle = 0;
    uint64_t taken;
    while (children_left(launch, wait_for_all, &command_ended, wait_status)) {
        look_for_rings(recorder);
        double fullest = drain_all(recorder, &taken);
        housekeeping(recorder);
        idle = taken ? 0 : idle + 1;
        if (fullest < BUSY_FILL)
            nvt_launch_wait(launch, idle > 16 ? IDLE_NS : IDLE_NS / 8);
    }
    atomic_store(&recorder->control->ended, 1);
    look_for_rings(recorder);
    recorder->waiting = 0;
    adopt_all(recorder);
    if (recorder->waiting) /* for lack of memory, it may be */
        adopt_all(recorder);
    close_ended(recorder, 1);
}

static int set_up(struct recorder *recorder, const struct nvt_record_options *options,
                  char *const argv[], struct nvt_error *err)
{
    recorder->clock = nvt_clock_best();
    recorder->output = nvt_output_new(options->output, options->level, err);
    if (!recorder->output || make_folder(recorder, err) || make_control(recorder, options, err))
        return -1;
    recorder->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (recorder->watch >= 0 &&
        inotify_add_watch(recorder->watch, recorder->folder, IN_CREATE) < 0) {
        close(recorder->watch);
        recorder->watch = -1;
    }
    if (nvt_facts_write(recorder->output, options->facts, argv, recorder->clock) ||
        (options->capture && nvt_output_fact(recorder->output, "capture", options->capture)))
        return nvt_fail(err, "out of memory");
    /* Two moments, so that a trace cut right after its start has a time axis too. */
    if (nvt_output_clock(recorder->output, recorder->clock, err))
        return -1;
    usleep(2000);
    return nvt_output_clock(recorder->output, recorder->clock, err);
}

static void tear_down(struct recorder *recorder)
{
    if (recorder->watch >= 0)
        close(recorder->watch);
    if (recorder->control)
        munmap(recorder->control, sizeof(*recorder->control));
    remove_folder(recorder);
    free(recorder->drains);
}

static void finish(struct recorder *recorder, struct nvt_record_result *result)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_drain_totals *totals = &recorder->totals;
    nvt_output_clock(recorder->output, recorder->clock, NULL);
    result->events = totals->events;
    result->device_records = totals->device_records;
    result->used_devices = totals->batches > 0;
    result->dropped = totals->dropped;
    result->nested = totals->nested;
    result->unwritten = totals->unwritten;
    result->waited_ns = totals->waited_ns;
    result->homeless = atomic_load(&recorder->control->homeless);
    result->processes = nvt_output_processes(recorder->output);
    result->threads = nvt_output_threads(recorder->output) - totals->device_threads;
    result->write_error = totals->error;
    uint64_t lost = result->dropped + result->nested + result->unwritten + result->homeless;
    result->bytes = nvt_output_size(recorder->output);
    if (nvt_output_close(recorder->output, result->wait_status, lost, &err) &&
        !result->write_error.message[0])
        result->write_error = err;
}

int nvt_record_run(const struct nvt_record_options *options, char *const argv[],
                   struct nvt_record_result *result, struct nvt_error *err)
{
    struct recorder recorder = {.watch = -1};
    struct nvt_launch launch = {.pid = -1};
    sigset_t before;
    *result = (struct nvt_record_result){.exec_error = nvt_launch_check(argv[0])};
    if (result->exec_error)
        return 0;
    /* A full disk or a size limit shall be an error of write(), not our end. */
    void (*size_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    nvt_launch_block(&before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int status = set_up(&recorder, options, argv, err);
    if (!status)
        status = nvt_launch_start(argv, recorder.folder, (options->trace & NVT_TRACE_DEVICE) != 0,
                                  &before, &launch, err);
    if (!status) {
        result->exec_error = launch.exec_error;
        result->other_tool = launch.other_tool;
        result->other_device_tool = launch.other_device_tool;
        if (!launch.exec_error)
            record_until_end(&recorder, &launch, options->wait_for_all, &result->wait_status);
        finish(&recorder, result);
        if (launch.exec_error)
            unlink(options->output);
    } else if (recorder.output) {
        nvt_output_close(recorder.output, 0, 0, NULL);
        unlink(options->output);
    }
    tear_down(&recorder);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    nvt_launch_unblock(&before);
    signal(SIGXFSZ, size_handler);
    return status;
}
