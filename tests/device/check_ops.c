/*
 * The library's entries, over the tables of all operations. It is compiled for the host in double
 * precision, which is the reference, and for the backend that is checked. A new operation takes a
 * function and a line in a table; the test test_device_check names those of kernels/ops that have
 * none.
 */
#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "check_arrays.h"

static const struct check_line *const tables[] = {
    check_backend,        check_fragments, check_language, check_low_precision,
    check_stored_numbers, check_images,    check_pipeline,
#ifdef NVT_CHECK_BROKEN
    check_broken,
#endif
};

static const struct check_line *line_at(int operation)
{
    for (size_t i = 0; i < NVT_COUNT_OF(tables); i++)
        for (const struct check_line *line = tables[i]; line->entry.name; line++)
            if (!operation--)
                return line;
    return NULL;
}

NVT_CHECK_API nvt_check_start_fn nvt_check_start;
NVT_CHECK_API nvt_check_entry_fn nvt_check_entry;
NVT_CHECK_API nvt_check_run_fn nvt_check_run;
NVT_CHECK_API nvt_check_lost_fn nvt_check_lost;

int nvt_check_start(char *device, size_t size, struct nvt_error *err)
{
    struct nvt_backend_facts facts;
    memset(&facts, 0, sizeof(facts));
    if (nvt_backend_start(&facts, err))
        return -1;
    snprintf(device, size, "%s, %s, %s", facts.name, facts.device, facts.libraries);
    return 0;
}

const struct nvt_check_entry *nvt_check_entry(int operation)
{
    const struct check_line *line = line_at(operation);
    return line ? &line->entry : NULL;
}

int nvt_check_run(int operation, int shape, uint64_t seed, struct nvt_check_outcome *outcome,
                  struct nvt_error *err)
{
    const struct check_line *line = line_at(operation);
    struct check check;
    memset(&check, 0, sizeof(check));
    memset(outcome, 0, sizeof(*outcome));
    check.random = seed;
    check.outcome = outcome;
    int has_run = !check_call(&check, line->call, line->entry.shapes[shape]);
    return check_finish(&check, has_run, err);
}

int nvt_check_lost(void)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char there[64] = {0};
    void *memory = nvt_backend_alloc(0, sizeof(there));
    if (memory) {
        nvt_backend_to_device(memory, there, sizeof(there));
        nvt_backend_free(0, memory);
    }
    nvt_backend_sync();
    return nvt_backend_failed(&err) || !memory;
}
