/*
 * The first lines of a report about devices: how busy they were, with which kernels, and what they
 * waited for.
 */
#include <math.h>
#include <string.h>

#include "../analyze/model/cuda_names.h"
#include "../analyze/path/critical_path.h"
#include "../analyze/device/gaps.h"
#include "../analyze/reports/report.h"
#include "label.h"
#include "story_sections.h"

enum { KERNELS = 3, KINDS_TOLD = 3, NAME_LONGEST = 48, CAUSES = NVT_GAP_HOST + 1 };

static const char *const causes[CAUSES] = {
    [NVT_GAP_LATENCY] = "although the next operation had been launched",
    [NVT_GAP_WAIT] = "while the host waited for the device before it launched more work",
    [NVT_GAP_LAUNCH] = "while the host was launching, more slowly than the device works",
    [NVT_GAP_LOAD] = "while single launches took the host 1 ms or more, as when code is loaded",
    [NVT_GAP_CALL] = "while the host was in another API call",
    [NVT_GAP_HOST] = "while the CPU ran non-CUDA code",
};

/* Between its first operation and its last, of each device; all together in the first line. */
static int put_busy(struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    const struct nvt_report *report = nvt_report_find("gpu_idle");
    struct nvt_tables tables = {0};
    double span = 0, busy = 0, least = INFINITY, most = 0;
    size_t devices = 0;
    int failed = nvt_report_make(report, input, &tables, err);
    const struct nvt_table *table = failed ? NULL : tables.items[0];
    for (size_t row = 0; table && row < nvt_table_rows(table); row++) {
        double all = (double)nvt_table_int(table, row, nvt_table_find(table, "Span (ns)"));
        double some = (double)nvt_table_int(table, row, nvt_table_find(table, "Busy (ns)"));
        if (!(all > 0))
            continue;
        span += all;
        busy += some;
        least = fmin(least, some / all);
        most = fmax(most, some / all);
        devices++;
    }
    if (!failed && devices)
        failed = nvt_buffer_printf(
            text, "\nDevice: busy %.1f %% of the time from its first operation to its last",
            100 * busy / span);
    if (!failed && devices > 1)
        failed = nvt_buffer_printf(text, " (%zu of them, %.1f to %.1f %%)", devices, 100 * least,
                                   100 * most);
    nvt_tables_free(&tables);
    return failed;
}

/* "41.2 % gemm, 20.1 % softmax" of the first rows of the kernels' table. */
static int put_kernels(struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    const struct nvt_report *report = nvt_report_find("cuda_gpu_kern_sum");
    struct nvt_tables tables = {0};
    char telling[NVT_TELLING_NAME_MAX], label[NVT_LABEL_SIZE(NAME_LONGEST)];
    int failed = nvt_report_make(report, input, &tables, err);
    const struct nvt_table *table = failed ? NULL : tables.items[0];
    for (size_t row = 0; table && row < nvt_table_rows(table) && row < KERNELS && !failed; row++) {
        const char *name = nvt_table_text(table, row, nvt_table_find(table, "Name"));
        const struct nvt_label item = {nvt_telling_name(name, strlen(name), telling), 1};
        nvt_label_write(&(struct nvt_labels){&item, 1}, 0, NAME_LONGEST, label, sizeof(label));
        failed =
            nvt_buffer_printf(text, "%s%.1f %% %s", row ? ", " : "\nTop kernels: ",
                              nvt_table_real(table, row, nvt_table_find(table, "Time (%)")), label);
    }
    nvt_tables_free(&tables);
    return failed;
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    double *sums = context;
    sums[gap->cause] += (double)(gap->end - gap->start);
}

/* What the devices waited for longest, where calls are on record. */
static int put_idle(const struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    double sums[CAUSES] = {0}, all = 0;
    int most = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].trace->apis.count &&
            nvt_gaps(input->traces[i].trace, input, add_gap, sums, NULL, err))
            return -1;
    for (int cause = 0; cause < CAUSES; cause++) {
        all += sums[cause];
        most = sums[cause] > sums[most] ? cause : most;
    }
    return all > 0 ? nvt_buffer_printf(text, "\nIdle: %.1f %% of the devices' idle time %s",
                                       100 * sums[most] / all, causes[most])
                   : 0;
}

/* "61.2 % Host, 11.3 % Communication" of what the critical path consists of. */
static int put_path(struct nvt_input *input, struct nvt_buffer *text, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    double shares[NVT_PATH_KINDS] = {0};
    int failed = nvt_report_make(nvt_report_find("critical_path"), input, &tables, err);
    const struct nvt_table *names = failed || tables.count < 2 ? NULL : tables.items[1];
    for (size_t row = 0; names && row < nvt_table_rows(names); row++)
        for (int kind = 0; kind < NVT_PATH_KINDS; kind++)
            if (!strcmp(nvt_table_text(names, row, nvt_table_find(names, "Kind")),
                        nvt_path_kind_name((enum nvt_path_kind)kind)))
                shares[kind] += nvt_table_real(names, row, nvt_table_find(names, "Path (%)"));
    for (int told = 0; names && told < KINDS_TOLD && !failed; told++) {
        int most = 0;
        for (int kind = 0; kind < NVT_PATH_KINDS; kind++)
            most = shares[kind] > shares[most] ? kind : most;
        if (shares[most] < 1)
            break;
        failed =
            nvt_buffer_printf(text, "%s%.1f %% %s", told ? ", " : "\nCritical path: ", shares[most],
                              nvt_path_kind_name((enum nvt_path_kind)most));
        shares[most] = 0;
    }
    nvt_tables_free(&tables);
    return failed;
}

int nvt_story_device(struct nvt_input *input, int has_overview, struct nvt_buffer *text,
                     struct nvt_error *err)
{
    size_t ops = 0, noted = input->notes.size;
    for (size_t i = 0; i < input->trace_count; i++)
        ops += input->traces[i].trace->ops.count;
    if (!ops)
        return 0;
    int failed = (!has_overview && put_busy(input, text, err)) || put_kernels(input, text, err) ||
                 put_idle(input, text, err) || put_path(input, text, err);
    input->notes.size = noted; /* the tables have them too */
    return failed ? -1 : 0;
}
