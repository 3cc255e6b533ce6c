#include "called_from.h"

#include "../../lib/clock.h"
#include "../../lib/text.h"
#include "../device/gaps.h"
#include "../model/call_stacks.h"
#include "../studies/hot_functions.h"

int nvt_called_from_begin(struct nvt_called_from *from, const struct nvt_trace *trace)
{
    return nvt_has_call_stacks(trace) ? nvt_call_sites_make(&from->sites, trace) : 0;
}

/* What fits into a number, of the times of strangers. */
#define MOST 4e18

void nvt_called_from_add(struct nvt_called_from *from, uint32_t frame, double time)
{
    const int64_t ns = (int64_t)(time < MOST ? time : MOST);
    if (!from->sites.trace || ns <= 0)
        return;
    uint32_t site = nvt_call_site(&from->sites, frame);
    from->ns = nvt_clock_sum(from->ns, ns);
    if (frame)
        from->known_ns = nvt_clock_sum(from->known_ns, ns);
    if (site && nvt_pairs_add(&from->callers, 0, site - 1, ns))
        from->failed = 1;
}

#define STACKS_FROM_NS 1000000

double nvt_called_from_add_sampled(struct nvt_called_from *from, uint32_t frame, uint32_t site,
                                   double time)
{
    const double unseen = (double)from->unseen_ns;
    if (!frame && time >= STACKS_FROM_NS) {
        from->unseen_ns = nvt_clock_sum(from->unseen_ns, (int64_t)(time < MOST ? time : MOST));
        return 0;
    }
    from->unseen_ns = frame ? 0 : from->unseen_ns;
    time += frame ? unseen : 0;
    nvt_called_from_add(from, site, time);
    return time;
}

void nvt_called_from_add_call(struct nvt_called_from *from, uint32_t call, double ns)
{
    if (from->sites.trace)
        nvt_called_from_add(from, call == NVT_NONE ? 0 : from->sites.trace->apis.frame[call], ns);
}

int nvt_called_from_tell(struct nvt_called_from *from, const char *what,
                         struct nvt_finding *finding)
{
    const struct nvt_trace *trace = from->sites.trace;
    nvt_called_from_add(from, 0, (double)from->unseen_ns);
    from->unseen_ns = 0;
    if (!trace || (!from->failed && !from->callers.count))
        return 0;
    if (from->failed || nvt_pairs_sort(&from->callers, 1))
        return -1;
    const struct nvt_pair *most = nvt_pairs_most(&from->callers, 0);
    if (!most || most->weight < from->ns - most->weight)
        return 0;
    char name[NVT_FRAME_NAME_MAX];
    const struct nvt_sampled_function function = {
        .name = nvt_frame_name(trace, most->part, name),
        .module = nvt_file_name(nvt_name(trace, trace->call_frames.module[most->part])),
        .owner = nvt_frame_owner(trace, most->part)};
    nvt_finding_append(
        finding, "; %s%.0f %% of %s called from %s", from->known_ns < from->ns ? "at least " : "",
        100 * (double)most->weight / (double)from->ns, what, NVT_FUNCTION_TEXT(&function));
    return 0;
}

void nvt_called_from_free(struct nvt_called_from *from)
{
    nvt_call_sites_free(&from->sites);
    nvt_pairs_free(&from->callers);
}

static int no_memory(const struct nvt_view *view, struct nvt_error *err)
{
    return nvt_fail_at(err, view->trace->path, -1, "out of memory");
}

static void add_gap(void *context, const struct nvt_gap *gap)
{
    nvt_called_from_add_call(context, gap->call, (double)gap->host_ns);
}

int nvt_called_from_tell_gaps(const struct nvt_view *view, unsigned cause,
                              struct nvt_finding *finding, struct nvt_error *err)
{
    struct nvt_called_from from = {.ns = 0};
    struct nvt_gap_sum sum = {
        .cause = (enum nvt_gap_cause)cause, .each = add_gap, .context = &from};
    int status = nvt_called_from_begin(&from, view->trace) ? no_memory(view, err) : 0;
    if (!status && from.sites.trace)
        status = nvt_view_gaps(view, &sum, err);
    if (!status && nvt_called_from_tell(&from, "that time", finding))
        status = no_memory(view, err);
    nvt_called_from_free(&from);
    return status;
}

int nvt_called_from_tell_calls(const struct nvt_view *view, int (*counts)(const char *name),
                               const char *what, struct nvt_finding *finding, struct nvt_error *err)
{
    const struct nvt_apis *apis = &view->trace->apis;
    struct nvt_called_from from = {.ns = 0};
    int status = nvt_called_from_begin(&from, view->trace);
    for (uint32_t i = 0; from.sites.trace && !status && i < apis->count; i++)
        if (nvt_is_steady_call(view, i) && counts(nvt_name(view->trace, apis->name[i])))
            nvt_called_from_add_call(&from, i, (double)(apis->end[i] - apis->start[i]));
    if (!status)
        status = nvt_called_from_tell(&from, what, finding);
    nvt_called_from_free(&from);
    return status ? no_memory(view, err) : 0;
}
