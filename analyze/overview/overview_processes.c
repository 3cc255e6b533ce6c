#include "overview_processes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/quantity_text.h"
#include "../../lib/text.h"

/* What there is of a process. Before exec() another one may have had its number. */
struct process {
    int has_ranges;
    double cpu_ns;
};

/* Returns the CPU time of all. */
static double look_at(const struct nvt_trace *trace, struct process *processes)
{
    double all = 0;
    for (uint32_t i = 0; i < trace->ranges.count; i++)
        processes[trace->threads.process[trace->ranges.thread[i]]].has_ranges = 1;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        processes[trace->ops.process[i]].has_ranges = 1;
    for (uint32_t i = 0; i < trace->cpu_samples.count; i++) {
        const double ns = (double)trace->cpu_samples.cpu_ns[i];
        processes[trace->threads.process[trace->cpu_samples.thread[i]]].cpu_ns += ns;
        all += ns;
    }
    return all;
}

/* "python3 (1234)" of a command line. */
static void name_process(const struct nvt_trace *trace, uint32_t process, char *out, size_t size)
{
    const char *command = nvt_name(trace, trace->processes.name[process]);
    char word[48];
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(command, " "), command);
    snprintf(out, size, "%s (%" PRId64 ")", nvt_file_name(word), trace->processes.pid[process]);
}

/* A share of all CPU time that is worth a word. */
#define WORK_LEAST 0.01

static int is_bare(const struct nvt_trace *trace, const struct process *processes, uint32_t i,
                   double all)
{
    const struct nvt_processes *rows = &trace->processes;
    int is_forked = 0;
    if (processes[i].has_ranges || rows->is_launcher[i])
        return 0;
    for (uint32_t k = 0; k < rows->count; k++) {
        if (processes[k].has_ranges && rows->pid[k] == rows->pid[i])
            return 0;
        is_forked |= processes[k].has_ranges && rows->pid[k] == rows->parent_pid[i] &&
                     rows->name[k] == rows->name[i];
    }
    return is_forked || (processes[i].cpu_ns > 0 && processes[i].cpu_ns >= WORK_LEAST * all);
}

/* Processes of a trace beyond that number are workers of something, and not looked through. */
enum { PROCESSES_MOST = 2048 };

static int take_bare(struct nvt_overview *overview, const struct nvt_trace *trace)
{
    const uint32_t count = trace->processes.count;
    if (trace->recorder != NVT_BY_NVTALLY || !trace->ranges.count || count > PROCESSES_MOST)
        return 0;
    struct process *processes = calloc((size_t)count + 1, sizeof(*processes));
    if (!processes)
        return -1;
    const double all = look_at(trace, processes);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_bare(trace, processes, i, all))
            continue;
        if (!overview->bare++)
            name_process(trace, i, overview->bare_name, sizeof(overview->bare_name));
        if (processes[i].cpu_ns > 0)
            overview->bare_ns =
                (isnan(overview->bare_ns) ? 0 : overview->bare_ns) + processes[i].cpu_ns;
        overview->processes++;
    }
    for (uint32_t i = 0; i < count && overview->bare; i++)
        overview->processes += (uint32_t)processes[i].has_ranges;
    free(processes);
    return 0;
}

int nvt_overview_take_processes(struct nvt_overview *overview, const struct nvt_input *input,
                                struct nvt_error *err)
{
    struct nvt_buffer lines = {0};
    overview->bare_ns = NAN;
    int failed = nvt_diagnose_end(input, &lines, err);
    if (!failed && lines.size) {
        lines.data[lines.size - 1] = 0;
        overview->ended = (char *)lines.data;
    } else
        nvt_buffer_free(&lines);
    if (!failed && input->trace_count == 1 && take_bare(overview, input->traces[0].trace))
        failed = nvt_fail(err, "out of memory");
    return failed ? -1 : 0;
}

const char *nvt_overview_bare_text(const struct nvt_overview *overview, char out[NVT_OVERVIEW_TEXT])
{
    char more[32] = "", cpu[48] = "";
    if (overview->bare > 1)
        snprintf(more, sizeof(more), " and %u more", overview->bare - 1);
    if (!isnan(overview->bare_ns))
        snprintf(cpu, sizeof(cpu), ", %s of CPU time", NVT_TIME(overview->bare_ns));
    snprintf(out, NVT_OVERVIEW_TEXT, "%u without ranges%s: %s%s", overview->bare, cpu,
             overview->bare_name, more);
    return out;
}
