/*
 * The command `run`.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/create_file.h"
#include "../lib/options.h"
#include "../lib/peak_cache.h"
#include "../lib/program.h"
#include "../lib/temporary.h"
#include "../lib/wrap.h"
#include "run_end.h"
#include "run_help.h"
#include "sweep.h"
#include "sweep_launched.h"

const int nvt_has_workloads = 1;

#define AXES_GIVEN_MOST 64

struct request {
    struct nvt_sweep sweep;
    const char *backend, *nsys;
    int fell_back;   /* auto found no device */
    size_t left_out; /* combinations that are none of the study's */
    int list, peak;
    /* The axes as they were typed: whose they are is known when the workload is. */
    struct {
        const char *option, *text;
    } given[AXES_GIVEN_MOST];
    size_t given_count;
    /* The common options and every axis of every workload, once. */
    struct nvt_option options[NVT_OPTIONS_MOST + 1];
    char names[NVT_OPTIONS_MOST][64];
    char on[NVT_OPTIONS_MOST][72]; /* "--graph=on", of flags that were given without a value */
};

/* --- options ----------------------------------------------------------------------------------------- */

static int parse_number(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *value, struct nvt_error *err)
{
    struct nvt_axis axis;
    if (strchr(text, ',') || nvt_axis_numbers(&axis, option, text, least, most, err))
        return nvt_fail(err, "--%s %s: must be a number from %lld to %lld", option, text,
                        (long long)least, (long long)most);
    *value = axis.values[0];
    return 0;
}

/* From 1 to the option's number. */
static int set_number(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return parse_number(option->name, value, 1, option->number, option->to, err);
}

static int set_seed(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    int64_t seed = 0;
    const int status = parse_number(option->name, value, 0, INT64_MAX, &seed, err);
    *(uint64_t *)option->to = (uint64_t)seed;
    return status;
}

static int set_collect(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_axis_words(option->to, "--collect", value, nvt_collect_levels, err);
}

static int set_warmup(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_axis_numbers(option->to, "--warmup", value, 0, 1000000, err);
}

static int set_interleave(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    int *interleave = option->to;
    for (*interleave = 0; nvt_interleave_words[*interleave]; ++*interleave)
        if (!strcmp(value, nvt_interleave_words[*interleave]))
            return 0;
    return nvt_fail(err, "--interleave %s: must be runs, iterations, within or halves", value);
}

static int set_limit(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_axis_bytes(value, UINT64_MAX >> 8, option->to)
               ? nvt_fail(err, "--memory-limit %s: must be a number of bytes; K, M or G may follow",
                          value)
               : 0;
}

static int set_backend(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    *(const char **)option->to = value;
    return strcmp(value, "auto") && strcmp(value, "host") && strcmp(value, "cuda")
               ? nvt_fail(err, "--backend %s: must be auto, host or cuda", value)
               : 0;
}

static int keep_axis(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    struct request *request = option->to;
    if (request->given_count == AXES_GIVEN_MOST)
        return nvt_fail(err, "too many options");
    request->given[request->given_count].option = option->name;
    request->given[request->given_count++].text = value;
    return 0;
}

static void add_axis_option(struct request *request, size_t *count, const char *name)
{
    char *option = request->names[*count];
    snprintf(option, sizeof(request->names[0]), "%s", name);
    for (char *at = option; *at; at++)
        if (*at == '_')
            *at = '-';
    for (size_t i = 0; i < *count; i++)
        if (!strcmp(request->options[i].name, option))
            return;
    request->options[(*count)++] = (struct nvt_option){option, .set = keep_axis, .to = request};
}

static void make_options(struct request *request)
{
    struct nvt_sweep *sweep = &request->sweep;
    const struct nvt_option common[] = {
        {"collect", .set = set_collect, .to = &sweep->collect},
        {"warmup", .set = set_warmup, .to = &sweep->warmup},
        {"iterations", .set = set_number, .to = &sweep->iterations, .number = 1000000},
        {"repeat", .set = set_number, .to = &sweep->repeat, .number = 1000},
        {"interleave", .set = set_interleave, .to = &sweep->interleave},
        {"machine", .flag = &sweep->machine},
        {"peak", .flag = &request->peak},
        {"seed", .set = set_seed, .to = &sweep->seed},
        {"memory-limit", .set = set_limit, .to = &sweep->memory_limit},
        {"backend", .set = set_backend, .to = &request->backend},
        {"nsys", .text = &request->nsys},
        {"time-limit", .set = set_number, .to = &sweep->time_limit, .number = 1000000},
        {"one-process", .flag = &sweep->one_process},
        {"launcher", .text = &sweep->launcher},
        {"resume", .flag = &sweep->resume},
        {"output", 'o', .set = nvt_set_folder, .to = &sweep->directory, .hint = "a sweep"},
        {"force-overwrite", 'f', .flag = &sweep->overwrite},
        {"list", .flag = &request->list}};
    size_t count = NVT_COUNT_OF(common);
    memcpy(request->options, common, sizeof(common));
    for (size_t i = 0; nvt_axes_at(i); i++)
        for (size_t a = 0; a < nvt_axes_at(i)->count; a++)
            if (nvt_axes_at(i)->axes[a].kind != NVT_AXIS_FIXED && count < NVT_OPTIONS_MOST)
                add_axis_option(request, &count, nvt_axes_at(i)->axes[a].name);
}

static int is_flag(const char *option)
{
    for (size_t i = 0; nvt_axes_at(i); i++) {
        int at = nvt_axes_find(nvt_axes_at(i), option);
        if (at >= 0 && nvt_axes_at(i)->axes[at].kind == NVT_AXIS_FLAG)
            return 1;
    }
    return 0;
}

/* "--graph" before another option, a workload or nothing is "--graph=on". */
static void set_bare_flags(struct request *request, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "-";
        if (strncmp(argv[i], "--", 2) || !is_flag(argv[i] + 2) ||
            (*next != '-' && !nvt_axes_of(next)))
            continue;
        size_t option = 0;
        while (strcmp(request->options[option].name, argv[i] + 2))
            option++;
        snprintf(request->on[option], sizeof(request->on[0]), "%s=on", argv[i]);
        argv[i] = request->on[option];
    }
}

static int find_workload(struct request *request, const char *name, struct nvt_error *err)
{
    char known[256] = "";
    request->sweep.axes = name ? nvt_axes_of(name) : NULL;
    if (request->sweep.axes)
        return 0;
    for (size_t i = 0; nvt_axes_at(i); i++) {
        strncat(known, i ? ", " : "", sizeof(known) - strlen(known) - 1);
        strncat(known, nvt_axes_at(i)->workload, sizeof(known) - strlen(known) - 1);
    }
    return name ? nvt_fail(err, "no workload '%s'; there are %s", name, known)
                : nvt_fail(err, "run needs a workload: %s", known);
}

/* Where the configurations go over MPI, this process is one of those that the launcher started, unless it is to start
 * one itself. MPI can be started once in each of them, and every run is a process of its own. */
static int set_ranks(struct nvt_sweep *sweep, struct nvt_error *err)
{
    struct nvt_ranks here = nvt_ranks_here();
    sweep->ranks = (struct nvt_ranks){0, 1};
    if (sweep->launcher)
        /* The script of a job of Slurm has its number of tasks, and is the first. */
        return here.rank
                   ? nvt_fail(err, "--launcher: this process was already started by a launcher")
                   : 0;
    for (size_t i = 0; i < sweep->count; i++)
        if (nvt_goes_over_ranks(&sweep->configurations[i]))
            sweep->ranks = here;
    if (sweep->ranks.size > 1 && nvt_sweep_runs(sweep) > 1)
        return nvt_fail(err,
                        "--transport mpi, nccl: MPI starts only once in a process, so a launcher "
                        "runs one configuration at a time, and these are %zu: let nvtally start "
                        "it, with --launcher \"mpirun -n %d\"",
                        nvt_sweep_runs(sweep), here.size);
    return 0;
}

/* The configurations that the typed axes make. */
static int expand(struct request *request, struct nvt_error *err)
{
    struct nvt_sweep *sweep = &request->sweep;
    struct nvt_axis chosen[NVT_AXES_MOST] = {{0}};
    for (size_t i = 0; i < request->given_count; i++) {
        const char *option = request->given[i].option, *text = request->given[i].text;
        int at = nvt_axes_find(sweep->axes, option);
        if (at < 0)
            return nvt_fail(err, "--%s %s: %s has no such axis; see nvtally run --help", option,
                            text, sweep->axes->workload);
        if (nvt_axes_parse(&sweep->axes->axes[at], text, &chosen[at], err))
            return -1;
    }
    struct nvt_expansion all;
    if (nvt_axes_expand(sweep->axes, chosen, &all, err))
        return -1;
    sweep->configurations = all.items;
    sweep->count = all.count;
    request->left_out = all.left_out;
    const char *when = sweep->axes->belongs_when;
    if (!sweep->count)
        return nvt_fail(err, "none of these combinations is one of %s%s%s; see nvtally run --help",
                        sweep->axes->workload, when ? ": " : "", when ? when : "");
    return set_ranks(sweep, err);
}

/* Warm-ups and iterations that were not typed are the study's. */
static void set_lengths(struct nvt_sweep *sweep)
{
    int has_own = sweep->axes->iterations > 0;
    if (!sweep->warmup.count)
        sweep->warmup = (struct nvt_axis){1, {has_own ? sweep->axes->warmup : 10}};
    if (!sweep->repeat)
        sweep->repeat = 1;
    if (!sweep->iterations)
        sweep->iterations = has_own ? sweep->axes->iterations : 100;
}

/* 0 to go on, 1 when --help was answered, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    make_options(request);
    set_bare_flags(request, argc, argv);
    const int status = nvt_options_read(argc, argv, ":", request->options, err);
    if (status == 1)
        nvt_run_help(argv[optind]);
    if (status)
        return status;
    if (find_workload(request, argv[optind], err))
        return -1;
    if (optind + 1 < argc)
        return nvt_fail(err, "one workload at a time: %s", argv[optind + 1]);
    set_lengths(&request->sweep);
    if (nvt_sweep_find_nsys(&request->sweep, request->nsys, err) || expand(request, err))
        return -1;
    return nvt_sweep_check(&request->sweep, err);
}

/* --- running ----------------------------------------------------------------------------------------- */

/* The library of the backend that was asked for; auto takes the host's where no device answers. */
static int choose_backend(struct request *request, struct nvt_error *err)
{
    struct nvt_sweep *sweep = &request->sweep;
    char text[600];
    int is_cuda = !strcmp(request->backend, "cuda");
    if (strcmp(request->backend, "host")) {
        if (!nvt_find_library("libnvtally-cuda.so", sweep->library, sizeof(sweep->library), err) &&
            !nvt_ask_backend(sweep->library, &sweep->backend, err))
            return 0;
        nvt_error_text(err, text, sizeof(text));
        if (is_cuda)
            return nvt_fail(err, "--backend cuda: no CUDA device answers here: %s", text);
        /* What was asked for can still be wrong: one line, said when the run begins. */
        request->fell_back = 1;
    }
    return nvt_find_library("libnvtally-host.so", sweep->library, sizeof(sweep->library), err) ||
                   nvt_ask_backend(sweep->library, &sweep->backend, err)
               ? -1
               : 0;
}

static int check_backend(const struct nvt_sweep *sweep, struct nvt_error *err)
{
    int status = 0;
    for (size_t i = 0; i < sweep->count && sweep->axes->check_backend && !status; i++)
        status =
            sweep->axes->check_backend(sweep->configurations[i].values, sweep->backend.name, err);
    return status;
}

/* Once for all ranks. */
static void tell_left_out(const struct request *request)
{
    const char *when = request->sweep.axes->belongs_when;
    if (when && request->left_out && !request->sweep.ranks.rank)
        nvt_message(stderr, "%zu configuration%s left out: %s", request->left_out,
                    request->left_out > 1 ? "s are" : " is", when);
}

/* What was typed and has no meaning under the other values, such as sizes of another model. */
static void tell_unused(const struct request *request)
{
    const struct nvt_sweep *sweep = &request->sweep;
    for (size_t i = 0; i < request->given_count && !sweep->ranks.rank; i++) {
        int at = nvt_axes_find(sweep->axes, request->given[i].option), is_used = at < 0;
        for (size_t k = 0; k < sweep->count && !is_used; k++)
            is_used = sweep->configurations[k].present[at];
        if (!is_used)
            nvt_message(stderr, "note: --%s has no effect on any of these configurations",
                        request->given[i].option);
    }
}

/* Whether an option is one of these words. */
static int is_among(const char *words, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = words; (at = strstr(at, option)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return 1;
    return 0;
}

/* Who types no size gets the study's, which are a GPU's. */
static void tell_sizes(const struct request *request)
{
    const struct nvt_sweep *sweep = &request->sweep;
    const struct nvt_workload_axes *axes = sweep->axes;
    if (!axes->small || sweep->ranks.rank || strcmp(sweep->backend.name, "host") != 0)
        return;
    for (size_t i = 0; i < request->given_count; i++)
        if (is_among(axes->sized_by, request->given[i].option))
            return;
    nvt_message(
        stderr,
        "the published sizes are meant for a GPU; for a size that suits a CPU: nvtally run %s %s",
        axes->workload, axes->small);
}

/* Say what is to be known before, run, and tell how it ended. */
static int run_and_show(const struct request *request, int is_temporary, struct nvt_error *err)
{
    const struct nvt_sweep *sweep = &request->sweep;
    struct nvt_sweep_end end;
    if (request->fell_back && !sweep->ranks.rank)
        nvt_message(stderr, "no CUDA device answers here: using the host backend");
    tell_sizes(request);
    tell_left_out(request);
    tell_unused(request);
    if (nvt_sweep_run(sweep, &end, err))
        return nvt_message_error(stderr, err);
    return nvt_run_end(sweep, is_temporary, &end, err);
}

static int list_configurations(const struct request *request)
{
    const struct nvt_sweep *sweep = &request->sweep;
    tell_left_out(request);
    tell_unused(request);
    for (size_t i = 0; i < sweep->count; i++)
        printf("%s %s\n", sweep->axes->workload, sweep->configurations[i].text);
    return 0;
}

/* What `nvtally info --peak` has measured of this backend. */
static void recall_peak(struct nvt_sweep *sweep)
{
    struct nvt_cached_peak kept;
    if (!nvt_peak_cache_find(&sweep->backend, &kept))
        return;
    sweep->peak = kept.peak;
    snprintf(sweep->peak_date, sizeof(sweep->peak_date), "%s", kept.date);
}

/* What a sweep needs before its first run: backend, peaks, ranks, directory. 0, or -1 with err. */
static int prepare_sweep(struct request *request, struct nvt_error *err)
{
    struct nvt_sweep *sweep = &request->sweep;
    if (choose_backend(request, err) || check_backend(sweep, err))
        return -1;
    if (!request->peak)
        recall_peak(sweep);
    else if (nvt_ask_peak(sweep->library, &sweep->peak, err))
        return -1;
    if (sweep->launcher && nvt_launched_count(sweep, err))
        return -1;
    if (!sweep->directory && !(sweep->directory = nvt_temporary_make("run")))
        return nvt_fail(err, "no temporary folder: %s", strerror(errno));
    return 0;
}

static int run_sweep(struct request *request, struct nvt_error *err)
{
    int is_temporary = !request->sweep.directory;
    nvt_quiet_threads();
    if (prepare_sweep(request, err))
        return nvt_message_error(stderr, err);
    int status = run_and_show(request, is_temporary, err);
    nvt_temporary_remove();
    return status;
}

static int run_command(int argc, char **argv, char **typed)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct request *request = calloc(1, sizeof(*request));
    if (!request) {
        nvt_message(stderr, "out of memory");
        return 2;
    }
    request->backend = "auto";
    request->sweep.collect = (struct nvt_axis){1, {1}};
    request->sweep.seed = 1;
    request->sweep.argv = typed;
    int status = parse(argc, argv, request, &err);
    if (status < 0)
        (void)nvt_message_error(stderr, &err);
    if (status)
        status = status == 1 ? 0 : 2;
    else
        status = request->list ? list_configurations(request) : run_sweep(request, &err);
    free(request->sweep.configurations);
    free(request->sweep.launched);
    free(request);
    return status;
}

int nvt_cmd_run(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--worker"))
        return nvt_worker_main(argc - 1, argv + 1);
    /* getopt moves arguments about; env.json shall have them as they were typed. */
    char **typed = calloc((size_t)argc + 1, sizeof(*typed));
    if (!typed) {
        nvt_message(stderr, "out of memory");
        return 2;
    }
    memcpy(typed, argv, (size_t)argc * sizeof(*typed));
    int status = run_command(argc, argv, typed);
    free(typed);
    return status;
}
