#include "edition.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../lib/clock.h"
#include "../../lib/json.h"
#include "../../lib/keyed_number.h"

enum { LOOKS_MS = 500, PAUSE = 9 /* times that reading took */ };
/* Of .nvt files, half a million events or so. */
enum { BEGINNING = 2 << 20 };

struct nvt_editions {
    struct nvt_edition_source source;
    int is_watched; /* there is a watcher */
    struct nvt_edition *current;
    pthread_mutex_t lock; /* of what follows, of `current`, its users and lacks_path */
    pthread_cond_t wakes; /* the watcher, or who waits for the first edition */
    pthread_t watcher;
    int ends, is_reading;     /* the watcher makes an edition */
    int is_late;              /* nobody waits for the first edition any longer */
    int64_t read_before;      /* bytes that this process had read before the files */
    struct nvt_error failure; /* of reading the first edition, or the rest of it */
    int has_failed;
    uint64_t signature; /* of the files as they were before they were read */
};

static void free_edition(struct nvt_edition *edition)
{
    nvt_viewer_free(&edition->own);
    for (size_t i = 0; i < NVT_VIEW_SIDES; i++)
        nvt_input_free(&edition->inputs[i]);
    nvt_buffer_free(&edition->findings);
    pthread_mutex_destroy(&edition->lock);
    free(edition);
}

/* One that nobody has, and what it is based on. */
static void drop(struct nvt_editions *editions, struct nvt_edition *edition)
{
    struct nvt_edition *base = edition->base;
    free_edition(edition);
    if (base)
        nvt_edition_release(editions, base);
}

static uint64_t signature_of(const struct nvt_edition *edition)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < NVT_VIEW_SIDES; i++)
        sum = 31 * sum + nvt_input_signature(&edition->inputs[i]);
    return sum;
}

/* Whether any of its files has changed since a moment, or a second before that: file systems' times are coarse. */
static int has_changed_since(const struct nvt_edition *edition, time_t moment)
{
    for (size_t s = 0; s < NVT_VIEW_SIDES; s++)
        for (size_t i = 0; i < edition->inputs[s].trace_count; i++) {
            struct stat status;
            if (!stat(edition->inputs[s].traces[i].trace->path, &status) &&
                S_ISREG(status.st_mode) && status.st_mtim.tv_sec >= moment - 1)
                return 1;
        }
    return 0;
}

static struct nvt_edition *new_edition(uint64_t number)
{
    struct nvt_edition *edition = calloc(1, sizeof(*edition));
    if (edition) {
        pthread_mutex_init(&edition->lock, NULL);
        edition->number = number;
    }
    return edition;
}

/* Whether the page is there, and waits. */
static int is_late(struct nvt_editions *editions)
{
    pthread_mutex_lock(&editions->lock);
    const int late = editions->is_late;
    pthread_mutex_unlock(&editions->lock);
    return late;
}

/* A new one; where the page waits for it, without the critical path. NULL with err. */
static struct nvt_edition *read_edition(struct nvt_editions *editions, uint64_t number,
                                        int64_t beginning, int may_lack_path, struct nvt_error *err)
{
    struct nvt_edition *edition = new_edition(number);
    if (!edition) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    edition->is_beginning = beginning != 0;
    edition->viewer = &edition->own;
    const int sides =
        editions->source.read(editions->source.context, beginning, edition->inputs, err);
    edition->lacks_path = may_lack_path && is_late(editions);
    if (sides < 0 || (edition->lacks_path ? nvt_viewer_make_lanes : nvt_viewer_make)(
                         &edition->own, edition->inputs, (size_t)sides, err)) {
        free_edition(edition);
        return NULL;
    }
    return edition;
}

/* The moment so many milliseconds from now. */
static void in_ms(int64_t milliseconds, struct timespec *moment)
{
    clock_gettime(CLOCK_MONOTONIC, moment);
    moment->tv_sec += milliseconds / 1000;
    moment->tv_nsec += milliseconds % 1000 * 1000000;
    moment->tv_sec += moment->tv_nsec / 1000000000;
    moment->tv_nsec %= 1000000000;
}

/* Whether it ends before then. */
static int wait_ms(struct nvt_editions *editions, int64_t milliseconds)
{
    struct timespec until;
    in_ms(milliseconds, &until);
    pthread_mutex_lock(&editions->lock);
    while (!editions->ends &&
           pthread_cond_timedwait(&editions->wakes, &editions->lock, &until) != ETIMEDOUT)
        ;
    const int ends = editions->ends;
    pthread_mutex_unlock(&editions->lock);
    return ends;
}

/* Put an edition into the place of the one before. */
static void replace(struct nvt_editions *editions, struct nvt_edition *next)
{
    pthread_mutex_lock(&editions->lock);
    struct nvt_edition *before = editions->current;
    editions->current = next;
    const int is_free = !before->users;
    pthread_cond_broadcast(&editions->wakes);
    pthread_mutex_unlock(&editions->lock);
    if (is_free)
        drop(editions, before);
}

/* The same with the critical path. */
static void add_path(struct nvt_editions *editions, struct nvt_edition *base)
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    struct nvt_edition *next = new_edition(base->number + 1);
    if (next)
        next->viewer = &next->own;
    if (next && !nvt_viewer_add_path(&next->own, base->viewer, &ignored)) {
        next->base = nvt_edition_take(editions); /* which is the current one */
        replace(editions, next);
        return;
    }
    if (next)
        free_edition(next);
    pthread_mutex_lock(&editions->lock);
    base->lacks_path = 0;
    pthread_mutex_unlock(&editions->lock);
}

/* Whether nobody waits for the first edition any longer. */
static int fail(struct nvt_editions *editions, const struct nvt_error *err)
{
    pthread_mutex_lock(&editions->lock);
    const int late = editions->is_late;
    editions->failure = *err;
    editions->has_failed = 1;
    pthread_cond_broadcast(&editions->wakes);
    pthread_mutex_unlock(&editions->lock);
    return late;
}

/* The first edition, or that behind the beginning. 0, or -1: there will be none. */
static int read_whole(struct nvt_editions *editions)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const time_t begin = time(NULL);
    const struct nvt_edition *before = editions->current;
    struct nvt_edition *whole = read_edition(editions, before->number + 1, 0, 1, &err);
    const int is_first = !before->number;
    if (!whole) {
        editions->signature = signature_of(before);
        if (fail(editions, &err))
            editions->source.is_whole(editions->source.context, NULL, &err);
        return is_first ? -1 : 0;
    }
    /* What was written meanwhile may not have been read. */
    if (!has_changed_since(whole, begin))
        editions->signature = signature_of(whole);
    const int lacks_path = whole->lacks_path;
    editions->source.is_whole(editions->source.context, whole, &err);
    replace(editions, whole);
    if (lacks_path)
        add_path(editions, whole);
    return 0;
}

static void set_reading(struct nvt_editions *editions, int is_reading)
{
    pthread_mutex_lock(&editions->lock);
    editions->is_reading = is_reading;
    pthread_mutex_unlock(&editions->lock);
}

/* What cannot be read now, such as a file that is just being replaced, leaves the edition as it is. */
static void *watch(void *context)
{
    struct nvt_editions *editions = context;
    int64_t pause = LOOKS_MS;
    const int status = read_whole(editions);
    set_reading(editions, 0);
    if (status)
        return NULL;
    while (!wait_ms(editions, pause)) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_edition *edition = nvt_edition_take(editions), *next = NULL;
        const uint64_t number = edition->number,
                       signature = signature_of(edition->base ? edition->base : edition);
        const int64_t begin = nvt_monotonic_ns();
        nvt_edition_release(editions, edition);
        pause = LOOKS_MS;
        if (signature == editions->signature)
            continue;
        editions->signature = signature;
        set_reading(editions, 1);
        next = read_edition(editions, number + 1, 0, 0, &err);
        set_reading(editions, 0);
        pause += PAUSE * (nvt_monotonic_ns() - begin) / 1000000;
        if (next)
            replace(editions, next);
    }
    return NULL;
}

static struct nvt_editions *new_editions(void)
{
    struct nvt_editions *editions = calloc(1, sizeof(*editions));
    pthread_condattr_t monotonic;
    if (!editions)
        return NULL;
    pthread_mutex_init(&editions->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&editions->wakes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return editions;
}

/* 0, or what pthread_create says. */
static int start_watcher(struct nvt_editions *editions)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int status = pthread_create(&editions->watcher, NULL, watch, editions);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Bytes that this process has read, of whatever; 0: unknown. */
static int64_t bytes_read(void)
{
    uint64_t bytes = 0;
    (void)nvt_keyed_number("/proc/self/io", "rchar:", 10, &bytes);
    return (int64_t)bytes;
}

/* Until the first edition is there, or patience ends. 0, or -1 with err: there will be none. */
static int wait_for_first(struct nvt_editions *editions, struct nvt_error *err)
{
    struct timespec until;
    in_ms(editions->source.patience_ms, &until);
    pthread_mutex_lock(&editions->lock);
    while (!editions->current->number && !editions->has_failed &&
           pthread_cond_timedwait(&editions->wakes, &editions->lock, &until) != ETIMEDOUT)
        ;
    editions->is_late = 1;
    const int has_failed = editions->has_failed;
    if (has_failed && err)
        *err = editions->failure;
    pthread_mutex_unlock(&editions->lock);
    return has_failed ? -1 : 0;
}

struct nvt_editions *nvt_editions_read(const struct nvt_edition_source *source,
                                       struct nvt_error *err)
{
    struct nvt_editions *editions = new_editions();
    if (!editions) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    struct nvt_error ignored = NVT_ERROR_INIT;
    editions->source = *source;
    editions->read_before = bytes_read();
    editions->current = read_edition(editions, 1, BEGINNING, 0, &ignored);
    editions->is_late = editions->current != NULL;
    editions->is_reading = 1;
    if (!editions->current)
        editions->current = new_edition(0);
    if (!editions->current)
        nvt_fail(err, "out of memory");
    else if (start_watcher(editions))
        nvt_fail(err, "view: a thread cannot be started");
    else {
        editions->is_watched = 1;
        if (editions->is_late || !wait_for_first(editions, err))
            return editions;
    }
    nvt_editions_free(editions);
    return NULL;
}

struct nvt_editions *nvt_editions_of(const struct nvt_viewer *viewer)
{
    struct nvt_editions *editions = new_editions();
    struct nvt_edition *edition = editions ? calloc(1, sizeof(*edition)) : NULL;
    if (!edition) {
        nvt_editions_free(editions);
        return NULL;
    }
    pthread_mutex_init(&edition->lock, NULL);
    edition->number = 1;
    edition->viewer = viewer;
    editions->current = edition;
    return editions;
}

void nvt_editions_free(struct nvt_editions *editions)
{
    if (!editions)
        return;
    pthread_mutex_lock(&editions->lock);
    editions->ends = 1;
    pthread_cond_signal(&editions->wakes);
    pthread_mutex_unlock(&editions->lock);
    if (editions->is_watched)
        pthread_join(editions->watcher, NULL);
    if (editions->current)
        drop(editions, editions->current);
    pthread_cond_destroy(&editions->wakes);
    pthread_mutex_destroy(&editions->lock);
    free(editions);
}

struct nvt_edition *nvt_edition_take(struct nvt_editions *editions)
{
    pthread_mutex_lock(&editions->lock);
    struct nvt_edition *edition = editions->current;
    edition->users++;
    pthread_mutex_unlock(&editions->lock);
    return edition;
}

void nvt_edition_release(struct nvt_editions *editions, struct nvt_edition *edition)
{
    pthread_mutex_lock(&editions->lock);
    const int is_last = !--edition->users && edition != editions->current;
    pthread_mutex_unlock(&editions->lock);
    if (is_last)
        drop(editions, edition);
}

int nvt_editions_are_reading(struct nvt_editions *editions)
{
    pthread_mutex_lock(&editions->lock);
    const int reads = editions->is_reading;
    pthread_mutex_unlock(&editions->lock);
    return reads;
}

int nvt_edition_state(struct nvt_editions *editions, const struct nvt_edition *edition,
                      struct nvt_buffer *out)
{
    pthread_mutex_lock(&editions->lock);
    const int has_failed = editions->has_failed && (!edition->number || edition->is_beginning);
    nvt_buffer_printf(
        out, "{\"edition\":%" PRIu64 ",\"is_beginning\":%d,\"lacks_path\":%d,\"same\":%d",
        edition->number, edition->is_beginning, edition->lacks_path, edition->base != NULL);
    if (has_failed) {
        nvt_buffer_printf(out, ",\"failed\":");
        nvt_json_quote(out, editions->failure.message);
    } else if (!edition->number || edition->is_beginning) {
        const int64_t read = bytes_read() - editions->read_before, bytes = editions->source.bytes;
        nvt_buffer_printf(out, ",\"read\":%" PRId64 ",\"bytes\":%" PRId64,
                          bytes && read > bytes ? bytes : read, bytes);
    }
    pthread_mutex_unlock(&editions->lock);
    return nvt_buffer_printf(out, "}\n");
}

int nvt_edition_findings(struct nvt_edition *edition, struct nvt_buffer *out)
{
    edition = edition->base ? edition->base : edition;
    pthread_mutex_lock(&edition->lock);
    if (!edition->has_findings)
        edition->findings_status = nvt_answer_findings(edition->viewer, &edition->findings);
    edition->has_findings = 1;
    int status = edition->findings_status;
    if (!status)
        status = nvt_buffer_append(out, edition->findings.data, edition->findings.size);
    pthread_mutex_unlock(&edition->lock);
    return status;
}
