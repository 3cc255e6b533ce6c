#include "edition.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "../../lib/clock.h"

enum { LOOKS_MS = 500, PAUSE = 9 /* times that reading took */ };
/* Of .nvt files, half a million events or so. */
enum { BEGINNING = 2 << 20 };

struct nvt_editions {
    struct nvt_edition_source source;
    int is_watched; /* there is a watcher */
    struct nvt_edition *current;
    pthread_mutex_t lock; /* of `current`, its users and `ends` */
    pthread_cond_t wakes;
    pthread_t watcher;
    int ends;
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
                status.st_mtim.tv_sec >= moment - 1)
                return 1;
        }
    return 0;
}

/* A new one. NULL with err. */
static struct nvt_edition *read_edition(const struct nvt_editions *editions, uint64_t number,
                                        int64_t beginning, struct nvt_error *err)
{
    struct nvt_edition *edition = calloc(1, sizeof(*edition));
    if (!edition) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&edition->lock, NULL);
    edition->number = number;
    edition->is_beginning = beginning != 0;
    edition->viewer = &edition->own;
    const int sides =
        editions->source.read(editions->source.context, beginning, edition->inputs, err);
    if (sides < 0 || nvt_viewer_make(&edition->own, edition->inputs, (size_t)sides, err)) {
        free_edition(edition);
        return NULL;
    }
    return edition;
}

/* Whether it ends before then. */
static int wait_ms(struct nvt_editions *editions, int64_t milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
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
    pthread_mutex_unlock(&editions->lock);
    if (is_free)
        free_edition(before);
}

/* Behind the beginning. */
static void read_whole(struct nvt_editions *editions)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const time_t begin = time(NULL);
    struct nvt_edition *whole = read_edition(editions, 2, 0, &err);
    editions->source.is_whole(editions->source.context, whole, &err);
    if (!whole)
        return;
    if (!has_changed_since(whole, begin))
        editions->signature = signature_of(whole);
    replace(editions, whole);
}

/* What cannot be read now, such as a file that is just being replaced, leaves the edition as it is. */
static void *watch(void *context)
{
    struct nvt_editions *editions = context;
    int64_t pause = LOOKS_MS;
    if (editions->current->is_beginning)
        read_whole(editions);
    while (!wait_ms(editions, pause)) {
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_edition *edition = nvt_edition_take(editions), *next = NULL;
        const uint64_t number = edition->number, signature = signature_of(edition);
        const int64_t begin = nvt_monotonic_ns();
        nvt_edition_release(editions, edition);
        pause = LOOKS_MS;
        if (signature == editions->signature)
            continue;
        editions->signature = signature;
        next = read_edition(editions, number + 1, 0, &err);
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
    const time_t begin = time(NULL);
    editions->current = read_edition(editions, 1, BEGINNING, &ignored);
    if (!editions->current && (editions->current = read_edition(editions, 1, 0, err))) {
        /* What was written meanwhile may not have been read. */
        if (!has_changed_since(editions->current, begin))
            editions->signature = signature_of(editions->current);
        source->is_whole(source->context, editions->current, NULL);
    }
    if (editions->current) {
        editions->is_watched = 1;
        if (!start_watcher(editions))
            return editions;
        editions->is_watched = 0;
        nvt_fail(err, "view: a thread cannot be started");
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
        free_edition(editions->current);
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
        free_edition(edition);
}

int nvt_edition_findings(struct nvt_edition *edition, struct nvt_buffer *out)
{
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
