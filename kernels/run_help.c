/*
 * The help of `run`.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/program.h"
#include "run_help.h"
#include "axes.h"

static const char options_text[] =
    "\n"
    "Options\n"
    "  --backend NAME     auto, host or cuda; auto is cuda if a device answers\n"
    "                     (auto)\n"
    "  --collect LIST     off, nvtx, kernel (also device operations), full (also\n"
    "                     every API call), nsys (by nsys instead), control (off\n"
    "                     again, for the noise); several are interleaved (nvtx)\n"
    "  --nsys PATH        the program for --collect nsys (nsys on PATH)\n"
    "  --warmup LIST      iterations before the timed ones (10)\n"
    "  --iterations N     timed iterations (100)\n"
    "  --repeat N         runs of each configuration at each level, interleaved (1)\n"
    "  --interleave HOW   how levels take turns. runs: one level after the other;\n"
    "                     iterations: all at once, one iteration each in turn;\n"
    "                     within: each run is its own baseline, every iteration is\n"
    "                     paired with one without NVTX; halves: each run is its\n"
    "                     own baseline, with as many iterations before recording\n"
    "                     begins (runs)\n"
    "  --machine          sample the machine during runs that are recorded: clocks,\n"
    "                     power, heat, load; 'stats -r machine', 'diagnose' and\n"
    "                     'compare' read it\n"
    "  --peak             measure the backend's peaks, for 'phases' and\n"
    "                     'roofline'\n"
    "  --seed N           seed for weights and data (1)\n"
    "  --memory-limit N   bytes of device memory to use at most; K, M or G may\n"
    "                     follow\n"
    "  --time-limit N     seconds that a run may take at most\n"
    "  --one-process      run all configurations one after the other in one process;\n"
    "                     for --collect off\n"
    "  --launcher COMMAND start each run over MPI or NCCL by this command, such as\n"
    "                     \"mpirun -n 4\"; {partitions} is the run's value of that\n"
    "                     axis\n"
    "  --resume           continue the sweep in DIR: keep rows that are ok or oom,\n"
    "                     run the others\n"
    "  -o, --output DIR   where results.jsonl, env.json and the traces go;\n"
    "                     existing results move to DIR.old (default: a temporary\n"
    "                     folder, removed after the table)\n"
    "  -f, --force-overwrite\n"
    "                     replace existing results\n"
    "  --list             show the configurations and run nothing\n"
    "  --help             this text\n\n"
    "Example:  nvtally run fragmented --size 256 --batch 1,8 --fragments 2,8 -o out\n";

/* What other builds have. */
static void print_missing(void)
{
    static const struct {
        const char *library, *what;
    } parts[] = {{"libnvtally-host.so", "the host backend"},
                 {"libnvtally-cuda.so", "the CUDA backend"},
                 {"libnvtally-mpi.so", "MPI"},
                 {"libnvtally-nccl.so", "NCCL"}};
    char path[PATH_MAX];
    const char *separator = "\nNot in this build: ";
    for (size_t i = 0; i < NVT_COUNT_OF(parts); i++)
        if (nvt_find_library(parts[i].library, path, sizeof(path), NULL)) {
            printf("%s%s", separator, parts[i].what);
            separator = ", ";
        }
#ifndef HAVE_DNNL
    printf("%soneDNN", separator);
    separator = ", ";
#endif
    if (*separator == ',')
        puts(" (build from source to get them)");
}

void nvt_run_help(const char *workload)
{
    fputs("usage: nvtally run WORKLOAD [OPTIONS]\n\n"
          "Runs a documented workload in every combination of its axes, and records each\n"
          "one. An axis takes a list: --fragments 2,8,32. Defaults are in parentheses.\n",
          stdout);
    for (size_t i = 0; nvt_axes_at(i); i++) {
        if (workload && nvt_axes_of(workload) && strcmp(workload, nvt_axes_at(i)->workload))
            continue;
        printf("\n%s: %s\n", nvt_axes_at(i)->workload, nvt_axes_at(i)->about);
        nvt_axes_help(nvt_axes_at(i), stdout);
        if (nvt_axes_at(i)->iterations)
            printf("  --warmup %lld and --iterations %lld by default\n",
                   (long long)nvt_axes_at(i)->warmup, (long long)nvt_axes_at(i)->iterations);
    }
    fputs(options_text, stdout);
    print_missing();
}
