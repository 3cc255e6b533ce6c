/* Reports as people name them: by nsys's older names too, and misspelt. */
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/suggest.h"
#include "../device/kernel_naming.h"
#include "report.h"

/* nsys renamed its reports in 2023.1; scripts from before still have these (Nsight Systems release
 * notes, "Statistical Reports Shipped With Nsight Systems"). */
static const struct {
    const char *old;
    const struct nvt_report *report;
} old_names[] = {
    {"apigpusum", &nvt_report_cuda_api_gpu_sum},
    {"cudaapisum", &nvt_report_cuda_api_sum},
    {"cudaapitrace", &nvt_report_cuda_api_trace},
    {"gpukernsum", &nvt_report_cuda_gpu_kern_sum},
    {"gpukerngbsum", &nvt_report_cuda_gpu_kern_gb_sum},
    {"gpumemsizesum", &nvt_report_cuda_gpu_mem_size_sum},
    {"gpumemtimesum", &nvt_report_cuda_gpu_mem_time_sum},
    {"gpusum", &nvt_report_cuda_gpu_sum},
    {"gputrace", &nvt_report_cuda_gpu_trace},
    {"kernexecsum", &nvt_report_cuda_kern_exec_sum},
    {"kernexectrace", &nvt_report_cuda_kern_exec_trace},
    {"nvtxgpuproj", &nvt_report_nvtx_gpu_proj_trace},
    {"nvtxkernsum", &nvt_report_nvtx_kern_sum},
    {"nvtxppsum", &nvt_report_nvtx_pushpop_sum},
    {"nvtxpptrace", &nvt_report_nvtx_pushpop_trace},
    {"nvtxsesum", &nvt_report_nvtx_startend_sum},
    {"nvtxsum", &nvt_report_nvtx_sum},
    {"osrtsum", &nvt_report_osrt_sum},
};

static const struct nvt_report *find_either(const char *name)
{
    const struct nvt_report *report = nvt_report_find(name);
    for (size_t i = 0; i < NVT_COUNT_OF(old_names) && !report; i++)
        if (!strcmp(name, old_names[i].old))
            report = old_names[i].report;
    return report;
}

static const struct {
    const char *name;
    unsigned flag;
} options[] = {{"base", NVT_KERNEL_BASE}, {"nvtx-name", NVT_KERNEL_NVTX}};

#define OPTIONS NVT_COUNT_OF(options)

/* That a report takes no such option, and which it takes. */
static const struct nvt_report *refuse_names(const struct nvt_report *report, const char *option,
                                             struct nvt_error *err)
{
    char known[64] = "";
    for (size_t i = 0; i < OPTIONS; i++)
        if (report->naming & options[i].flag)
            snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s:%s",
                     *known ? " and " : ", but ", options[i].name);
    nvt_fail(err, "report '%s' takes no ':%.100s'%s", report->name, option,
             *known ? known : ": name it without");
    return NULL;
}

/* "cuda_gpu_kern_sum:base": *report gets what this names, NULL with err filled where an option is wrong. 0: it names none. */
static int find_with_options(const char *name, const struct nvt_report **report, unsigned *naming,
                             struct nvt_error *err)
{
    char text[128], *rest = text;
    if (snprintf(text, sizeof(text), "%s", name) >= (int)sizeof(text))
        return 0;
    *report = find_either(strsep(&rest, ":"));
    *naming = 0;
    if (!*report)
        return 0;
    for (char *option; *report && (option = strsep(&rest, ":"));) {
        size_t i = 0;
        while (i < OPTIONS && strcmp(option, options[i].name))
            i++;
        if (i < OPTIONS && (*report)->naming & options[i].flag)
            *naming |= options[i].flag;
        else
            *report = refuse_names(*report, option, err);
    }
    return 1;
}

/* "summary_calls": what reports print is headed by names, of which some are those of tables. */
static int refuse_table(const char *name, struct nvt_error *err)
{
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++) {
        const struct nvt_table_kind *more = reports[i]->more;
        const char *const *further = reports[i]->further;
        while (more && more->title && (!more->name || strcmp(name, more->name)))
            more++;
        while (further && *further && strcmp(name, *further))
            further++;
        if ((more && more->title) || (further && *further)) {
            nvt_fail(err, "no report '%s': it is a table of the report '%s'", name,
                     reports[i]->name);
            return 1;
        }
    }
    return 0;
}

const struct nvt_report *nvt_report_named(const char *name, unsigned *naming, struct nvt_error *err)
{
    struct nvt_suggestion suggestion = {.name = name};
    char hint[128];
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    const struct nvt_report *report = NULL;
    if (find_with_options(name, &report, naming, err) || refuse_table(name, err))
        return report;
    for (size_t i = 0; i < count; i++)
        nvt_suggest(&suggestion, reports[i]->name);
    for (size_t i = 0; i < NVT_COUNT_OF(old_names); i++)
        nvt_suggest(&suggestion, old_names[i].old);
    nvt_fail(err, "no report '%s'%s; 'nvtally stats -r list' lists them", name,
             nvt_suggestion_text(&suggestion, hint, sizeof(hint)));
    return NULL;
}

int nvt_report_has_runs(const struct nvt_report *report, const struct nvt_input *input,
                        struct nvt_error *err)
{
    return (report->needs & NVT_NEEDS_RUNS) && !input->run_count
               ? nvt_fail(err,
                          "report '%s' needs a directory that 'nvtally run' wrote, or its traces",
                          report->name)
               : 0;
}

int nvt_report_make_named(const struct nvt_report *report, unsigned naming, struct nvt_input *input,
                          struct nvt_tables *tables, struct nvt_error *err)
{
    if (nvt_report_has_runs(report, input, err))
        return -1;
    input->naming = naming;
    const int status = nvt_report_make(report, input, tables, err);
    input->naming = 0;
    return status;
}
