/*
 * What the program has in place of kernels/ when it is built without workloads (make PROFILER=1): an answer that says what
 * is missing and how to get it.
 */
#include <stdio.h>
#include <string.h>

#include "lib/commands.h"

const int nvt_has_workloads = 0;

static const char help_text[] =
    "usage: nvtally run WORKLOAD [OPTIONS]\n\n"
    "Not in this build: it was made with PROFILER=1, without the workloads. Missing\n"
    "are the command 'run', 'info --peak', the backends libnvtally-host.so and\n"
    "libnvtally-cuda.so, and the transports libnvtally-mpi.so and\n"
    "libnvtally-nccl.so. Everything else is there: it records programs, and reads\n"
    "the directories and traces that 'run' of another build made.\n\n"
    "To get the workloads, build with 'make' instead of 'make PROFILER=1', or\n"
    "install the package nvtally instead of nvtally-profiler.\n";

int nvt_cmd_run(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help_text, stdout);
            return 0;
        }
    fputs(
        "nvtally: run: this nvtally was built without workloads; 'nvtally run --help' says how to "
        "get them\n",
        stderr);
    return 2;
}

size_t nvt_measure_peaks(struct nvt_probe_item *items, size_t room)
{
    (void)items, (void)room;
    return 0;
}
