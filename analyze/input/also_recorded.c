#include "also_recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../model/counters.h"
#include "../model/mpi.h"

/* A file or a lock, which nsys does not record. */
static int has_subjects(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_os_calls *calls = &input->traces[i].trace->os_calls;
        for (uint32_t k = 0; k < calls->count; k++)
            if (calls->file[k] || calls->address[k])
                return 1;
    }
    return 0;
}

/* Counters of all traces, but for those of processes' memory; of these the machine's; and processes whose memory was sampled. */
struct counted {
    uint64_t counters, of_machine, of_processes;
};

static struct counted count_counters(const struct nvt_input *input)
{
    struct counted counted = {0};
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_trace *trace = input->traces[i].trace;
        if (!trace->counter_samples.count)
            continue;
        counted.of_machine += nvt_machine_counters(trace);
        counted.of_processes += nvt_processes_sampled(trace);
        for (uint32_t k = 0; k < trace->counters.count; k++)
            counted.counters += !trace->counters.is_of_process[k];
    }
    return counted;
}

void nvt_note_counters(struct nvt_input *input)
{
    const struct counted counted = count_counters(input);
    const uint64_t counters = counted.counters, of_processes = counted.of_processes;
    if (of_processes)
        nvt_note(input,
                 "note: the memory of %" PRIu64 " process%s was sampled: process_memory has it",
                 of_processes, of_processes > 1 ? "es" : "");
    if (counters)
        nvt_note(input,
                 "note: %" PRIu64 " counter%s: nvtx_counters and nvtx_counter_ranges have %s%s",
                 counters, counters > 1 ? "s" : "", counters > 1 ? "them" : "it",
                 counted.of_machine ? ", and machine has those of the machine" : "");
}

/* Of the first trace that calls one. */
static const char *library_of(const struct nvt_input *input)
{
    size_t i = 0;
    while (i + 1 < input->trace_count && !input->traces[i].trace->mpi_calls.count)
        i++;
    return nvt_mpi_library(input->traces[i].trace);
}

void nvt_note_calls(struct nvt_input *input)
{
    if (nvt_input_has_mpi(input))
        nvt_note(input,
                 "note: there are calls of %s: -r mpi_ranks,nvtx_mpi_sum,mpi_waits,stragglers",
                 library_of(input));
    if (nvt_input_has_os_calls(input))
        nvt_note(input, "note: there are OS calls: -r osrt_sum,nvtx_osrt_sum%s",
                 has_subjects(input)              ? ",osrt_files,osrt_locks,osrt_callers"
                 : nvt_input_has_os_stacks(input) ? ",osrt_callers"
                                                  : "");
    if (nvt_input_has_cuda_stacks(input))
        nvt_note(input, "note: there are stacks of CUDA calls: -r cuda_api_callers");
    if (nvt_input_has_cpu_samples(input))
        nvt_note(input, "note: there are CPU samples: -r cpu_functions,nvtx_cpu_sum");
    if (nvt_input_has_range_counts(input))
        nvt_note(input, "note: there are CPU counters: -r nvtx_cpu_counters");
}

void nvt_note_kinds(struct nvt_input *input)
{
    const struct counted counted = count_counters(input);
    char calls[40];
    snprintf(calls, sizeof(calls), "%s calls", library_of(input));
    const struct {
        int is_in;
        const char *name;
    } kinds[] = {{nvt_input_has_mpi(input), calls},
                 {nvt_input_has_os_calls(input), "OS calls"},
                 {nvt_input_has_cuda_stacks(input), "stacks"},
                 {nvt_input_has_cpu_samples(input), "CPU samples"},
                 {nvt_input_has_range_counts(input), "CPU counters"},
                 {counted.of_processes > 0, "process memory"},
                 {counted.of_machine > 0, "the machine"},
                 {counted.counters && !counted.of_machine && !counted.of_processes, "counters"}};
    char text[160] = "";
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++)
        if (kinds[i].is_in)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? ", " : "",
                     kinds[i].name);
    if (*text)
        nvt_note(input, "note: also recorded: %s", text);
}
