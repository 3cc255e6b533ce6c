#include "nsys_options.h"

#include <stdio.h>
#include <string.h>

#include "../lib/count_of.h"
#include "ring.h"

#define NO_COUNTERS                                                                                \
    "hardware and kernel counters are not sampled; --trace machine has the host's load"
#define NO_NETWORK                                                                                 \
    "counters of the network are not sampled; --trace nccl has what NCCL sends and receives"
#define OWN_PROCESSES "the command and all that it starts are recorded, and nothing else"
#define WINDOWS       "it is for programs of Windows"
#define EMBEDDED      "it is for NVIDIA's embedded platforms and QNX"

static const struct nvt_nsys_option options[] = {
    {"show-output", 'w', "true", NULL, 0, NVT_NSYS_REFUSED,
     "the command keeps its output; redirect that instead"},
    {"stats", 0, "false", NULL, 0, NVT_NSYS_NOTED, "nvtally stats FILE prints them"},
    {"export", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "nvtally export FILE --to sqlite (or chrome, csv) writes it"},
    {"sample", 's', "none", "cpu,process-tree", NVT_TRACE_CPU, NVT_NSYS_REFUSED,
     "--trace cpu samples the command's processes, and no others"},
    {"cpuctxsw", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "context switches are not recorded; --trace osrt has the calls that block"},
    {"backtrace", 'b', "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"samples-per-backtrace", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"sampling-frequency", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "--cpu-rate N takes N samples a second"},
    {"sampling-period", 0, "", NULL, 0, NVT_NSYS_REFUSED, "--cpu-rate N takes N samples a second"},
    {"cudabacktrace", 0, "none,false", NULL, 0, NVT_NSYS_NOTED,
     "stacks of CUDA calls are not recorded; --trace cpu samples what runs"},
    {"python-sampling", 0, "false", "true", NVT_TRACE_CPU, NVT_NSYS_REFUSED, "true or false"},
    {"python-sampling-frequency", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "--cpu-rate N takes N samples a second"},
    {"python-backtrace", 0, "none,false", NULL, 0, NVT_NSYS_NOTED,
     "--trace osrt,cpu has Python's stacks, in samples and of calls that block"},
    {"cuda-memory-usage", 0, "false", "true", NVT_TRACE_MEMORY, NVT_NSYS_REFUSED, "true or false"},
    {"cuda-graph-trace", 0, "node", "graph", NVT_TRACE_GRAPH, NVT_NSYS_REFUSED, "node or graph"},
    {"cuda-um-cpu-page-faults", 0, "false", "true", NVT_TRACE_UM, NVT_NSYS_REFUSED,
     "true or false"},
    {"cuda-um-gpu-page-faults", 0, "false", "true", NVT_TRACE_UM, NVT_NSYS_REFUSED,
     "true or false"},
    {"cuda-event-trace", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"cuda-flush-interval", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"gpu-metrics-device", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "--trace metrics samples counters of the GPU"},
    {"gpu-metrics-devices", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "--trace metrics samples counters of the GPU"},
    {"gpu-metrics-set", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"gpu-metrics-frequency", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"gpuctxsw", 0, "false", NULL, 0, NVT_NSYS_NOTED, "context switches are not recorded"},
    {"mpi-impl", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"stop-on-range-end", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"capture-range-end", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"stop-on-exit", 'x', "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"env-var", 'e', "", NULL, 0, NVT_NSYS_REFUSED, "env NAME=VALUE nvtally record … sets it"},
    {"inherit-environment", 'n', "true", NULL, 0, NVT_NSYS_REFUSED,
     "the command has our environment; nvtally record … -- env -u NAME COMMAND takes a variable "
     "away"},
    {"nvtx-domain-include", 0, "", NULL, 0, NVT_NSYS_NOTED, "all domains are recorded"},
    {"nvtx-domain-exclude", 0, "", NULL, 0, NVT_NSYS_NOTED, "all domains are recorded"},
    {"trace-fork-before-exec", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"cuda-trace-all-apis", 0, "false", NULL, 0, NVT_NSYS_NOTED,
     "calls that frameworks make all the time are left out; --trace api has the others"},
    {"cuda-trace-scope", 0, "process-tree", NULL, 0, NVT_NSYS_NOTED, OWN_PROCESSES},
    {"process-scope", 0, "process-tree,main", NULL, 0, NVT_NSYS_NOTED, OWN_PROCESSES},
    {"flush-on-cudaprofilerstop", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"dask", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "functions of Dask have no ranges; --trace osrt,cpu shows what its workers run"},
    {"python-functions-trace", 0, "none", NULL, 0, NVT_NSYS_NOTED,
     "no ranges are made for the functions of a list; --trace cpu samples Python's functions"},
    {"osrt-backtrace-depth", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"osrt-backtrace-stack-size", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"osrt-backtrace-threshold", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"osrt-file-access", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"debug-symbols", 0, "", NULL, 0, NVT_NSYS_NOTED,
     "debug files are looked for below /usr/lib/debug/.build-id"},
    {"nic-metrics", 0, "false,none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"storage-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"event-sample", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"event-sampling-frequency", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"event-sampling-interval", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"sampling-trigger", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"cpu-core-events", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"cpu-core-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"cpu-socket-events", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"cpu-socket-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"os-events", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"ftrace", 0, "", NULL, 0, NVT_NSYS_NOTED, "events of the kernel are not recorded"},
    {"ftrace-keep-user-config", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"opengl-gpu-workload", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"vulkan-gpu-workload", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"gpu-video-device", 0, "none", NULL, 0, NVT_NSYS_NOTED, "video engines are not recorded"},
    {"command-file", 0, "", NULL, 0, NVT_NSYS_REFUSED, "write its options on the command line"},
    {"run-as", 0, "", NULL, 0, NVT_NSYS_REFUSED, "sudo -u USER nvtally record … runs both"},
    {"start-later", 'Y', "false", NULL, 0, NVT_NSYS_REFUSED,
     "--delay SECONDS or --capture RANGE begin to record later"},
    {"session-new", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"hotkey-capture", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"duration-frames", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "--duration SECONDS or --capture RANGE/FROM-TO end the recording"},
    {"resolve-symbols", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"after-collection-start", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "with --dormant, run the command after 'nvtally ctl start'"},
    {"after-report-ready", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "nvtally record … ; COMMAND runs it when the trace is complete"},
    {"auto-report-name", 0, "false", NULL, 0, NVT_NSYS_NOTED,
     "-o names the trace, by %h, %p and %q{NAME}"},
    {"clock-frequency-changes", 0, "false", NULL, 0, NVT_NSYS_NOTED,
     "--trace machine has the clocks"},
    {"cpu-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"discard-environment", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"enable", 0, "", NULL, 0, NVT_NSYS_NOTED,
     "plug-ins of nsys are not loaded; --trace machine has clocks, power and load"},
    {"event-sampling-multiplex-interval", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"gds-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_COUNTERS},
    {"gds-libs-path", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"ib-net-info-devices", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-net-info-files", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-net-info-output", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"ib-switch-congestion-device", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-switch-congestion-devices", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-switch-congestion-nic-device", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"ib-switch-congestion-percent", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"ib-switch-congestion-threshold-high", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"ib-switch-metrics", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-switch-metrics-device", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-switch-metrics-devices", 0, "none", NULL, 0, NVT_NSYS_NOTED, NO_NETWORK},
    {"ib-switch-metrics-nic-device", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"start-frame-index", 0, "", NULL, 0, NVT_NSYS_REFUSED,
     "--delay SECONDS or --capture RANGE begin to record later"},
    {"syscall", 0, "none,false", NULL, 0, NVT_NSYS_NOTED,
     "system calls are not recorded; --trace osrt has the calls of libc that may block"},
    /* Of other systems: what is asked for cannot happen here. */
    {"dx-force-declare-adapter-removal-support", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"dx12-gpu-workload", 0, "false,none", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"dx12-wait-calls", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"etw-provider", 0, "none", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"injection-use-detours", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"isr", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"retain-etw-files", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"wddm-additional-events", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"wddm-backtraces", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"wddm-memory-trace", 0, "false", NULL, 0, NVT_NSYS_NOTED, WINDOWS},
    {"accelerator-trace", 0, "none", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"cpu-cluster-events", 0, "none", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"qnx-kernel-events", 0, "none", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"qnx-kernel-events-mode", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"soc-metrics", 0, "false", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"soc-metrics-frequency", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"soc-metrics-set", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"vsync", 0, "false", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"xhv-trace", 0, "none", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
    {"xhv-trace-events", 0, "*", NULL, 0, NVT_NSYS_NOTED, ""},
    {"xhv-vm-symbols", 0, "none", NULL, 0, NVT_NSYS_NOTED, EMBEDDED},
};

const struct nvt_nsys_option *nvt_nsys_options(size_t *count)
{
    *count = NVT_COUNT_OF(options);
    return options;
}

/* Whether a value, up to a ':' in it ("graph:host-only"), is one of a list. */
static int is_among(const char *value, const char *list)
{
    size_t length = strcspn(value, ":");
    if (!list || !strcmp(list, "*"))
        return list != NULL;
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == length && !strncmp(at, value, length))
            return 1;
    return 0;
}

int nvt_nsys_take(const struct nvt_nsys_option *option, const char *value, uint64_t *levels,
                  char *note, size_t size, struct nvt_error *err)
{
    if (is_among(value, option->without))
        return 0;
    if (is_among(value, option->with)) {
        *levels |= option->levels;
        return 0;
    }
    if (option->otherwise == NVT_NSYS_REFUSED)
        return nvt_fail(err, "--%s=%.80s, an option of nsys: %s", option->name, value,
                        option->place);
    snprintf(note + strlen(note), size - strlen(note), "--%s=%.80s: %s\n", option->name, value,
             option->place);
    return 0;
}
