#include "diagnosed.h"

#include <stdlib.h>

#include "../../lib/grow.h"
#include "../device/communication.h"
#include "../device/shared.h"
#include "../input/rows.h"
#include "../model/flight_payload.h"
#include "../model/recording.h"
#include "../studies/rank_digest.h"

/* Whether ranks are compared by copies between devices, and not by collectives. */
static int communicates_by_copies(const struct nvt_trace *trace)
{
    int copies = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        if (!nvt_is_communication(trace, i))
            continue;
        if (trace->ops.kind[i] == NVT_OP_KERNEL)
            return 0;
        copies = 1;
    }
    return copies;
}

/* 0, 1, or -1 when out of memory. */
static int stays_whole(const struct nvt_input_trace *item)
{
    struct nvt_trace *trace = item->trace;
    uint32_t named = NVT_NO_STRING;
    if (item->runs || trace->mpi_calls.count || trace->os_calls.count || trace->was_stopped ||
        nvt_trace_meta(trace, NVT_FACT_ENDED) || nvt_trace_meta(trace, NVT_FLIGHT_FACT) ||
        communicates_by_copies(trace))
        return 1;
    if (nvt_rows_configuration(trace, &named))
        return -1;
    return named != NVT_NO_STRING;
}

static int find_devices(struct nvt_input_trace *item, struct nvt_error *err)
{
    struct nvt_used_devices devices = {0};
    int status = nvt_used_devices_make(&devices, item->trace, err);
    if (!status && nvt_resize(&item->worked_on, devices.count, sizeof(*item->worked_on)))
        status = nvt_fail_at(err, item->trace->path, -1, "out of memory");
    for (uint32_t i = 0; i < devices.count && !status; i++) {
        item->worked_on[i][0] = devices.items[i].process;
        item->worked_on[i][1] = devices.items[i].device;
        item->worked_on_count = i + 1;
    }
    nvt_used_devices_free(&devices);
    return status;
}

static int diagnose_trace(struct nvt_input_trace *item, struct nvt_error *err)
{
    const struct nvt_input alone = {.traces = item, .trace_count = 1};
    const int stays = stays_whole(item);
    if (stays > 0)
        return 1;
    struct nvt_diagnosed *diagnosed = stays ? NULL : calloc(1, sizeof(*diagnosed));
    if (!diagnosed)
        return nvt_fail_at(err, item->trace->path, -1, "out of memory");
    item->diagnosed = diagnosed;
    if (nvt_diagnosed_has(item->trace, &diagnosed->has))
        return nvt_fail_at(err, item->trace->path, -1, "out of memory");
    diagnosed->has_machine = nvt_has_machine(item->trace);
    if (item->trace->ops.count && nvt_idle_find(&diagnosed->idle, item->trace, &alone, err))
        return -1;
    return nvt_diagnosed_look(diagnosed, &alone, err) || find_devices(item, err) ? -1 : 0;
}

static void forget(struct nvt_diagnosed *diagnosed)
{
    free(diagnosed->findings.items);
    free(diagnosed->ends);
    free(diagnosed);
}

static struct nvt_ranks *make_ranks(const struct nvt_input_trace *from, struct nvt_error *err)
{
    return nvt_rank_digester.make(from, err);
}

static void free_ranks(struct nvt_ranks *digest)
{
    nvt_rank_digester.free(digest);
}

const struct nvt_input_digester nvt_diagnosis_digester = {.make = make_ranks,
                                                          .free = free_ranks,
                                                          .look = diagnose_trace,
                                                          .forget = forget,
                                                          .put = nvt_diagnosed_put,
                                                          .take = nvt_diagnosed_take};

const struct nvt_input_digester nvt_diagnosed_whole = {.free = free_ranks,
                                                       .look = diagnose_trace,
                                                       .forget = forget,
                                                       .put = nvt_diagnosed_put,
                                                       .take = nvt_diagnosed_take};

int nvt_diagnosed_is_enough(const struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_shared shared;
    size_t diagnosed = 0;
    for (size_t i = 0; i < input->trace_count; i++)
        diagnosed += input->traces[i].diagnosed != NULL;
    if (!diagnosed)
        return 1;
    if (diagnosed < input->trace_count || diagnosed < 2)
        return 0;
    return nvt_shared_find(&shared, input, err) ? -1 : !shared.is_any_seen;
}

int nvt_diagnosed_settle(struct nvt_input *input, struct nvt_error *err)
{
    const int enough = nvt_diagnosed_is_enough(input, err);
    for (size_t i = 0; i < input->trace_count && !enough; i++) {
        if (input->traces[i].diagnosed)
            forget(input->traces[i].diagnosed);
        input->traces[i].diagnosed = NULL;
    }
    return enough < 0 ? -1 : 0;
}
