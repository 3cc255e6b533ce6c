/* Reports as people name them: by nsys's older names too, and misspelt. */
#include <string.h>

#include "../../lib/nearest.h"
#include "report.h"

/* nsys renamed its reports in 2023.1; scripts from before still have these (Nsight Systems release
 * notes, "Statistical Reports Shipped With Nsight Systems"). */
static const struct {
    const char *old;
    const struct nvt_report *report;
} old_names[] = {
    {"cudaapisum", &nvt_report_cuda_api_sum},
    {"cudaapitrace", &nvt_report_cuda_api_trace},
    {"gpukernsum", &nvt_report_cuda_gpu_kern_sum},
    {"gpukerngbsum", &nvt_report_cuda_gpu_kern_gb_sum},
    {"gpumemsizesum", &nvt_report_cuda_gpu_mem_size_sum},
    {"gpumemtimesum", &nvt_report_cuda_gpu_mem_time_sum},
    {"gpusum", &nvt_report_cuda_gpu_sum},
    {"gputrace", &nvt_report_cuda_gpu_trace},
    {"kernexecsum", &nvt_report_cuda_kern_exec_sum},
    {"nvtxgpuproj", &nvt_report_nvtx_gpu_proj_trace},
    {"nvtxkernsum", &nvt_report_nvtx_kern_sum},
    {"nvtxppsum", &nvt_report_nvtx_pushpop_sum},
    {"nvtxpptrace", &nvt_report_nvtx_pushpop_trace},
    {"nvtxsesum", &nvt_report_nvtx_startend_sum},
    {"nvtxsum", &nvt_report_nvtx_sum},
};

static const struct nvt_report *find_either(const char *name)
{
    const struct nvt_report *report = nvt_report_find(name);
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]) && !report; i++)
        if (!strcmp(name, old_names[i].old))
            report = old_names[i].report;
    return report;
}

/* "cuda_gpu_kern_sum:base": nsys's reports take options behind their names. */
static int refuse_option(const char *name, struct nvt_error *err)
{
    char base[64];
    size_t length = strcspn(name, ":");
    if (!name[length] || length >= sizeof(base))
        return 0;
    memcpy(base, name, length);
    base[length] = 0;
    const struct nvt_report *report = find_either(base);
    if (!report)
        return 0;
    nvt_fail(err, "report '%s' takes no '%.100s': name it without", report->name, name + length);
    return 1;
}

/* "summary_calls": what reports print is headed by names, of which some are those of tables. */
static int refuse_table(const char *name, struct nvt_error *err)
{
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    for (size_t i = 0; i < count; i++)
        for (const char *const *table = reports[i]->further; table && *table; table++)
            if (!strcmp(name, *table)) {
                nvt_fail(err, "no report '%s': it is a table of the report '%s'", name,
                         reports[i]->name);
                return 1;
            }
    return 0;
}

const struct nvt_report *nvt_report_named(const char *name, struct nvt_error *err)
{
    struct nvt_nearest nearest = {.name = name};
    char hint[128];
    size_t count;
    const struct nvt_report *const *reports = nvt_reports(&count);
    const struct nvt_report *report = find_either(name);
    if (report || refuse_option(name, err) || refuse_table(name, err))
        return report;
    for (size_t i = 0; i < count; i++)
        nvt_nearest_offer(&nearest, reports[i]->name);
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
        nvt_nearest_offer(&nearest, old_names[i].old);
    nvt_fail(err, "no report '%s'%s; 'nvtally stats -r list' lists them", name,
             nvt_nearest_text(&nearest, hint, sizeof(hint)));
    return NULL;
}
