#include "recorder.h"
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/count_of.h"
#include "../lib/folder.h"
#include "../lib/grow.h"
#include "capture_wish.h"
#include "stale.h"
#include "wake.h"
#include "record_window.h"

#define FLUSH_NS     100000000 /* a killed recorder loses so much at most */
#define REST_NS      INT64_C(5000000000)
#define CLOCK_NS     1000000000 /* between calibrations */
#define LONG_CALL_NS 1000000000 /* a call that takes so long is told of before it ends */
#define NAP_NS       250000     /* shortest sleep */
#define LOOK_NS      2000000    /* longest while the folder is to be read again */
#define IDLE_NS      1000000000 /* a ring that waits for another thread so long goes */
#define CUT_NS       10000000   /* longest while the trace is being cut */

/* --- the session's folder --------------------------------------------------------------------- */

/* The control page's file, with its memory, in a new folder. Its descriptor, or -1. */
static int make_page(const char *folder)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", folder, NVT_CONTROL_NAME);
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int cause = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, sizeof(struct nvt_control));
    if (!cause)
        return descriptor;
    if (descriptor >= 0) {
        close(descriptor);
        unlink(path);
    }
    errno = cause;
    return -1;
}

/* Make the folder in `place`. 0, or -1 with errno. */
static int make_folder_in(struct nvt_recorder *recorder, const char *place)
{
    if (snprintf(recorder->folder, sizeof(recorder->folder), "%s/" NVT_SESSION_PREFIX "XXXXXX",
                 place) >= (int)sizeof(recorder->folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    nvt_stale_remove(place);
    if (!mkdtemp(recorder->folder))
        return -1;
    recorder->lock = make_page(recorder->folder);
    if (recorder->lock >= 0)
        return 0;
    int cause = errno;
    rmdir(recorder->folder);
    errno = cause;
    return -1;
}

int nvt_recorder_folder(struct nvt_recorder *recorder, struct nvt_error *err)
{
    const char *wish = getenv("NVTALLY_TMPDIR");
    const char *places[] = {wish, "/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < NVT_COUNT_OF(places); i++) {
        if (!places[i] || !*places[i])
            continue;
        if (!make_folder_in(recorder, places[i]))
            return 0;
        recorder->folder[0] = 0;
        /* A place that somebody chose is passed over where it is full, not where it is wrong. */
        if (places[i] == wish && errno != ENOSPC)
            return nvt_fail_at(
                err, wish, -1,
                "no private folder can be made for the buffers in it, as NVTALLY_TMPDIR asks: %s",
                strerror(errno));
    }
    return nvt_fail(err, "no private folder can be made in /dev/shm or /tmp: %s", strerror(errno));
}

static uint64_t pid_space(void)
{
    struct stat status;
    return stat(NVT_PID_SPACE, &status) ? 0 : status.st_ino;
}

static int set_capture(struct nvt_control *control, const char *text, struct nvt_error *err)
{
    struct nvt_capture_wish wish;
    if (nvt_capture_wish_parse(text, &wish, err))
        return -1;
    snprintf(control->capture, sizeof(control->capture), "%s", wish.range);
    control->capture_from = wish.from;
    control->capture_to = wish.to;
    return 0;
}

int nvt_recorder_control(struct nvt_recorder *recorder, const struct nvt_record_options *options,
                         struct nvt_error *err)
{
    void *memory = mmap(NULL, sizeof(struct nvt_control), PROT_READ | PROT_WRITE, MAP_SHARED,
                        recorder->lock, 0);
    if (memory == MAP_FAILED)
        return nvt_fail_at(err, recorder->folder, -1, "cannot be mapped: %s", strerror(errno));
    /* Where locks cannot be had, nobody else gets one either, and the folder is left alone. */
    flock(recorder->lock, LOCK_EX | LOCK_NB);
    recorder->control = memory;
    recorder->control->recorder_start = nvt_process_start(getpid());
    recorder->control->pid_space = pid_space();
    recorder->control->version = NVT_SHARED_VERSION;
    recorder->control->recorder = getpid();
    recorder->control->clock = recorder->clock;
    recorder->control->on_full = (uint32_t)options->on_full;
    recorder->control->slots = nvt_ring_slots_of(options->ring_bytes);
    recorder->control->trace = options->trace;
    nvt_record_window_prepare(recorder->control, options->delay_ns, options->duration_ns);
    if (options->is_dormant)
        nvt_record_window_prepare_dormant(recorder->control);
    if (options->capture && set_capture(recorder->control, options->capture, err))
        return -1;
    if (options->iteration) /* of any domain, where none is named */
        snprintf(recorder->control->iteration, sizeof(recorder->control->iteration), "%s%s",
                 options->iteration, strchr(options->iteration, '@') ? "" : "@*");
    nvt_output_tell(recorder->output, &recorder->control->writing, &recorder->control->heartbeat);
    recorder->control->magic = NVT_CONTROL_MAGIC;
    return 0;
}

/* Everything but the control page. 0, or -1 when the folder could not be read to its end. */
static int remove_rings(const struct nvt_recorder *recorder)
{
    DIR *folder = opendir(recorder->folder);
    if (!folder)
        return -1;
    errno = 0;
    for (struct dirent *entry; (entry = nvt_folder_next(folder)); errno = 0)
        if (strcmp(entry->d_name, NVT_CONTROL_NAME))
            unlinkat(dirfd(folder), entry->d_name, 0);
    int status = errno ? -1 : 0;
    closedir(folder);
    return status;
}

void nvt_recorder_remove(struct nvt_recorder *recorder)
{
    if (!recorder->folder[0])
        return;
    /* The control page goes last: killed in between, we leave a folder that a later recorder
     * removes. Without memory to read the folder it is all that is left, as rings go when they are
     * closed. */
    char control[300];
    snprintf(control, sizeof(control), "%s/%s", recorder->folder, NVT_CONTROL_NAME);
    if (remove_rings(recorder))
        remove_rings(recorder);
    unlink(control);
    rmdir(recorder->folder);
}

/* --- rings ------------------------------------------------------------------------------------ */

static int is_known(const struct nvt_recorder *recorder, const char *path)
{
    for (size_t i = 0; i < recorder->count; i++)
        if (!strcmp(nvt_drain_path(recorder->drains[i]), path))
            return 1;
    return 0;
}

static void keep(struct nvt_recorder *recorder, struct nvt_drain *drain)
{
    struct nvt_owner owner;
    uint32_t process = nvt_drain_owner(drain, &owner);
    nvt_owners_add(&recorder->owners, process, &owner);
    recorder->drains[recorder->count++] = drain;
}

/* A ring that is not known, if it is one. */
static void adopt_new(struct nvt_recorder *recorder, const char *name)
{
    char path[PATH_MAX];
    struct nvt_drain *drain;
    if (strncmp(name, NVT_RING_PREFIX, strlen(NVT_RING_PREFIX)))
        return;
    snprintf(path, sizeof(path), "%s/%s", recorder->folder, name);
    if (nvt_grow(&recorder->drains, recorder->count, sizeof(*recorder->drains))) {
        recorder->waiting = 1;
        return;
    }
    errno = 0;
    if (nvt_drain_open(path, recorder->output, &drain, NULL)) {
        unlink(path);
    } else if (drain) {
        keep(recorder, drain);
    } else {
        recorder->unread_cause = errno;
        recorder->waiting = 1;
    }
}

static void adopt(struct nvt_recorder *recorder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", recorder->folder, name);
    if (!is_known(recorder, path))
        adopt_new(recorder, name);
}

void nvt_recorder_adopt(struct nvt_recorder *recorder)
{
    DIR *folder = opendir(recorder->folder);
    recorder->folder_read = 1;
    if (!folder)
        recorder->waiting = 1;
    for (struct dirent *entry; folder && (entry = nvt_folder_next(folder));)
        adopt(recorder, entry->d_name);
    if (folder)
        closedir(folder);
}

/* Whether a ring that was not adopted is one that its thread has made ready, or nobody can say. */
static int is_missing(const char *path)
{
    uint32_t magic = 0;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return 1;
    const ssize_t got =
        pread(descriptor, &magic, sizeof(magic), (off_t)offsetof(struct nvt_ring, magic));
    close(descriptor);
    return got == (ssize_t)sizeof(magic) && magic == NVT_RING_MAGIC;
}

int nvt_recorder_missing(const struct nvt_recorder *recorder)
{
    char path[PATH_MAX];
    int missing = 0;
    DIR *folder = opendir(recorder->folder);
    for (struct dirent *entry; folder && (entry = nvt_folder_next(folder));) {
        snprintf(path, sizeof(path), "%s/%s", recorder->folder, entry->d_name);
        const int is_ring = !strncmp(entry->d_name, NVT_RING_PREFIX, strlen(NVT_RING_PREFIX));
        missing += is_ring && !is_known(recorder, path) && is_missing(path);
    }
    if (folder)
        closedir(folder);
    return missing;
}

/* The rings that one reading of the watch tells of, which are ready. Whether some may be missing. */
static int adopt_told(struct nvt_recorder *recorder, const char *events, size_t size)
{
    int missing = 0;
    for (size_t at = 0; at + sizeof(struct inotify_event) <= size;) {
        const struct inotify_event *event =
            (const struct inotify_event *)(const void *)(events + at);
        if (event->mask & IN_Q_OVERFLOW)
            missing = 1;
        else if (event->len && recorder->folder_read)
            adopt(recorder, event->name);
        else if (event->len)
            adopt_new(recorder, event->name);
        at += sizeof(*event) + event->len;
    }
    return missing;
}

/* New rings, when the folder has changed since the last look. It is read as a whole only where some may have been
 * missed or were not ready: with many threads that takes its time. */
void nvt_recorder_look(struct nvt_recorder *recorder)
{
    _Alignas(struct inotify_event) char events[4096];
    int again = recorder->watch < 0 || recorder->waiting;
    ssize_t size;
    while (recorder->watch >= 0 && (size = read(recorder->watch, events, sizeof(events))) > 0)
        again |= adopt_told(recorder, events, (size_t)size);
    recorder->folder_read = 0;
    if (!again)
        return;
    recorder->waiting = 0;
    nvt_recorder_adopt(recorder);
}

/* One round over all rings. Returns how full the fullest was; *taken gets the slots drained. */
double nvt_recorder_drain(struct nvt_recorder *recorder, uint64_t *taken)
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

/* Of processes that are not seen it is not known. */
static int is_over(const struct nvt_recorder *recorder, const struct nvt_drain *drain,
                   int *is_foreign)
{
    struct nvt_owner owner;
    uint32_t process = nvt_drain_owner(drain, &owner);
    *is_foreign = owner.foreign;
    return nvt_drain_is_over(drain) || nvt_owners_has_ended(&recorder->owners, process);
}

/* Forget rings whose thread or process has ended, or that no thread has wanted for so long. */
static void close_ended(struct nvt_recorder *recorder, int all, int64_t patience_ns)
{
    nvt_owners_look(&recorder->owners);
    for (size_t i = 0; i < recorder->count;) {
        struct nvt_drain *drain = recorder->drains[i];
        int is_foreign, lives = !is_over(recorder, drain, &is_foreign);
        const uint64_t ticks = nvt_ticks(recorder->clock);
        lives = lives && !nvt_drain_is_left(drain, ticks, patience_ns);
        if (!all && lives) {
            i++;
            continue;
        }
        while (nvt_drain_take(drain)) {
        }
        atomic_fetch_sub(&recorder->control->taken, nvt_drain_bytes(drain));
        nvt_drain_close(drain, nvt_ticks(recorder->clock), lives && !is_foreign, &recorder->totals);
        recorder->drains[i] = recorder->drains[--recorder->count];
    }
    atomic_fetch_add(&recorder->control->cleared, 1);
}

void nvt_recorder_close_ended(struct nvt_recorder *recorder, int all)
{
    close_ended(recorder, all, all ? 0 : IDLE_NS);
}

/* Calls of the system that go on and on, and will have a row of their own once they have ended; `all`: even if they had one a moment
 * ago. */
static void take_long_calls(struct nvt_recorder *recorder, int all)
{
    const struct nvt_control *control = recorder->control;
    uint64_t least = nvt_output_ticks(recorder->output, recorder->clock, LONG_CALL_NS);
    if (!(control->trace & NVT_TRACE_OSRT) || control->capture[0] ||
        atomic_load(&control->window) != NVT_WINDOW_OPEN)
        return;
    int64_t age = nvt_output_age(recorder->output);
    /* So there is always one that is young enough to be kept. */
    uint64_t most = age ? nvt_output_ticks(recorder->output, recorder->clock, age / 2) : UINT64_MAX;
    most = all ? 0 : most;
    least = least < control->os_threshold ? control->os_threshold : least;
    uint64_t now = nvt_ticks(recorder->clock), cuts = nvt_output_cuts(recorder->output);
    for (size_t i = 0; i < recorder->count; i++) {
        if (cuts != recorder->was_cut)
            nvt_drain_was_cut(recorder->drains[i]);
        nvt_drain_take_long_call(recorder->drains[i], now, least, most);
    }
    recorder->was_cut = cuts;
}

/* What runs goes on in memory that has no name any more. */
static void note_removal(struct nvt_recorder *recorder)
{
    char page[sizeof(recorder->folder) + sizeof(NVT_CONTROL_NAME) + 1];
    snprintf(page, sizeof(page), "%s/" NVT_CONTROL_NAME, recorder->folder);
    recorder->is_removed |= access(page, F_OK) && errno == ENOENT;
}

void nvt_recorder_note_waits(struct nvt_recorder *recorder)
{
    if (atomic_load(&recorder->control->window) != NVT_WINDOW_OPEN)
        return;
    take_long_calls(recorder, 1);
    nvt_look(&recorder->owners, recorder->output, nvt_ticks(recorder->clock));
}

void nvt_recorder_housekeeping(struct nvt_recorder *recorder)
{
    int64_t now = nvt_monotonic_ns();
    if (atomic_load_explicit(&recorder->control->asked, memory_order_relaxed) &&
        atomic_exchange(&recorder->control->asked, 0))
        close_ended(recorder, 0, 0);
    recorder->cuts = nvt_output_cut(recorder->output, recorder->clock);
    if (now < recorder->next_flush)
        return;
    recorder->next_flush = now + (recorder->rests ? REST_NS : FLUSH_NS);
    take_long_calls(recorder, 0);
    for (size_t i = 0; i < recorder->count; i++)
        nvt_drain_flush(recorder->drains[i], 1);
    nvt_recorder_close_ended(recorder, 0);
    if (now >= recorder->next_clock) {
        recorder->next_clock = now + CLOCK_NS;
        nvt_output_clock(recorder->output, recorder->clock, NULL);
        note_removal(recorder);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static int listen_to_refusals(const char *folder)
{
    struct sockaddr_un address;
    socklen_t length = nvt_refusal_address(folder, &address);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 && bind(descriptor, (struct sockaddr *)&address, length)) {
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

int nvt_recorder_refusals(const struct nvt_recorder *recorder, struct nvt_refusal *first)
{
    struct nvt_refusal refusal;
    int count = 0;
    while (recorder->refusals >= 0 &&
           recv(recorder->refusals, &refusal, sizeof(refusal), 0) == sizeof(refusal)) {
        refusal.name[sizeof(refusal.name) - 1] = 0;
        if (!count++)
            *first = refusal;
    }
    return count;
}

void nvt_recorder_watch(struct nvt_recorder *recorder)
{
    recorder->refusals = listen_to_refusals(recorder->folder);
    recorder->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (recorder->watch >= 0 &&
        inotify_add_watch(recorder->watch, recorder->folder, IN_MOVED_TO) < 0) {
        close(recorder->watch);
        recorder->watch = -1;
    }
}

static int64_t sleep_for(struct nvt_recorder *recorder, double fullest)
{
    int64_t now = nvt_monotonic_ns(), since = now - recorder->last_look;
    int look_again = recorder->watch < 0 || recorder->waiting;
    int64_t longest = look_again ? LOOK_NS : recorder->next_flush - now;
    if (recorder->cuts && longest > CUT_NS)
        longest = CUT_NS;
    if (recorder->is_urgent && longest > LOOK_NS)
        longest = LOOK_NS;
    if (recorder->wake_at && longest > recorder->wake_at - now)
        longest = recorder->wake_at - now;
    recorder->last_look = now;
    if (fullest >= NVT_RECORDER_BUSY_FILL)
        return 0;
    double until_busy = (double)since * NVT_RECORDER_BUSY_FILL;
    int64_t ns = until_busy < fullest * (double)longest ? (int64_t)(until_busy / fullest) : longest;
    return ns > NAP_NS ? ns : NAP_NS;
}

void nvt_recorder_sleep(struct nvt_recorder *recorder, double fullest, const sigset_t *hearing)
{
    int64_t ns = sleep_for(recorder, fullest);
    struct timespec limit = {ns / 1000000000, ns % 1000000000};
    sigset_t before;
    if (!ns)
        return;
    /* First the word, then the signals: one that comes in between clears it, and we do not wait. */
    atomic_store(&recorder->control->asleep, 1);
    if (hearing)
        sigprocmask(SIG_SETMASK, hearing, &before);
    nvt_control_sleep(recorder->control, &limit);
    if (hearing)
        sigprocmask(SIG_SETMASK, &before, NULL);
}

int nvt_recorder_axis(struct nvt_recorder *recorder, struct nvt_error *err)
{
    /* Two moments, so that a trace cut right after its start has a time axis too. */
    if (nvt_output_clock(recorder->output, recorder->clock, err))
        return -1;
    usleep(2000);
    return nvt_output_clock(recorder->output, recorder->clock, err);
}

void nvt_recorder_tear_down(struct nvt_recorder *recorder)
{
    if (recorder->watch >= 0)
        close(recorder->watch);
    if (recorder->refusals >= 0)
        close(recorder->refusals);
    if (recorder->control)
        munmap(recorder->control, sizeof(*recorder->control));
    nvt_recorder_remove(recorder);
    if (recorder->lock >= 0)
        close(recorder->lock);
    nvt_owners_free(&recorder->owners);
    free(recorder->drains);
    *recorder = (struct nvt_recorder)NVT_RECORDER_INIT;
}
