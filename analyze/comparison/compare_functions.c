#include "compare_functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/grow.h"
#include "../input/ranks.h"
#include "../model/named_iterations.h"
#include "../studies/hot_functions.h"
#include "function_value.h"

/* A trace that is being added. Its samples are of a place each: a run, and a part of its iterations or what is outside of them. */
struct reading {
    struct nvt_compared_functions *out;
    const struct nvt_trace *trace;
    struct nvt_sampled_functions functions;
    struct nvt_named_iterations iterations;
    uint32_t first, runs;      /* of out->runs */
    uint32_t *run_of_process;  /* from 0; the last: of none */
    uint32_t *place_of;        /* of each iteration: of its samples */
    uint32_t *parts;           /* of each place: how many iterations it has */
    uint32_t *names;           /* of each function, NVT_NONE: not yet */
    uint32_t *places, *begins; /* samples by place, and where each place begins */
};

enum { OUTSIDE = NVT_FUNCTION_PARTS, PLACES = NVT_FUNCTION_PARTS + 1 };

/* --- ranks --- */

/* The run of a rank, from 0, new or old; NVT_NONE: out of memory. */
static uint32_t run_of_rank(struct reading *reading, const struct nvt_function_run *like,
                            uint32_t rank)
{
    struct nvt_compared_functions *out = reading->out;
    for (uint32_t i = 0; i < reading->runs; i++)
        if (out->runs[reading->first + i].rank == rank)
            return i;
    if (nvt_grow(&out->runs, out->run_count, sizeof(*out->runs)))
        return NVT_NONE;
    out->runs[out->run_count] = *like;
    out->runs[out->run_count++].rank = rank;
    return reading->runs++;
}

/* 0, or -1 when out of memory. */
static int find_runs(struct reading *reading, const struct nvt_input_trace *from,
                     const struct nvt_function_run *like)
{
    const uint32_t processes = reading->trace->processes.count;
    const uint32_t otherwise = nvt_input_rank(from, NVT_NONE);
    for (uint32_t i = 0; i <= processes; i++) {
        const uint32_t rank = i < processes ? reading->trace->processes.rank[i] : NVT_NONE;
        const uint32_t run = run_of_rank(reading, like, rank == NVT_NONE ? otherwise : rank);
        if (run == NVT_NONE)
            return -1;
        reading->run_of_process[i] = run;
        if (reading->runs <= NVT_FUNCTION_RANKS)
            continue;
        /* Too many to be told apart. */
        memset(reading->run_of_process, 0,
               ((size_t)processes + 1) * sizeof(*reading->run_of_process));
        reading->out->run_count = reading->first + 1;
        reading->out->runs[reading->first].rank = NVT_NO_RANK;
        reading->runs = 1;
        return 0;
    }
    return 0;
}

static uint32_t run_of_thread(const struct reading *reading, uint32_t thread)
{
    const struct nvt_threads *threads = &reading->trace->threads;
    const uint32_t processes = reading->trace->processes.count;
    const uint32_t process = thread < threads->count ? threads->process[thread] : processes;
    return reading->run_of_process[process < processes ? process : processes];
}

/* --- places --- */

/* The iterations of a rank in parts, one after the other. */
static void place_iterations(struct reading *reading)
{
    const struct nvt_named_iterations *iterations = &reading->iterations;
    uint32_t before[NVT_FUNCTION_RANKS + 1] = {0};
    struct nvt_function_run *runs = &reading->out->runs[reading->first];
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < iterations->count; i++) {
            const uint32_t run =
                run_of_thread(reading, reading->trace->ranges.thread[iterations->rows[i]]);
            if (!pass) {
                runs[run].iterations++;
                continue;
            }
            const uint32_t all = runs[run].iterations;
            runs[run].parts = all < NVT_FUNCTION_PARTS ? all : NVT_FUNCTION_PARTS;
            const uint64_t part = (uint64_t)before[run]++ * runs[run].parts / all;
            reading->place_of[i] = run * PLACES + (uint32_t)part;
            reading->parts[reading->place_of[i]]++;
        }
}

/* Samples of a place together, in their order. 0, or -1 when out of memory. */
static int place_samples(struct reading *reading)
{
    const struct nvt_cpu_samples *samples = &reading->trace->cpu_samples;
    uint32_t *place = malloc(((size_t)samples->count + 1) * sizeof(*place));
    uint32_t *begins = reading->begins;
    if (!place)
        return -1;
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint32_t iteration =
            nvt_iteration_at(&reading->iterations, samples->thread[i], NVT_NONE, samples->time[i]);
        place[i] = iteration == NVT_NONE
                       ? run_of_thread(reading, samples->thread[i]) * PLACES + OUTSIDE
                       : reading->place_of[iteration];
        begins[place[i] + 1]++;
    }
    for (uint32_t i = 0; i < reading->runs * PLACES; i++)
        begins[i + 1] += begins[i];
    for (uint32_t i = samples->count; i-- > 0;)
        reading->places[--begins[place[i] + 1]] = i;
    /* Each place's beginning stands behind it now. */
    memmove(begins, begins + 1, (size_t)reading->runs * PLACES * sizeof(*begins));
    begins[reading->runs * PLACES] = samples->count;
    free(place);
    return 0;
}

/* --- functions --- */

/* The text that a function is compared by. A program may be called otherwise on the other side, as may an interpreter. */
static uint32_t name_of(struct reading *reading, uint32_t function)
{
    const struct nvt_sampled_function *what = &reading->functions.items[function];
    uint32_t *name = &reading->names[function];
    char text[1024];
    if (*name != NVT_NONE)
        return *name;
    if (what->owner == NVT_OF_LIBRARY && *what->module && *what->name != '[')
        snprintf(text, sizeof(text), "%.800s (%.200s)", what->name, what->module);
    else
        snprintf(text, sizeof(text), "%.1000s", what->name);
    return *name = nvt_strings_add_text(reading->out->texts, text);
}

/* NULL when out of memory. */
static struct nvt_function_row *row_of(struct reading *reading, uint32_t run, uint32_t function)
{
    struct nvt_compared_functions *out = reading->out;
    const uint32_t name = name_of(reading, function);
    struct nvt_function_row *row =
        name == NVT_NO_STRING
            ? NULL
            : nvt_map_item(&out->by_name, (uint64_t)(reading->first + run) << 32 | name, &out->rows,
                           &out->row_count, sizeof(*row));
    if (!row)
        return NULL;
    row->name = name;
    row->run = reading->first + run;
    row->is_own |= nvt_is_own_function(&reading->functions, function);
    return row;
}

static void add_sum(struct nvt_function_sum *sum, int64_t time, uint64_t samples)
{
    sum->time = nvt_clock_sum(sum->time, time);
    sum->samples += samples;
}

/* `iterations`: of the place, 0: it is outside. */
static void add_count(struct nvt_function_count *count, uint32_t iterations, int64_t time,
                      uint64_t samples)
{
    add_sum(iterations ? &count->within : &count->outside, time, samples);
    if (iterations)
        count->squares += (double)time * (double)time / iterations;
}

static int add_functions(struct reading *reading, uint32_t place, const struct nvt_hot *hot)
{
    const uint32_t iterations = reading->parts[place];
    for (uint32_t i = 0; i < reading->functions.count; i++) {
        const struct nvt_hot_function *item = &hot->items[i];
        if (!item->samples && !item->total_samples)
            continue;
        struct nvt_function_row *row = row_of(reading, place / PLACES, i);
        if (!row)
            return -1;
        add_count(&row->self, iterations, item->self, item->samples);
        add_count(&row->tree, iterations, item->total, item->total_samples);
    }
    return 0;
}

/* 0, or -1 when out of memory. */
static int add_place(struct reading *reading, uint32_t place)
{
    struct nvt_hot hot = {0};
    struct nvt_function_run *run = &reading->out->runs[reading->first + place / PLACES];
    const uint32_t first = reading->begins[place], end = reading->begins[place + 1];
    if (first == end)
        return 0;
    int status = nvt_hot_begin(&hot, &reading->functions);
    for (uint32_t i = first; i < end && !status; i++) {
        const double time = (double)nvt_sample_weight(&reading->functions, reading->places[i]);
        run->squares += time * time;
        nvt_hot_add(&hot, reading->places[i]);
    }
    if (!status) {
        nvt_hot_finish(&hot);
        add_sum(reading->parts[place] ? &run->within : &run->outside, hot.all, hot.samples);
        status = add_functions(reading, place, &hot);
    }
    nvt_hot_free(&hot);
    return status;
}

/* --- traces --- */

/* What there is room for before the samples are looked at. 0, or -1 when out of memory. */
static int begin(struct reading *reading, const struct nvt_input_trace *from,
                 const struct nvt_function_run *like)
{
    const struct nvt_trace *trace = reading->trace;
    reading->first = reading->out->run_count;
    reading->run_of_process =
        calloc((size_t)trace->processes.count + 1, sizeof(*reading->run_of_process));
    if (!reading->run_of_process || find_runs(reading, from, like) ||
        nvt_sampled_functions_make(&reading->functions, trace, NVT_BY_FUNCTION, NULL) ||
        nvt_named_iterations_of(&reading->iterations, trace))
        return -1;
    const size_t places = (size_t)reading->runs * PLACES;
    reading->place_of = malloc(((size_t)reading->iterations.count + 1) * sizeof(uint32_t));
    reading->parts = calloc(places + 1, sizeof(uint32_t));
    reading->begins = calloc(places + 2, sizeof(uint32_t));
    reading->places = malloc(((size_t)trace->cpu_samples.count + 1) * sizeof(uint32_t));
    reading->names = malloc(((size_t)reading->functions.count + 1) * sizeof(uint32_t));
    if (!reading->place_of || !reading->parts || !reading->begins || !reading->places ||
        !reading->names)
        return -1;
    for (uint32_t i = 0; i < reading->functions.count; i++)
        reading->names[i] = NVT_NONE;
    return 0;
}

static void count_samples(struct nvt_compared_functions *out, size_t side,
                          const struct reading *reading)
{
    const struct nvt_cpu_samples *samples = &reading->trace->cpu_samples;
    out->samples[side] += samples->count;
    for (uint32_t i = 0; i < samples->count; i++)
        out->alone[side] += (samples->flags[i] & NVT_CPU_SAMPLE_NO_CALLERS) != 0;
    out->timed += reading->functions.has_times != 0;
    out->untimed += !reading->functions.has_times;
    out->without += !reading->iterations.count;
}

/* 0, or -1 when out of memory. */
static int add_trace(struct nvt_compared_functions *out, size_t side,
                     const struct nvt_input_trace *from)
{
    struct reading reading = {.out = out, .trace = from->trace};
    char *configuration = nvt_compared_configuration(from);
    struct nvt_function_run like = {.side = side};
    int status = -1;
    if (!configuration)
        goto out;
    like.configuration = nvt_strings_add_text(out->texts, configuration);
    if (like.configuration == NVT_NO_STRING || begin(&reading, from, &like))
        goto out;
    place_iterations(&reading);
    if (place_samples(&reading))
        goto out;
    for (uint32_t place = 0; place < reading.runs * PLACES; place++)
        if (add_place(&reading, place))
            goto out;
    count_samples(out, side, &reading);
    status = 0;
out:
    nvt_sampled_functions_free(&reading.functions);
    nvt_named_iterations_free(&reading.iterations);
    free(configuration);
    free(reading.run_of_process);
    free(reading.place_of);
    free(reading.parts);
    free(reading.begins);
    free(reading.places);
    free(reading.names);
    return status;
}

int nvt_compared_functions_add(struct nvt_compared_functions *functions, size_t side,
                               const struct nvt_input *input, struct nvt_error *err)
{
    if (!functions->texts)
        functions->texts = nvt_strings_new();
    int status = functions->texts ? 0 : -1;
    for (size_t i = 0; i < input->trace_count && !status; i++)
        if (input->traces[i].trace->cpu_samples.count)
            status = add_trace(functions, side, &input->traces[i]);
    return status ? nvt_fail(err, "out of memory") : 0;
}

void nvt_compared_functions_free(struct nvt_compared_functions *functions)
{
    nvt_strings_free(functions->texts);
    free(functions->runs);
    free(functions->rows);
    nvt_map_free(&functions->by_name);
    *functions = (struct nvt_compared_functions){0};
}
