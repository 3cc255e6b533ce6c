#include "overview.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/sample.h"
#include "../../lib/text.h"
#include "../input/ranks.h"
#include "../input/rows.h"
#include "../memory/levels.h"
#include "../model/loop_names.h"
#include "../studies/run_time.h"
#include "overview_open.h"
#include "overview_processes.h"
#include "overview_rows.h"

int nvt_overview_fits(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (trace && (trace->ranges.count || trace->ops.count || trace->memory.count))
            return 1;
    }
    return 0;
}

double nvt_overview_whole(const struct nvt_overview *overview)
{
    if (overview->are_kernels)
        return overview->gpu_ns;
    return isnan(overview->mean_ns) ? overview->unit_ns : overview->mean_ns;
}

const char *nvt_overview_unit_name(const struct nvt_overview *overview)
{
    if (!overview->has_iterations)
        return "Recording";
    return isnan(overview->pace_ns) ? "Iteration" : "Forward pass";
}

const char *nvt_overview_unit_text(const struct nvt_overview *overview, char out[NVT_OVERVIEW_TEXT])
{
    size_t length = 0;
    if (!overview->units)
        snprintf(out, NVT_OVERVIEW_TEXT, "nothing in it has ended");
    else if (overview->units < 2)
        snprintf(out, NVT_OVERVIEW_TEXT,
                 overview->has_iterations ? "a single one"
                                          : "no iterations: --iteration RANGE says which they are");
    else
        length = (size_t)snprintf(out, NVT_OVERVIEW_TEXT, "median of %u", overview->units);
    if (length && !isnan(overview->mean_ns))
        length += (size_t)snprintf(out + length, NVT_OVERVIEW_TEXT - length, ", mean %s",
                                   NVT_TIME(overview->mean_ns));
    if (length && !isnan(overview->pace_ns))
        length += (size_t)snprintf(out + length, NVT_OVERVIEW_TEXT - length, ", one every %s",
                                   NVT_TIME(overview->pace_ns));
    if (length && !isnan(overview->low_ns) && isnan(overview->pace_ns))
        snprintf(out + length, NVT_OVERVIEW_TEXT - length, "%s %s to %s",
                 isnan(overview->mean_ns) ? ", half of them from" : "; half",
                 NVT_TIME(overview->low_ns), NVT_TIME(overview->high_ns));
    return out;
}

/* --- how long units take, and how busy GPUs are in them --- */

/* How far the forward passes of each process that infers are apart, on whatever threads. */
static int set_pace(struct nvt_overview *overview, const struct nvt_input *input,
                    const struct nvt_overview_units *units, struct nvt_error *err)
{
    double *apart = malloc(((size_t)units->count + 1) * sizeof(*apart));
    size_t count = 0;
    if (!apart)
        return nvt_fail(err, "out of memory");
    for (uint32_t i = 1; i < units->count && units->are_iterations; i++) {
        const struct nvt_overview_unit *unit = &units->items[i], *before = unit - 1;
        if (nvt_infers(input->traces[unit->trace].trace) && unit->trace == before->trace &&
            unit->process == before->process)
            apart[count++] = (double)(unit->start - before->start);
    }
    overview->pace_ns = nvt_sample_median(apart, count);
    free(apart);
    return 0;
}

/* Quartiles of fewer values say nothing. */
enum { QUARTILES_LEAST = 4 };

static int set_units(struct nvt_overview *overview, const struct nvt_overview_units *units,
                     struct nvt_error *err)
{
    const size_t room = (size_t)units->count + 1;
    double *lengths = malloc(room * 3 * sizeof(*lengths));
    uint32_t with_gpu = 0;
    if (!lengths)
        return nvt_fail(err, "out of memory");
    double *busy = lengths + room, *shares = busy + room;
    for (uint32_t i = 0; i < units->count; i++) {
        const struct nvt_overview_unit *unit = &units->items[i];
        lengths[i] = nvt_overview_unit_ns(unit);
        if (unit->span > 0) {
            busy[with_gpu] = (double)unit->busy;
            shares[with_gpu++] = (double)unit->busy / (double)unit->span;
        }
        overview->gpus = unit->gpus > overview->gpus ? unit->gpus : overview->gpus;
    }
    overview->mean_ns = units->are_means ? units->mean : NAN;
    overview->has_iterations = units->are_iterations;
    overview->units = units->count;
    overview->first_ns = units->are_iterations && units->count ? lengths[0] : NAN;
    overview->low_ns = overview->high_ns = NAN;
    nvt_sample_sort(lengths, units->count);
    overview->unit_ns = nvt_sample_quantile(lengths, units->count, 0.5);
    if (units->are_iterations && units->count >= QUARTILES_LEAST) {
        overview->low_ns = nvt_sample_quantile(lengths, units->count, 0.25);
        overview->high_ns = nvt_sample_quantile(lengths, units->count, 0.75);
    }
    overview->gpu_ns = nvt_sample_median(busy, with_gpu);
    overview->gpu_share = nvt_sample_median(shares, with_gpu);
    free(lengths);
    return 0;
}

/* --- memory --- */

/* The most that a process (NVT_NONE: any) of a trace has allocated on a GPU, or of the host's memory; NaN: not known. */
static int find_peak(const struct nvt_trace *trace, uint32_t process, int of_host, double *peak,
                     double *reserved)
{
    struct nvt_levels levels = {0};
    int status = trace->memory.count ? nvt_levels_make(&levels, trace) : 0;
    for (uint32_t i = 0; i < levels.count && !status; i++) {
        const struct nvt_level_series *series = &levels.series[i];
        const double most = (double)nvt_level_most(series, NULL);
        if ((series->device == NVT_NONE) != of_host || most <= 0 ||
            (process != NVT_NONE && series->process != process) || most <= *peak)
            continue;
        *peak = most;
        *reserved = series->lacks_reserved ? NAN : (double)nvt_level_most_reserved(series, NULL);
    }
    nvt_levels_free(&levels);
    return status;
}

static int set_memory(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err)
{
    overview->peak_bytes = overview->reserved_bytes = NAN;
    for (int of_host = 0; of_host < 2 && !(overview->peak_bytes > 0); of_host++) {
        overview->peak_bytes = 0;
        overview->peak_is_host = of_host;
        for (size_t i = 0; i < input->trace_count; i++)
            if (find_peak(input->traces[i].trace, NVT_NONE, of_host, &overview->peak_bytes,
                          &overview->reserved_bytes))
                return nvt_fail(err, "out of memory");
    }
    if (!(overview->peak_bytes > 0))
        overview->peak_bytes = NAN;
    return 0;
}

/* --- before the first iteration --- */

/* Whether a program was recorded from its start on, and not from when somebody asked for it. */
static int has_begin(const struct nvt_trace *trace)
{
    return trace->recorder == NVT_BY_NVTALLY && !trace->is_part && !trace->is_late;
}

static int set_start(struct nvt_overview *overview, const struct nvt_input *input,
                     struct nvt_error *err)
{
    overview->start_ns = overview->start_share = NAN;
    for (size_t i = 0; i < input->trace_count && overview->has_iterations; i++) {
        struct nvt_run_times times = {0};
        const struct nvt_trace *trace = input->traces[i].trace;
        const int failed = nvt_run_times_make(&times, trace);
        for (uint32_t k = 0; k < times.count && !failed && isnan(overview->start_ns); k++) {
            const struct nvt_run_time *time = &times.items[k];
            if (!time->iterations || !has_begin(trace) || !time->ns[NVT_RUN_START])
                continue;
            overview->start_ns = (double)time->ns[NVT_RUN_START];
            if (nvt_run_time_is_whole(time, trace))
                overview->start_share = overview->start_ns / (double)(time->to - time->from);
        }
        nvt_run_times_free(&times);
        if (failed)
            return nvt_fail_at(err, trace->path, -1, "out of memory");
    }
    return 0;
}

/* --- ranks, processes and traces --- */

/* The units from `first` on that are of one process, or trace. How many. */
static uint32_t part_of(const struct nvt_overview_units *units, uint32_t first, double *lengths,
                        double *shares, uint32_t *with_gpu)
{
    const struct nvt_overview_unit *begin = &units->items[first];
    uint32_t count = 0;
    *with_gpu = 0;
    for (uint32_t i = first; i < units->count; i++) {
        const struct nvt_overview_unit *unit = &units->items[i];
        if (unit->trace != begin->trace || unit->process != begin->process)
            continue;
        lengths[count++] = nvt_overview_unit_ns(unit);
        if (unit->span > 0)
            shares[(*with_gpu)++] = (double)unit->busy / (double)unit->span;
    }
    return count;
}

/* Ranks of several programs may be of several jobs. */
static void name_part(const struct nvt_input *input, const struct nvt_overview_unit *unit,
                      int has_several, char *out, size_t size)
{
    const struct nvt_input_trace *from = &input->traces[unit->trace];
    const uint32_t rank = has_several ? NVT_NONE : nvt_input_rank(from, unit->process);
    if (rank != NVT_NONE)
        snprintf(out, size, "rank %u", rank);
    else if (input->trace_count > 1)
        snprintf(out, size, "%s", nvt_file_name(from->trace->path));
    else if (unit->process != NVT_NONE)
        snprintf(out, size, "process %lld", (long long)from->trace->processes.pid[unit->process]);
}

static int is_first_of_part(const struct nvt_overview_units *units, uint32_t at)
{
    for (uint32_t i = at; i-- > 0;)
        if (units->items[i].trace != units->items[at].trace)
            return 1;
        else if (units->items[i].process == units->items[at].process)
            return 0;
    return 1;
}

static int slowest_first(const void *left, const void *right)
{
    const struct nvt_overview_part *a = left, *b = right;
    if (a->unit_ns != b->unit_ns)
        return a->unit_ns < b->unit_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

static int set_parts(struct nvt_overview *overview, const struct nvt_input *input,
                     const struct nvt_overview_units *units, struct nvt_error *err)
{
    double *lengths = malloc(((size_t)units->count + 1) * 2 * sizeof(*lengths));
    double *shares = lengths + units->count + 1;
    int failed = !lengths;
    for (uint32_t i = 0; i < units->count && !failed; i++) {
        double reserved, peak = 0;
        uint32_t with_gpu;
        if (!is_first_of_part(units, i))
            continue;
        failed = nvt_grow(&overview->parts, overview->part_count, sizeof(*overview->parts)) ||
                 find_peak(input->traces[units->items[i].trace].trace, units->items[i].process, 0,
                           &peak, &reserved);
        if (failed)
            break;
        struct nvt_overview_part *part = &overview->parts[overview->part_count++];
        *part = (struct nvt_overview_part){.peak_bytes = peak > 0 ? peak : NAN};
        name_part(input, &units->items[i], overview->programs > 1, part->name, sizeof(part->name));
        part->units = part_of(units, i, lengths, shares, &with_gpu);
        part->unit_ns = nvt_sample_median(lengths, part->units);
        part->gpu_share = nvt_sample_median(shares, with_gpu);
    }
    free(lengths);
    if (failed)
        return nvt_fail(err, "out of memory");
    if (overview->part_count > 1)
        qsort(overview->parts, overview->part_count, sizeof(*overview->parts), slowest_first);
    return 0;
}

/* --- what did the work --- */

/* The process of the first range, or operation. */
static const char *command_of(const struct nvt_trace *trace)
{
    uint32_t process = 0;
    if (trace->ranges.count)
        process = trace->threads.process[trace->ranges.thread[0]];
    else if (trace->ops.count)
        process = trace->ops.process[0];
    return process < trace->processes.count ? nvt_name(trace, trace->processes.name[process]) : "";
}

/* Whether commands are the same but for the numbers in them, as those of ranks and of repetitions are. */
static int are_alike(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;;) {
        const size_t left = strspn(a, digits), right = strspn(b, digits);
        a += left;
        b += right;
        if (!left != !right || *a != *b)
            return 0;
        if (!*a)
            return 1;
        a++;
        b++;
    }
}

static const char *program_of(const struct nvt_trace *trace)
{
    const char *command = nvt_trace_meta(trace, "command");
    return command && *command ? command : command_of(trace);
}

/* What has no command may be of any. */
static void count_programs(struct nvt_overview *overview, const struct nvt_input *input)
{
    overview->programs = 0;
    for (size_t i = 0; i < input->trace_count; i++) {
        const char *program = program_of(input->traces[i].trace);
        size_t k = 0;
        while (k < i && !are_alike(program, program_of(input->traces[k].trace)))
            k++;
        overview->programs += *program && k == i;
    }
}

static int set_origin(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err)
{
    const struct nvt_provenance from = nvt_input_provenance(input);
    const struct nvt_trace *trace = input->traces[0].trace;
    uint32_t configuration;
    overview->device = from.device;
    overview->date = from.date;
    overview->date_length = from.date_length;
    overview->condition = from.condition;
    if (trace->ops.count) {
        const char *gpu = nvt_device_name(trace, trace->ops.process[0], trace->ops.device[0]);
        overview->device = *gpu ? gpu : overview->device;
    }
    if (input->trace_count > 1)
        return 0;
    if (nvt_rows_configuration(trace, &configuration))
        return nvt_fail_at(err, trace->path, -1, "out of memory");
    const char *command =
        configuration == NVT_NO_STRING ? command_of(trace) : nvt_name(trace, configuration);
    overview->command = *command ? command : NULL;
    return 0;
}

/* --- findings --- */

int nvt_overview_find(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err)
{
    size_t count;
    unsigned has;
    struct nvt_findings *all = &overview->all;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    if (nvt_diagnose_has(input, &has, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        *(nvt_rule_lacks(rules[i], has) ? &overview->idle_rules : &overview->rules) += 1;
    for (size_t i = 0; i < input->trace_count; i++)
        overview->is_cut |= input->traces[i].trace->warning != NULL;
    count_programs(overview, input);
    if (nvt_diagnose(input, NULL, all, err) || nvt_findings_fold(all, input, err) ||
        nvt_diagnose_cover(input, all, overview->cover, sizeof(overview->cover), err))
        return -1;
    for (size_t i = 0; i < all->count; i++) {
        const struct nvt_finding *found = &all->items[i];
        if (nvt_finding_is_minor(found))
            continue;
        overview->found++;
        if (overview->finding_count < NVT_OVERVIEW_FINDINGS)
            overview->findings[overview->finding_count++] =
                (struct nvt_overview_finding){found, nvt_finding_share(found)};
    }
    return 0;
}

/* --- all of it --- */

/* What the GPU works in a unit, on average; NaN: in none. */
static double mean_busy(const struct nvt_overview_units *units)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < units->count; i++)
        if (units->items[i].span > 0 && !units->items[i].is_early) {
            sum += (double)units->items[i].busy;
            count++;
        }
    return count ? sum / count : NAN;
}

int nvt_overview_take_tree(const struct nvt_overview *overview, const struct nvt_input *input,
                           const struct nvt_overview_units *units, struct nvt_overview_tree *tree,
                           struct nvt_error *err)
{
    const int status = nvt_overview_tree_make(tree, input, units, err);
    const double gpu_ns = mean_busy(units);
    for (uint32_t i = 0; i < tree->count && units->are_iterations; i++)
        if (tree->nodes[i].parent == NVT_NONE && i + 1 != tree->others && !isnan(overview->gpu_ns))
            tree->nodes[i].gpu_ns = units->are_means && !isnan(gpu_ns) ? gpu_ns : overview->gpu_ns;
    return status;
}

static int set_rows(struct nvt_overview *overview, const struct nvt_input *input,
                    const struct nvt_overview_units *units, struct nvt_error *err)
{
    struct nvt_overview_tree tree = {.with_every_name = input->every_name};
    int status = nvt_overview_take_tree(overview, input, units, &tree, err);
    overview->lends = tree.lends;
    if (!status && tree.count)
        status = nvt_overview_take_ranges(overview, &tree, err);
    else if (!status && tree.has_ops)
        status = nvt_overview_take_kernels(overview, input, err);
    nvt_overview_tree_free(&tree);
    return status;
}

int nvt_overview_make(struct nvt_overview *overview, const struct nvt_input *input,
                      struct nvt_error *err)
{
    struct nvt_overview_units units = {0};
    count_programs(overview, input);
    int status = set_origin(overview, input, err) || nvt_overview_units_make(&units, input, err) ||
                 set_units(overview, &units, err) || set_pace(overview, input, &units, err) ||
                 set_memory(overview, input, err) || set_start(overview, input, err) ||
                 set_parts(overview, input, &units, err) ||
                 set_rows(overview, input, &units, err) ||
                 nvt_overview_take_open(overview, input, err) ||
                 nvt_overview_take_processes(overview, input, err) ||
                 nvt_overview_find(overview, input, err);
    nvt_overview_units_free(&units);
    return status ? -1 : 0;
}

void nvt_overview_free(struct nvt_overview *overview)
{
    for (uint32_t i = 0; i < overview->row_count; i++)
        free(overview->rows[i].name);
    for (uint32_t i = 0; i < overview->open_count; i++)
        free(overview->open[i].name);
    free(overview->rows);
    free(overview->open);
    free(overview->ended);
    free(overview->parts);
    free(overview->all.items);
    *overview = (struct nvt_overview){0};
}
