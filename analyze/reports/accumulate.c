/* accumulate: the sums of the workload of that name, a row a form. */
#include <inttypes.h>

#include "../published/transformer.h"
#include "report.h"

#define WORKLOAD "accumulate"

static void put_accumulate_row(struct nvt_table *table, const struct nvt_record *record)
{
    char bits[16] = "";
    const char *status = nvt_record_text(record, "status");
    double count = nvt_record_number(record, "count"), sum = nvt_record_number(record, "sum");
    double exact = nvt_record_number(record, "exact_sum");
    double pattern = nvt_record_number(record, "sum_bits");
    if (pattern >= 0 && pattern <= UINT32_MAX)
        snprintf(bits, sizeof(bits), "0x%08" PRIx32, (uint32_t)pattern);
    nvt_table_put(table, nvt_record_text(record, "form"),
                  NVT_IF(count >= 0 && count <= 9e15, (int64_t)count), sum, nvt_text_if_any(bits),
                  exact, 100 * (sum - exact) / exact, status ? status : "ok",
                  nvt_record_source(record));
}

static int put_accumulate(struct nvt_table *table, const struct nvt_making *making)
{
    const struct nvt_record *record;
    for (size_t i = 0; (record = nvt_input_record_of(making->input, WORKLOAD, &i));)
        put_accumulate_row(table, record);
    return nvt_table_rows(table) ? 0 : nvt_input_refuse(making->input, WORKLOAD, making->err);
}

const struct nvt_report nvt_report_accumulate = {
    .name = WORKLOAD,
    .about = "sums of 0.01 in formats that round each addition",
    .needs = NVT_NEEDS_RUNS,
    .title = "Sums of 0.01",
    .columns = {{"form", NVT_NAMES},
                {"additions", NVT_COUNTS},
                {"sum", NVT_REALS("", NVT_SHORTEST)},
                {"float bits", NVT_NAMES},
                {"exact", NVT_REALS("", NVT_SHORTEST)},
                {"error", NVT_REALS("%", 4)},
                {"status", NVT_NAMES},
                {"source", NVT_NAMES}},
    .of_input = put_accumulate,
    .published = nvt_published_accumulate,
};
