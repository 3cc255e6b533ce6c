#include "machine_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/count_of.h"
#include "../lib/grow.h"
#include "helper_thread.h"
#include "machine_processes.h"
#include "ring.h"

#define PERIOD_NS     INT64_C(100000000)
#define ROUNDS_REST   50 /* a round is followed by that many times its length, at least */
#define CHUNK_NS      INT64_C(1000000000) /* samples of so long are worth a chunk */
#define STOP_NS       INT64_C(1000000000) /* the longest wait for the thread's end */
#define MOMENTS_MOST  1024                /* that wait to be written; later ones are dropped */
#define FOLLOWED_MOST 256

/* Samplers have two owners, the recorder and the thread: the last one frees it. */
struct nvt_machine {
    enum nvt_clock clock;
    uint64_t trace;       /* enum nvt_trace_what */
    uint32_t seen;        /* owners that were looked at, by the recorder alone */
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    int owners, stopping, ended, failed; /* for want of memory */
    /* What a moment has values of: of all sources, known when `open`. */
    int is_open, is_told; /* `absent` has been written */
    struct nvt_machine_series *series;
    size_t series_count;
    struct nvt_buffer absent; /* lines joined by "; " */
    /* Since the last chunk. */
    uint64_t ticks[MOMENTS_MOST];
    size_t moments;
    double *values; /* [MOMENTS_MOST][series_count] */
    int64_t begun;  /* CLOCK_MONOTONIC of the first of them */
    struct nvt_followed *followed[FOLLOWED_MOST];
    size_t followed_count;
    int64_t followed_due; /* CLOCK_MONOTONIC: when what was sampled of them is worth a chunk */
};

/* --- sources -------------------------------------------------------------------------------------------- */

struct nvt_machine_series *nvt_machine_add_series(struct nvt_machine_source *source,
                                                  const struct nvt_machine_quantity *quantity)
{
    if (nvt_grow(&source->series, source->count, sizeof(*source->series)))
        return NULL;
    source->series[source->count] = (struct nvt_machine_series){.quantity = quantity};
    return &source->series[source->count++];
}

void nvt_machine_close_source(struct nvt_machine_source *source)
{
    if (source->state)
        source->close(source);
    free(source->series);
    *source = (struct nvt_machine_source){0};
}

#define COUNT_SOURCE(name) +1
enum { SOURCES = 0 NVT_MACHINE_SOURCES(COUNT_SOURCE) };
#define OPEN_SOURCE(name) nvt_machine_open_##name,
static int (*const open_source[])(struct nvt_machine_source *) = {NVT_MACHINE_SOURCES(OPEN_SOURCE)};

/* --- the thread ----------------------------------------------------------------------------------------- */

static void give_up(struct nvt_machine *machine)
{
    pthread_mutex_lock(&machine->lock);
    int left = --machine->owners;
    machine->ended = 1;
    pthread_cond_broadcast(&machine->changed);
    pthread_mutex_unlock(&machine->lock);
    if (left)
        return;
    pthread_cond_destroy(&machine->changed);
    pthread_mutex_destroy(&machine->lock);
    nvt_buffer_free(&machine->absent);
    for (size_t i = 0; i < machine->followed_count; i++) {
        nvt_followed_close(machine->followed[i]);
        free(machine->followed[i]);
    }
    free(machine->series);
    free(machine->values);
    free(machine);
}

/* What there is to be sampled is known: the recorder may look at it. 0, or -1 when out of memory. */
static int publish(struct nvt_machine *machine, const struct nvt_machine_source *sources)
{
    size_t count = 0, at = 0;
    for (int i = 0; i < SOURCES; i++)
        count += sources[i].count;
    machine->series = calloc(count + 1, sizeof(*machine->series));
    machine->values = calloc(MOMENTS_MOST * count + 1, sizeof(*machine->values));
    if (!machine->series || !machine->values)
        return -1;
    for (int i = 0; i < SOURCES; i++) {
        if (sources[i].count)
            memcpy(machine->series + at, sources[i].series,
                   sources[i].count * sizeof(*machine->series));
        at += sources[i].count;
        if (*sources[i].absent &&
            nvt_buffer_printf(&machine->absent, "%s%s", machine->absent.size ? "; " : "",
                              sources[i].absent))
            return -1;
    }
    pthread_mutex_lock(&machine->lock);
    machine->series_count = count;
    machine->is_open = 1;
    pthread_mutex_unlock(&machine->lock);
    return 0;
}

static void sample(struct nvt_machine *machine, struct nvt_machine_source *sources, double *values)
{
    size_t at = 0;
    uint64_t ticks = nvt_ticks(machine->clock);
    for (int i = 0; i < SOURCES; i++) {
        if (sources[i].count)
            sources[i].read(&sources[i], values + at);
        at += sources[i].count;
    }
    pthread_mutex_lock(&machine->lock);
    if (machine->moments < MOMENTS_MOST) {
        if (!machine->moments)
            machine->begun = nvt_monotonic_ns();
        memcpy(machine->values + machine->moments * at, values, at * sizeof(*values));
        machine->ticks[machine->moments++] = ticks;
    }
    pthread_mutex_unlock(&machine->lock);
}

/* Sleep until the next round is due. Whether there is to be one. */
static int rest(struct nvt_machine *machine, int64_t round_ns)
{
    int64_t until = nvt_monotonic_ns() +
                    (round_ns * ROUNDS_REST > PERIOD_NS ? round_ns * ROUNDS_REST : PERIOD_NS);
    const struct timespec moment = {until / 1000000000, until % 1000000000};
    int status = 0;
    pthread_mutex_lock(&machine->lock);
    while (!machine->stopping && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&machine->changed, &machine->lock, &moment);
    int goes_on = !machine->stopping;
    pthread_mutex_unlock(&machine->lock);
    return goes_on;
}

/* One that is followed. It stays where it is until the last owner frees all; the lock is held for what others touch. Returns
 * how long the kernel walked over its pages. */
static int64_t sample_process(struct nvt_machine *machine, struct nvt_followed *followed)
{
    double values[NVT_MACHINE_PROCESS_COUNT];
    int64_t walk_ns;
    const uint64_t ticks = nvt_ticks(machine->clock);
    pthread_mutex_lock(&machine->lock);
    const int is_over = followed->is_over;
    pthread_mutex_unlock(&machine->lock);
    if (is_over)
        nvt_followed_close(followed);
    if (followed->folder < 0 || !nvt_followed_read(followed, values, &walk_ns))
        return 0;
    pthread_mutex_lock(&machine->lock);
    const size_t most = NVT_COUNT_OF(followed->ticks);
    if (followed->moments < most) {
        followed->ticks[followed->moments] = ticks;
        memcpy(followed->values[followed->moments++], values, sizeof(values));
    }
    pthread_mutex_unlock(&machine->lock);
    return walk_ns;
}

/* What takes no part in how often there is a round, as it is seldom, is returned: ns. */
static int64_t sample_processes(struct nvt_machine *machine)
{
    int64_t walk_ns = 0;
    pthread_mutex_lock(&machine->lock);
    const size_t count = machine->followed_count;
    pthread_mutex_unlock(&machine->lock);
    for (size_t i = 0; i < count; i++)
        walk_ns += sample_process(machine, machine->followed[i]);
    return walk_ns;
}

static void run_rounds(struct nvt_machine *machine, struct nvt_machine_source *sources,
                       double *values)
{
    for (int goes_on = 1; goes_on;) {
        int64_t start = nvt_monotonic_ns(), walk_ns = 0;
        if (machine->series_count)
            sample(machine, sources, values);
        walk_ns = sample_processes(machine);
        goes_on = rest(machine, nvt_monotonic_ns() - start - walk_ns);
        if (!goes_on && machine->series_count)
            sample(machine, sources, values);
    }
}

static void *run(void *argument)
{
    struct nvt_machine *machine = argument;
    struct nvt_machine_source sources[SOURCES] = {{0}};
    int failed = 0;
    for (int i = 0; i < SOURCES && machine->trace & NVT_TRACE_MACHINE && !failed; i++)
        failed = open_source[i](&sources[i]);
    failed = failed || publish(machine, sources);
    double *values = failed ? NULL : malloc((machine->series_count + 1) * sizeof(*values));
    if (values)
        run_rounds(machine, sources, values);
    machine->failed = !values;
    free(values);
    for (int i = 0; i < SOURCES; i++)
        nvt_machine_close_source(&sources[i]);
    give_up(machine);
    return NULL;
}

struct nvt_machine *nvt_machine_start(enum nvt_clock clock, uint64_t trace, struct nvt_error *err)
{
    pthread_t thread;
    pthread_condattr_t attributes;
    struct nvt_machine *machine = calloc(1, sizeof(*machine));
    if (!machine) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    machine->clock = clock;
    machine->trace = trace;
    machine->owners = 2;
    pthread_mutex_init(&machine->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&machine->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    const int cause = nvt_helper_thread_start(&thread, run, machine);
    if (!cause) {
        pthread_detach(thread);
        return machine;
    }
    nvt_fail(err, "no thread can be started to sample the machine: %s", strerror(cause));
    machine->owners = 1;
    give_up(machine);
    return NULL;
}

/* Of two images of a process the older one has ended. */
static void follow(struct nvt_machine *machine, uint32_t process, pid_t pid)
{
    struct nvt_followed *followed = calloc(1, sizeof(*followed));
    if (!followed || nvt_followed_open(followed, process, pid)) {
        free(followed);
        return;
    }
    pthread_mutex_lock(&machine->lock);
    for (size_t i = 0; i < machine->followed_count; i++)
        if (machine->followed[i]->pid == pid)
            machine->followed[i]->is_over = 1;
    machine->followed[machine->followed_count++] = followed;
    pthread_mutex_unlock(&machine->lock);
}

void nvt_machine_follow(struct nvt_machine *machine, const struct nvt_owners *owners)
{
    for (; machine->seen < owners->count; machine->seen++) {
        const struct nvt_owner *owner = &owners->items[machine->seen];
        if (!owner->foreign && !owner->ended && machine->followed_count < FOLLOWED_MOST)
            follow(machine, machine->seen, owner->pid);
    }
}

/* --- writing -------------------------------------------------------------------------------------------- */

static int put_string(struct nvt_buffer *rows, struct nvt_output *output, const char *text)
{
    uint32_t id = nvt_output_string(output, text, strlen(text));
    return id == NVT_NO_STRING ? -1 : nvt_buffer_varint(rows, id);
}

static int put_series(struct nvt_buffer *rows, struct nvt_output *output,
                      const struct nvt_machine_series *series)
{
    return put_string(rows, output, series->domain) ||
                   put_string(rows, output, series->quantity->name) ||
                   put_string(rows, output, series->quantity->unit) ||
                   put_string(rows, output,
                              *series->about ? series->about : series->quantity->about) ||
                   put_string(rows, output, series->gpu)
               ? -1
               : 0;
}

static int put_value(struct nvt_buffer *rows, double value)
{
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    return nvt_buffer_append(rows, bytes, sizeof(bytes));
}

/* Moments of some series: values[k * count + i] is that of series i at moment k. */
struct rows {
    const struct nvt_machine_series *series;
    size_t count, moments;
    const uint64_t *ticks;
    const double *values;
};

/* See docs/trace-format.md, MACHINE. 0, or -1 when out of memory. */
static int put_rows(const struct rows *rows, struct nvt_output *output, struct nvt_buffer *out)
{
    if (nvt_buffer_varint(out, rows->count))
        return -1;
    for (size_t i = 0; i < rows->count; i++)
        if (put_series(out, output, &rows->series[i]))
            return -1;
    for (size_t k = 0; k < rows->moments; k++)
        if (nvt_buffer_varint(out, k ? rows->ticks[k] - rows->ticks[k - 1] : 0))
            return -1;
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < rows->moments; k++)
            if (put_value(out, rows->values[k * rows->count + i]))
                return -1;
    return 0;
}

/* process: as the output numbers it, NVT_NO_INDEX: none. 0, or -1 with err. */
static int write_rows(const struct rows *rows, uint32_t process, struct nvt_output *output,
                      struct nvt_error *err)
{
    struct nvt_buffer bytes = {0};
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_MACHINE,
                                    .process = process,
                                    .thread = NVT_NO_INDEX,
                                    .count = (uint32_t)rows->moments,
                                    .first = rows->ticks[0],
                                    .last = rows->ticks[rows->moments - 1]};
    int status = put_rows(rows, output, &bytes)
                     ? nvt_fail(err, "out of memory")
                     : nvt_output_chunk(output, &chunk, bytes.data, bytes.size, err);
    nvt_buffer_free(&bytes);
    return status;
}

/* Why there is less than was asked for, as a fact. */
static int tell(struct nvt_machine *machine, struct nvt_output *output)
{
    machine->is_told = 1;
    return machine->absent.size &&
                   (nvt_buffer_append(&machine->absent, "", 1) ||
                    nvt_output_fact(output, "not sampled", (const char *)machine->absent.data))
               ? -1
               : 0;
}

/* The lock is held: the thread samples meanwhile, and waits with what it has. */
static int write_locked(struct nvt_machine *machine, struct nvt_output *output,
                        struct nvt_error *err)
{
    int status = 0;
    if (!machine->is_told && tell(machine, output))
        status = nvt_fail(err, "out of memory");
    if (!status && machine->moments)
        status = write_rows(&(struct rows){machine->series, machine->series_count, machine->moments,
                                           machine->ticks, machine->values},
                            NVT_NO_INDEX, output, err);
    machine->moments = 0;
    return status ? -1 : 0;
}

static int write_processes(struct nvt_machine *machine, struct nvt_output *output,
                           struct nvt_error *err)
{
    struct nvt_machine_series series[NVT_MACHINE_PROCESS_COUNT] = {{.quantity = NULL}};
    int status = 0;
    for (int i = 0; i < NVT_MACHINE_PROCESS_COUNT; i++) {
        snprintf(series[i].domain, sizeof(series[i].domain), NVT_MACHINE_PROCESS);
        series[i].quantity = nvt_machine_process_quantity((enum nvt_machine_process)i);
    }
    for (size_t i = 0; i < machine->followed_count; i++) {
        struct nvt_followed *followed = machine->followed[i];
        if (!status && followed->moments)
            status = write_rows(&(struct rows){series, NVT_MACHINE_PROCESS_COUNT, followed->moments,
                                               followed->ticks, followed->values[0]},
                                followed->process, output, err);
        followed->moments = 0;
    }
    machine->followed_due = nvt_monotonic_ns() + CHUNK_NS;
    return status ? -1 : 0;
}

int nvt_machine_write(struct nvt_machine *machine, struct nvt_output *output, int all,
                      struct nvt_error *err)
{
    int status = 0;
    const int64_t now = nvt_monotonic_ns();
    pthread_mutex_lock(&machine->lock);
    int is_due = machine->moments && now - machine->begun >= CHUNK_NS;
    if (machine->is_open && (all || is_due))
        status = write_locked(machine, output, err);
    if (machine->followed_count && (all || now >= machine->followed_due) &&
        write_processes(machine, output, status ? NULL : err))
        status = -1;
    pthread_mutex_unlock(&machine->lock);
    return status;
}

int nvt_machine_stop(struct nvt_machine *machine, struct nvt_output *output, struct nvt_error *err)
{
    int64_t until = nvt_monotonic_ns() + STOP_NS;
    const struct timespec moment = {until / 1000000000, until % 1000000000};
    int status = 0;
    pthread_mutex_lock(&machine->lock);
    machine->stopping = 1;
    pthread_cond_broadcast(&machine->changed);
    while (!machine->ended && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&machine->changed, &machine->lock, &moment);
    int failed = machine->ended && machine->failed;
    pthread_mutex_unlock(&machine->lock);
    status = nvt_machine_write(machine, output, 1, err);
    if (!status && failed)
        status = nvt_fail(err, "the machine was not sampled: out of memory");
    give_up(machine);
    return status;
}
