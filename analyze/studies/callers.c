#include "callers.h"

#include <stdio.h>

#include "../../lib/text.h"
#include "hot_functions.h"

/* Parts of a key. */
enum { OF_FUNCTION, OF_MODULE, OF_CALL };

/* A library's, or of no stack. */
static void key_without_function(struct nvt_callers *callers, uint32_t frame, uint32_t *key)
{
    const struct nvt_trace *trace = callers->sites.trace;
    char text[256] = "";
    const char *module = "";
    if (frame) {
        uint32_t row = nvt_calling_library(&callers->sites, frame);
        module = nvt_file_name(nvt_name(trace, trace->call_frames.module[row]));
        snprintf(text, sizeof(text), *module == '[' ? "%.250s" : "[%.250s]",
                 *module ? module : "unknown");
    }
    key[OF_FUNCTION] = nvt_groups_text(callers->groups, text);
    key[OF_MODULE] = nvt_groups_text(callers->groups, module);
}

void nvt_callers_add(struct nvt_callers *callers, uint32_t name, uint32_t frame, int64_t ns)
{
    const struct nvt_trace *trace = callers->sites.trace;
    const struct nvt_call_frames *frames = &trace->call_frames;
    uint32_t site = nvt_call_site(&callers->sites, frame);
    char text[NVT_FRAME_NAME_MAX];
    uint32_t key[3] = {[OF_CALL] = nvt_groups_string(callers->groups, name)};
    if (site) {
        const char *module = nvt_file_name(nvt_name(trace, frames->module[site - 1]));
        key[OF_FUNCTION] = nvt_groups_text(callers->groups, nvt_frame_name(trace, site - 1, text));
        key[OF_MODULE] = nvt_groups_text(callers->groups, *module ? module : NVT_PYTHON_MODULE);
    } else
        key_without_function(callers, frame, key);
    nvt_groups_add(callers->groups, nvt_groups_key(callers->groups, key, 3), ns);
}

int nvt_callers_group(struct nvt_groups *groups, const struct nvt_trace *trace,
                      void (*add)(struct nvt_callers *callers, const struct nvt_trace *trace))
{
    struct nvt_callers callers = {.groups = groups};
    int status = nvt_call_sites_make(&callers.sites, trace);
    if (!status)
        add(&callers, trace);
    nvt_call_sites_free(&callers.sites);
    return status;
}

void nvt_callers_put(struct nvt_table *table, struct nvt_groups *groups, uint32_t group)
{
    const struct nvt_summary times = nvt_groups_summary(groups, group);
    nvt_table_put(table, nvt_text_if_any(nvt_groups_part(groups, group, OF_FUNCTION)),
                  nvt_text_if_any(nvt_groups_part(groups, group, OF_MODULE)),
                  nvt_text_if_any(nvt_groups_part(groups, group, OF_CALL)),
                  groups->groups[group].count, groups->groups[group].total, &times);
}
