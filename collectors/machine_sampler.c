#include "machine_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/grow.h"

#define PERIOD_NS    INT64_C(100000000)
#define ROUNDS_REST  50 /* a round is followed by that many times its length, at least */
#define CHUNK_NS     INT64_C(1000000000) /* samples of so long are worth a chunk */
#define STOP_NS      INT64_C(1000000000) /* the longest wait for the thread's end */
#define MOMENTS_MOST 1024                /* that wait to be written; later ones are dropped */

/* Samplers have two owners, the recorder and the thread: the last one frees it. */
struct nvt_machine {
    enum nvt_clock clock;
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

static void *run(void *argument)
{
    struct nvt_machine *machine = argument;
    struct nvt_machine_source sources[SOURCES] = {{0}};
    int failed = 0;
    for (int i = 0; i < SOURCES && !failed; i++)
        failed = open_source[i](&sources[i]);
    failed = failed || publish(machine, sources);
    double *values = failed ? NULL : malloc((machine->series_count + 1) * sizeof(*values));
    for (int goes_on = 1; values && machine->series_count && goes_on;) {
        int64_t start = nvt_monotonic_ns();
        sample(machine, sources, values);
        goes_on = rest(machine, nvt_monotonic_ns() - start);
        if (!goes_on)
            sample(machine, sources, values);
    }
    machine->failed = !values;
    free(values);
    for (int i = 0; i < SOURCES; i++)
        nvt_machine_close_source(&sources[i]);
    give_up(machine);
    return NULL;
}

struct nvt_machine *nvt_machine_start(enum nvt_clock clock, struct nvt_error *err)
{
    pthread_t thread;
    pthread_condattr_t attributes;
    struct nvt_machine *machine = calloc(1, sizeof(*machine));
    if (!machine) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    machine->clock = clock;
    machine->owners = 2;
    pthread_mutex_init(&machine->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&machine->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Signals are the recorder's: its thread passes them on. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int cause = pthread_create(&thread, NULL, run, machine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!cause) {
        pthread_detach(thread);
        return machine;
    }
    nvt_fail(err, "no thread can be started to sample the machine: %s", strerror(cause));
    machine->owners = 1;
    give_up(machine);
    return NULL;
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

/* See docs/trace-format.md, MACHINE. 0, or -1 when out of memory. */
static int put_rows(struct nvt_machine *machine, struct nvt_output *output, struct nvt_buffer *rows)
{
    size_t count = machine->series_count;
    if (nvt_buffer_varint(rows, count))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (put_series(rows, output, &machine->series[i]))
            return -1;
    for (size_t k = 0; k < machine->moments; k++)
        if (nvt_buffer_varint(rows, k ? machine->ticks[k] - machine->ticks[k - 1] : 0))
            return -1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < machine->moments; k++)
            if (put_value(rows, machine->values[k * count + i]))
                return -1;
    return 0;
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
    struct nvt_buffer rows = {0};
    int status = 0;
    if (!machine->is_told && tell(machine, output))
        status = nvt_fail(err, "out of memory");
    if (!status && machine->moments) {
        const struct nvt_chunk chunk = {.kind = NVT_CHUNK_MACHINE,
                                        .process = NVT_NO_INDEX,
                                        .thread = NVT_NO_INDEX,
                                        .count = (uint32_t)machine->moments,
                                        .first = machine->ticks[0],
                                        .last = machine->ticks[machine->moments - 1]};
        status = put_rows(machine, output, &rows)
                     ? nvt_fail(err, "out of memory")
                     : nvt_output_chunk(output, &chunk, rows.data, rows.size, err);
    }
    machine->moments = 0;
    nvt_buffer_free(&rows);
    return status ? -1 : 0;
}

int nvt_machine_write(struct nvt_machine *machine, struct nvt_output *output, int all,
                      struct nvt_error *err)
{
    int status = 0;
    pthread_mutex_lock(&machine->lock);
    int is_due = machine->moments && nvt_monotonic_ns() - machine->begun >= CHUNK_NS;
    if (machine->is_open && (all || is_due))
        status = write_locked(machine, output, err);
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
