/*
 * The command `run`.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../collectors/session.h"
#include "../lib/commands.h"
#include "sweep.h"

static const char usage_text[] =
    "usage: nvtally run WORKLOAD [OPTIONS]\n\n"
    "Runs a documented workload over every combination of its axes, and records each one.\n"
    "An axis takes a list: --fragments 2,8,32\n\n"
    "Workloads\n"
    "  linear       y = x·Wᵀ + b, mean squared error, Adam\n"
    "  fragmented   the fragment study: linear, soft and hard fragment selection\n\n"
    "Axes of linear and fragmented (defaults: the published study)\n"
    "  --size LIST        in = out features, multiples of 32 (2048,4096,8192)\n"
    "  --batch LIST       samples (1,8,16)\n"
    "  --fragments LIST   fragments that a sample is cut into (2,8,32,128)\n"
    "  --mode LIST        linear,train,inference (all)\n"
    "  --variant LIST     of inference: looped,grouped (both)\n\n"
    "Options\n"
    "  --backend NAME     auto, host or cuda (auto: cuda when a device answers)\n"
    "  --collect LEVEL    off or nvtx (nvtx: a trace for each configuration)\n"
    "  --warmup N         iterations before the timed ones (10)\n"
    "  --iterations N     timed iterations (100)\n"
    "  --seed N           of weights and data (1)\n"
    "  --memory-limit N   bytes of device memory to use at most (K, M, G behind the number)\n"
    "  -o, --output DIR   where results.jsonl, env.json and the traces go\n"
    "                     (default: a temporary folder, removed after the table)\n"
    "  --help             this text\n\n"
    "Example:  nvtally run fragmented --size 256 --batch 1,8 --fragments 2,8,32 -o out\n";

struct request {
    struct nvt_sweep sweep;
    struct nvt_fragment_axes axes;
    const char *backend;
    int fell_back; /* auto found no CUDA device */
};

static int parse_number(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *value, struct nvt_error *err)
{
    struct nvt_axis axis;
    if (strchr(text, ',') || nvt_axis_numbers(&axis, option, text, least, most, err))
        return nvt_fail(err, "%s %s: a number from %lld to %lld", option, text, (long long)least,
                        (long long)most);
    *value = axis.values[0];
    return 0;
}

static int parse_bytes(const char *text, uint64_t *bytes, struct nvt_error *err)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift)
        end++;
    if (errno || *text < '0' || *text > '9' || *end || value > UINT64_MAX >> 8 >> shift || !value)
        return nvt_fail(err, "--memory-limit %s: a number of bytes, K, M or G may follow", text);
    *bytes = (uint64_t)value << shift;
    return 0;
}

enum { SIZE = 256, BATCH, FRAGMENTS, MODE, VARIANT, BACKEND, COLLECT, WARMUP, ITERATIONS, SEED,
       LIMIT, HELP };

static const struct option longs[] = {
    {"size", required_argument, NULL, SIZE},       {"batch", required_argument, NULL, BATCH},
    {"fragments", required_argument, NULL, FRAGMENTS}, {"mode", required_argument, NULL, MODE},
    {"variant", required_argument, NULL, VARIANT}, {"backend", required_argument, NULL, BACKEND},
    {"collect", required_argument, NULL, COLLECT}, {"warmup", required_argument, NULL, WARMUP},
    {"iterations", required_argument, NULL, ITERATIONS}, {"seed", required_argument, NULL, SEED},
    {"memory-limit", required_argument, NULL, LIMIT}, {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, HELP},             {NULL, 0, NULL, 0}};

static int parse_axis(struct request *request, int option, struct nvt_error *err)
{
    struct nvt_fragment_axes *axes = &request->axes;
    switch (option) {
    case SIZE:
        return nvt_axis_numbers(&axes->size, "--size", optarg, 32, 65536, err);
    case BATCH:
        return nvt_axis_numbers(&axes->batch, "--batch", optarg, 1, 65536, err);
    case FRAGMENTS:
        return nvt_axis_numbers(&axes->fragments, "--fragments", optarg, 1, 65536, err);
    case MODE:
        return nvt_axis_words(&axes->mode, "--mode", optarg, nvt_fragment_modes, err);
    default:
        return nvt_axis_words(&axes->variant, "--variant", optarg, nvt_fragment_variants, err);
    }
}

static int parse_option(struct request *request, int option, char **argv, struct nvt_error *err)
{
    struct nvt_sweep *sweep = &request->sweep;
    int64_t seed = 0;
    int status;
    switch (option) {
    case SIZE:
    case BATCH:
    case FRAGMENTS:
    case MODE:
    case VARIANT:
        return parse_axis(request, option, err);
    case BACKEND:
        request->backend = optarg;
        if (strcmp(optarg, "auto") && strcmp(optarg, "host") && strcmp(optarg, "cuda"))
            return nvt_fail(err, "--backend %s: auto, host or cuda", optarg);
        return 0;
    case COLLECT:
        sweep->collect = optarg;
        if (strcmp(optarg, "off") && strcmp(optarg, "nvtx"))
            return nvt_fail(err, "--collect %s: off or nvtx", optarg);
        return 0;
    case WARMUP:
        return parse_number("--warmup", optarg, 0, 1000000, &sweep->warmup, err);
    case ITERATIONS:
        return parse_number("--iterations", optarg, 1, 1000000, &sweep->iterations, err);
    case SEED:
        status = parse_number("--seed", optarg, 0, INT64_MAX, &seed, err);
        sweep->seed = (uint64_t)seed;
        return status;
    case LIMIT:
        return parse_bytes(optarg, &sweep->memory_limit, err);
    case 'o':
        sweep->directory = optarg;
        return 0;
    case ':':
        return nvt_fail(err, "%s needs a value; see nvtally run --help", argv[optind - 1]);
    default:
        return nvt_fail(err, "unknown option %s; see nvtally run --help", argv[optind - 1]);
    }
}

/* 0 to go on, 1 when --help was answered, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    opterr = 0;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, ":o:h", longs, NULL)) != -1;) {
        if (option == HELP || option == 'h') {
            fputs(usage_text, stdout);
            return 1;
        }
        if (parse_option(request, option, argv, err))
            return -1;
    }
    if (optind == argc)
        return nvt_fail(err, "run needs a workload: linear or fragmented");
    if (optind + 1 < argc)
        return nvt_fail(err, "one workload at a time: %s", argv[optind + 1]);
    request->sweep.workload = argv[optind];
    if (!strcmp(argv[optind], "linear")) {
        if (request->axes.mode.count)
            return nvt_fail(err, "linear has no --mode");
        request->axes.mode = (struct nvt_axis){1, {0}};
    } else if (strcmp(argv[optind], "fragmented")) {
        return nvt_fail(err, "no workload '%s': linear or fragmented", argv[optind]);
    }
    return nvt_fragment_configurations(&request->sweep, &request->axes, err);
}

/* The library of the backend that was asked for; auto takes the host's where no device answers. */
static int choose_backend(struct request *request, char *library, size_t size,
                          struct nvt_error *err)
{
    int is_cuda = !strcmp(request->backend, "cuda");
    if (is_cuda || !strcmp(request->backend, "auto")) {
        if (!nvt_find_library("libnvtally-cuda.so", library, size, err) &&
            !access("/dev/nvidiactl", F_OK)) {
            request->sweep.backend = "cuda";
            return 0;
        }
        if (is_cuda)
            return nvt_fail(err, "--backend cuda: no CUDA device answers here (nvtally info says "
                                 "what is missing)");
        /* What was asked for can still be wrong: one line, said when the run begins. */
        request->fell_back = 1;
    }
    request->sweep.backend = "host";
    return nvt_find_library("libnvtally-host.so", library, size, err);
}

static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(path);
}

static void processor_name(char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(out, size, "unknown");
    while (file && fgets(line, sizeof(line), file)) {
        char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (value && value[1]) {
            value[strcspn(value, "\n")] = 0;
            snprintf(out, size, "%s", value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* Run, show the study's table, and say what was not ok. */
static int run_and_show(struct request *request, int is_temporary, struct nvt_error *err)
{
    struct nvt_sweep *sweep = &request->sweep;
    char device[256], text[1200];
    char *stats[] = {(char *)"stats", (char *)sweep->directory, NULL};
    int interrupted = 0;
    if (request->fell_back)
        fputs("nvtally: no CUDA device answers here: using the host backend\n", stderr);
    processor_name(device, sizeof(device));
    int not_ok = nvt_sweep_run(sweep, &interrupted, err);
    if (not_ok < 0 || nvt_environment_write(sweep, device, err)) {
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(err, text, sizeof(text)));
        return 2;
    }
    fflush(stdout);
    int status = interrupted ? 0 : nvt_cmd_stats(2, stats);
    if (not_ok > 0)
        fprintf(stderr, "nvtally: %d of %zu configurations did not end well: see their status and "
                        "message in %s/results.jsonl\n",
                not_ok, sweep->count, sweep->directory);
    if (!is_temporary)
        fprintf(stderr, "nvtally: results in %s\n", sweep->directory);
    if (interrupted) {
        fprintf(stderr, "nvtally: stopped by signal %d; what was finished is kept\n", interrupted);
        return 128 + interrupted;
    }
    return status;
}

static int run_command(int argc, char **argv, char **typed)
{
    struct request request = {.sweep = {.warmup = 10, .iterations = 100, .seed = 1,
                                        .collect = "nvtx", .argc = argc, .argv = typed},
                              .backend = "auto"};
    struct nvt_error err = NVT_ERROR_INIT;
    char library[4096], temporary[] = "/tmp/nvtally-run-XXXXXX", text[1200];
    int status = parse(argc, argv, &request, &err), is_temporary = !request.sweep.directory;
    if (!status)
        status = choose_backend(&request, library, sizeof(library), &err);
    if (!status && is_temporary) {
        request.sweep.directory = mkdtemp(temporary);
        if (!request.sweep.directory)
            status = nvt_fail(&err, "no temporary folder: %s", strerror(errno));
    }
    if (status < 0)
        fprintf(stderr, "nvtally: %s\n", nvt_error_text(&err, text, sizeof(text)));
    if (status) {
        free(request.sweep.configurations);
        return status == 1 ? 0 : 2;
    }
    request.sweep.library = library;
    status = run_and_show(&request, is_temporary, &err);
    if (is_temporary)
        remove_directory(request.sweep.directory);
    free(request.sweep.configurations);
    return status;
}

int nvt_cmd_run(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--worker"))
        return nvt_worker_main(argc - 1, argv + 1);
    /* getopt moves arguments about; env.json shall have them as they were typed. */
    char **typed = calloc((size_t)argc + 1, sizeof(*typed));
    if (!typed) {
        fputs("nvtally: out of memory\n", stderr);
        return 2;
    }
    memcpy(typed, argv, (size_t)argc * sizeof(*typed));
    int status = run_command(argc, argv, typed);
    free(typed);
    return status;
}
