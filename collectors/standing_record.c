#include "standing_record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/folder.h"
#include "../lib/hardware_counters.h"
#include "attached.h"
#include "counter_wish.h"
#include "facts.h"
#include "levels.h"
#include "live.h"
#include "recorder.h"
#include "stale.h"
#include "wake.h"

#define COMPRESSION  1
#define LOCK_TRIES   200 /* a thread that looks whether we live holds the lock for a moment */
#define LOOK_NS      INT64_C(1000000000) /* between two looks at who is left, */
#define LOOK_PATIENT 100                 /* and so many times what the last took, */
#define SOON_NS      INT64_C(200000000)  /* unless one that was there has ended */

/* --- signals -------------------------------------------------------------------------------------- */

static volatile sig_atomic_t asked_to_end;
static struct nvt_control *listening;

static void hear(int number)
{
    const int saved = errno;
    asked_to_end = number;
    nvt_control_wake(listening);
    errno = saved;
}

static void listen_to_signals(struct nvt_control *control)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGQUIT}, ignored[] = {SIGPIPE, SIGXFSZ, SIGHUP};
    struct sigaction action = {.sa_handler = hear};
    listening = control;
    for (size_t i = 0; i < NVT_COUNT_OF(ends); i++)
        sigaction(ends[i], &action, NULL);
    action.sa_handler = SIG_IGN;
    for (size_t i = 0; i < NVT_COUNT_OF(ignored); i++)
        sigaction(ignored[i], &action, NULL);
}

/* --- the session's page --------------------------------------------------------------------------- */

static int lock(int descriptor)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!flock(descriptor, LOCK_EX | LOCK_NB))
            return 0;
        if (errno != EWOULDBLOCK)
            return -1;
        usleep(1000);
    }
    return -1;
}

static int is_of_ours(int descriptor, const struct nvt_control *control)
{
    struct stat status;
    return !fstat(descriptor, &status) && status.st_uid == geteuid() && !(status.st_mode & 077) &&
           control->magic == NVT_CONTROL_MAGIC && control->version == NVT_SHARED_VERSION &&
           control->is_standing;
}

/* Map the page, with its lock. 0, or -1 with err. */
static int take_page(struct nvt_recorder *recorder, const char *folder, struct nvt_error *err)
{
    char path[300];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", folder, NVT_CONTROL_NAME);
    const int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &status) ||
        status.st_size < (off_t)sizeof(*recorder->control)) {
        if (descriptor >= 0)
            close(descriptor);
        return nvt_fail_at(err, folder, -1, "no recording is there");
    }
    recorder->lock = descriptor;
    if (lock(descriptor))
        return nvt_fail_at(err, folder, -1, NVT_STANDING_TAKEN);
    void *memory =
        mmap(NULL, sizeof(*recorder->control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return nvt_fail_at(err, folder, -1, "cannot be mapped: %s", strerror(errno));
    recorder->control = memory;
    return is_of_ours(descriptor, recorder->control)
               ? 0
               : nvt_fail_at(err, folder, -1, "no session of this user and this nvtally");
}

/* What a recorder that was killed has left: its rings are no threads' any more once the epoch has changed. */
static void remove_rings(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = nvt_folder_next(entries));)
        if (strcmp(entry->d_name, NVT_CONTROL_NAME) != 0)
            unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries)
        closedir(entries);
}

static void close_window(struct nvt_control *control)
{
    atomic_store(&control->window, NVT_WINDOW_BEFORE);
    atomic_store(&control->stepping, 0);
    syscall(SYS_futex, &control->window, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* With the lock. What processes have counted of themselves stays. */
static void begin_epoch(struct nvt_recorder *recorder)
{
    struct nvt_control *control = recorder->control;
    struct stat status;
    close_window(control);
    remove_rings(recorder->folder);
    atomic_store(&control->ended, 0);
    atomic_store(&control->homeless, 0);
    atomic_store(&control->uncounted, 0);
    atomic_store(&control->unsampled, 0);
    atomic_store(&control->scarce, 0);
    atomic_store(&control->captured, 0);
    atomic_store(&control->taken, 0);
    atomic_store(&control->asked, 0);
    atomic_store(&control->writing, 0);
    atomic_store(&control->asleep, 0);
    control->pid_space = stat(NVT_PID_SPACE, &status) ? 0 : status.st_ino;
    control->recorder_start = nvt_process_start(getpid());
    control->recorder = getpid();
    atomic_fetch_add(&control->epoch, 1);
    nvt_output_tell(recorder->output, &control->writing, &control->heartbeat);
}

/* --- life ----------------------------------------------------------------------------------------- */

struct standing {
    const struct nvt_standing_wish *wish;
    struct nvt_recorder recorder;
    struct nvt_record_window window;
    struct nvt_live live;
    char **command;    /* of the first process, or NULL */
    pid_t known;       /* a process that was there at the last look, 0: none, */
    uint64_t start;    /* and when it began (nvt_process_start) */
    int64_t next_look; /* at who is left, CLOCK_MONOTONIC */
    int is_left_alone; /* nobody is */
};

static int write_facts(struct standing *standing, char *const *command, struct nvt_error *err)
{
    const char *facts[] = {"record", "nvtally ctl start", "recorded", "0 parts, 0 s", NULL, NULL,
                           NULL};
    char levels[128], why[NVT_HARDWARE_WHY_MAX];
    struct nvt_recorder *recorder = &standing->recorder;
    if ((recorder->control->trace & NVT_TRACE_COUNTERS) &&
        !nvt_hardware_counters(why, sizeof(why))) {
        facts[4] = NVT_FACT_NO_HARDWARE;
        facts[5] = why;
    }
    nvt_levels_text(recorder->control->trace, levels, sizeof(levels));
    return nvt_facts_write(recorder->output, facts, command, recorder->clock) ||
                   nvt_output_fact(recorder->output, "trace", levels) ||
                   nvt_counter_wish_facts(recorder->control, recorder->output)
               ? nvt_fail(err, "out of memory")
               : 0;
}

/* Whether there is a process that has joined. */
static int find_one(struct standing *standing)
{
    const char *folder = standing->wish->folder;
    standing->known = 0;
    const int is_there = nvt_attached(folder, &standing->known, 1) != 0;
    standing->start = is_there ? nvt_process_start(standing->known) : 0;
    return is_there;
}

static int set_up(struct standing *standing, struct nvt_error *err)
{
    static char *const unknown[] = {"nvtally", "env", NULL};
    struct nvt_recorder *recorder = &standing->recorder;
    const struct nvt_standing_wish *wish = standing->wish;
    snprintf(recorder->folder, sizeof(recorder->folder), "%s", wish->folder);
    if (take_page(recorder, wish->folder, err))
        return -1;
    recorder->output = nvt_output_new(wish->output, COMPRESSION, err);
    if (!recorder->output || (!wish->overwrite && nvt_output_keep(recorder->output, err)))
        return -1;
    recorder->clock = (enum nvt_clock)recorder->control->clock;
    if (find_one(standing))
        standing->command = nvt_attached_command(standing->known);
    char *const *command = standing->command ? standing->command : unknown;
    if (write_facts(standing, command, err) || nvt_recorder_axis(recorder, err) ||
        nvt_output_begin(recorder->output, err))
        return -1;
    begin_epoch(recorder);
    nvt_recorder_watch(recorder);
    nvt_ctl_listen(&standing->live.server, recorder->folder);
    listen_to_signals(recorder->control);
    nvt_record_window_begin(&standing->window, recorder->control, 0, 0);
    nvt_live_begin(&standing->live, recorder, &standing->window, wish->output, command);
    /* No process takes a request of ours for one of a recorder before. */
    standing->live.steps.requests = atomic_load(&recorder->control->epoch) << 16;
    return 0;
}

/* Looking through all processes takes its time: as long as one that is known is there, nobody else is looked for. */
static int is_anybody_left(struct standing *standing)
{
    return (standing->known && nvt_attached_is(standing->recorder.folder, standing->known)) ||
           find_one(standing);
}

static int has_ended(const struct standing *standing)
{
    return standing->known && !nvt_process_is(standing->known, standing->start);
}

static int goes_on(struct standing *standing)
{
    const struct nvt_control *control = standing->recorder.control;
    const int64_t now = nvt_monotonic_ns();
    if (asked_to_end)
        return 0;
    if (now < standing->next_look && !has_ended(standing))
        return 1;
    const int is_open = atomic_load(&control->window) == NVT_WINDOW_OPEN;
    const int is_held = nvt_process_is(control->holder, control->holder_start);
    const int was_asked =
        standing->window.parts > 0 || nvt_live_steps_are_due(&standing->live.steps);
    standing->is_left_alone = !is_anybody_left(standing);
    const int64_t took = nvt_monotonic_ns() - now;
    standing->next_look = now + took * LOOK_PATIENT + LOOK_NS;
    return !standing->is_left_alone || (is_held && (is_open || !was_asked));
}

static void record_until_end(struct standing *standing)
{
    struct nvt_recorder *recorder = &standing->recorder;
    uint64_t taken;
    standing->next_look = nvt_monotonic_ns() + LOOK_NS;
    while (goes_on(standing)) {
        nvt_live_serve(&standing->live);
        nvt_recorder_look(recorder);
        const double fullest = nvt_recorder_drain(recorder, &taken);
        nvt_recorder_housekeeping(recorder);
        const int64_t soon = nvt_monotonic_ns() + SOON_NS;
        recorder->wake_at = standing->next_look < soon ? standing->next_look : soon;
        nvt_recorder_sleep(recorder, fullest, NULL);
    }
    nvt_live_end(&standing->live);
    close_window(recorder->control);
    nvt_recorder_look(recorder);
    recorder->waiting = 0;
    nvt_recorder_adopt(recorder);
    nvt_recorder_close_ended(recorder, 0);
    nvt_recorder_close_ended(recorder, 1);
}

/* 0, or -1 with err. */
static int finish(struct standing *standing, struct nvt_error *err)
{
    struct nvt_recorder *recorder = &standing->recorder;
    const struct nvt_drain_totals *totals = &recorder->totals;
    const uint64_t lost = totals->dropped + totals->nested + totals->unwritten +
                          atomic_load(&recorder->control->homeless);
    nvt_output_clock(recorder->output, recorder->clock, NULL);
    const int failed = nvt_output_close(recorder->output, 0, lost, err);
    recorder->output = NULL;
    if (!totals->error.message[0])
        return failed;
    *err = totals->error;
    return -1;
}

/* The session sleeps again, or, when nobody is there who would use it, goes. */
static void let_go(struct standing *standing)
{
    struct nvt_recorder *recorder = &standing->recorder;
    if (recorder->control && recorder->control->recorder == getpid()) {
        recorder->control->recorder = 0;
        if (!standing->is_left_alone ||
            nvt_process_is(recorder->control->holder, recorder->control->holder_start)) {
            remove_rings(recorder->folder);
            recorder->folder[0] = 0; /* which stays */
        }
    } else
        recorder->folder[0] = 0;
    nvt_recorder_tear_down(recorder);
    free(standing->command);
}

int nvt_standing_record(const struct nvt_standing_wish *wish, void (*ready)(void *context),
                        void *context, struct nvt_error *err)
{
    struct standing *standing = calloc(1, sizeof(*standing));
    char text[NVT_CTL_ANSWER_MOST];
    if (!standing)
        return nvt_fail(err, "out of memory");
    standing->wish = wish;
    standing->recorder = (struct nvt_recorder)NVT_RECORDER_INIT;
    standing->live.server.socket = -1;
    int status = set_up(standing, err);
    if (status && standing->recorder.output)
        nvt_output_discard(standing->recorder.output);
    if (!status) {
        if (wish->opens)
            nvt_live_start(&standing->live, text, sizeof(text));
        ready(context);
        record_until_end(standing);
        status = finish(standing, err);
    }
    let_go(standing);
    free(standing);
    return status;
}
