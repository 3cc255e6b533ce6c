#include "overview_study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_workload(struct nvt_overview_study *study, const char *workload)
{
    const size_t used = strlen(study->workloads);
    if (!workload || strstr(study->workloads, workload))
        return;
    snprintf(study->workloads + used, sizeof(study->workloads) - used, "%s%s", used ? ", " : "",
             workload);
}

/* 0, or -1 when out of memory. */
static int add_record(struct nvt_overview_study *study, const struct nvt_record *record)
{
    const char *status = nvt_record_text(record, "status");
    const double peak = nvt_record_number(record, "peak_allocated_bytes");
    add_workload(study, nvt_record_text(record, "workload"));
    study->runs++;
    study->out_of_memory += status && !strcmp(status, "oom");
    study->failed += status && strcmp(status, "ok") != 0 && strcmp(status, "oom") != 0;
    if (!(peak > 0) || peak <= study->peak_bytes)
        return 0;
    free(study->peak_of);
    study->peak_of = nvt_record_configuration(record);
    study->peak_bytes = peak;
    return study->peak_of ? 0 : -1;
}

int nvt_overview_study_make(struct nvt_overview_study *study, const struct nvt_input *input,
                            struct nvt_error *err)
{
    *study = (struct nvt_overview_study){.peak_bytes = NAN};
    const struct nvt_record *record;
    for (size_t i = 0; (record = nvt_input_record_of(input, NULL, &i));)
        if (add_record(study, record))
            return nvt_fail(err, "out of memory");
    return 0;
}

void nvt_overview_study_free(struct nvt_overview_study *study)
{
    free(study->peak_of);
    *study = (struct nvt_overview_study){0};
}
