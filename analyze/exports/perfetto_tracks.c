/* Tracks of the export to Perfetto's binary traces. */
#include "perfetto.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "chrome_args.h"

/* Devices are processes of the file, with numbers above those of real ones (2^22 on Linux). */
#define DEVICE_PID (INT64_C(1) << 30)

/* The track in `event` is written. */
static void put_descriptor(struct nvt_pf *pf)
{
    nvt_proto_message(&pf->packet, 60, &pf->event);
    nvt_pf_put(pf);
}

/* A new track, whose descriptor is begun in `event`. Its number; 0 when out of memory. */
static uint32_t new_track(struct nvt_pf *pf, uint32_t parent_and_1, uint32_t thread,
                          const char *name)
{
    if (pf->failed || nvt_grow(&pf->tracks, pf->track_count, sizeof(*pf->tracks))) {
        pf->failed = 1;
        return 0;
    }
    pf->tracks[pf->track_count] =
        (struct nvt_pf_track){.parent = parent_and_1, .thread = thread, .name = strdup(name)};
    pf->failed |= !pf->tracks[pf->track_count].name;
    pf->event.size = 0;
    nvt_proto_number(&pf->event, 1, (uint64_t)pf->track_count + 1);
    if (parent_and_1)
        nvt_proto_number(&pf->event, 5, parent_and_1);
    return pf->track_count++;
}

static void put_process(struct nvt_pf *pf, int64_t pid, const char *name, const char *label)
{
    nvt_proto_number(&pf->inner, 1, (uint64_t)pid);
    if (*name)
        nvt_proto_text(&pf->inner, 6, nvt_pf_clean(pf, name));
    if (*label)
        nvt_proto_text(&pf->inner, 8, label);
    nvt_proto_message(&pf->event, 3, &pf->inner);
    put_descriptor(pf);
}

static void put_thread(struct nvt_pf *pf, int64_t pid, int64_t tid, const char *name)
{
    nvt_proto_number(&pf->inner, 1, (uint64_t)pid);
    nvt_proto_number(&pf->inner, 2, (uint64_t)tid);
    if (*name)
        nvt_proto_text(&pf->inner, 5, nvt_pf_clean(pf, name));
    nvt_proto_message(&pf->event, 4, &pf->inner);
    put_descriptor(pf);
}

void nvt_pf_describe_owners(struct nvt_pf *pf)
{
    const struct nvt_trace *trace = pf->trace;
    char label[32];
    for (uint32_t i = 0; i < trace->processes.count; i++) {
        const char *name = nvt_name(trace, trace->processes.name[i]);
        new_track(pf, 0, NVT_NONE, name);
        nvt_chrome_label(trace, i, label, sizeof(label));
        put_process(pf, trace->processes.pid[i], name, label);
    }
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const uint32_t process = trace->threads.process[i];
        const char *name = nvt_name(trace, trace->threads.name[i]);
        new_track(pf, process + 1, i, name);
        put_thread(pf, trace->processes.pid[process], trace->threads.tid[i], name);
    }
}

uint32_t nvt_pf_process_track(uint32_t process)
{
    return process == NVT_NONE ? 0 : process;
}

uint32_t nvt_pf_thread_track(const struct nvt_pf *pf, uint32_t thread)
{
    return thread == NVT_NONE ? 0 : pf->trace->processes.count + thread;
}

/* Where the track of something is kept; NULL: out of memory. *is_new: it has to be made. */
static uint32_t *place(struct nvt_pf *pf, struct nvt_map *map, uint64_t key, int *is_new)
{
    uint32_t *at = nvt_map_at(map, key);
    pf->failed |= !at;
    *is_new = at && *at == NVT_MAP_NONE;
    return at;
}

static uint32_t device_track(struct nvt_pf *pf, uint32_t process, uint32_t device, int64_t *pid)
{
    char name[256];
    int is_new;
    uint32_t *at = place(pf, &pf->devices, (uint64_t)process << 32 | device, &is_new);
    if (!at)
        return 0;
    if (is_new) {
        nvt_chrome_device(pf->trace, process, device, name, sizeof(name));
        *at = new_track(pf, 0, NVT_NONE, name);
        put_process(pf, DEVICE_PID + *at, name, "");
    }
    *pid = DEVICE_PID + *at;
    return *at;
}

uint32_t nvt_pf_stream_track(struct nvt_pf *pf, uint32_t process, uint32_t device, uint32_t stream,
                             const char *what)
{
    char name[80];
    int is_new;
    int64_t pid = 0;
    const uint32_t parent = device_track(pf, process, device, &pid);
    uint32_t *at = place(pf, &pf->lanes,
                         (uint64_t)parent << 40 | (uint64_t)(uint8_t)*what << 32 | stream, &is_new);
    if (!at || !is_new)
        return at ? *at : 0;
    snprintf(name, sizeof(name), "stream %" PRIu32 "%s", stream, what);
    *at = new_track(pf, parent + 1, NVT_NONE, name);
    /* What is beside streams has numbers that no stream has. */
    put_thread(pf, pid, *what ? (INT64_C(1) << 32) + *at : (int64_t)stream, name);
    return *at;
}

uint32_t nvt_pf_async_track(struct nvt_pf *pf, uint32_t thread)
{
    int is_new;
    uint32_t *at = place(pf, &pf->lanes, UINT64_C(1) << 63 | thread, &is_new);
    if (!at || !is_new)
        return at ? *at : 0;
    *at = new_track(pf, nvt_pf_thread_track(pf, thread) + 1, thread, "start/end ranges");
    nvt_proto_text(&pf->event, 2, "start/end ranges");
    put_descriptor(pf);
    return *at;
}

uint32_t nvt_pf_counter_track(struct nvt_pf *pf, uint32_t process, const char *name,
                              const char *unit)
{
    const uint32_t parent = process == NVT_NONE ? 0 : nvt_pf_process_track(process) + 1;
    const uint32_t track = new_track(pf, parent, NVT_NONE, name);
    nvt_proto_text(&pf->event, 2, nvt_pf_clean(pf, name));
    if (*unit)
        nvt_proto_text(&pf->inner, 6, nvt_pf_clean(pf, unit));
    nvt_proto_message(&pf->event, 8, &pf->inner);
    put_descriptor(pf);
    return track;
}

uint32_t nvt_pf_further_track(struct nvt_pf *pf, uint32_t at)
{
    if (pf->tracks[at].further)
        return pf->tracks[at].further - 1;
    const struct nvt_pf_track first = pf->tracks[at];
    /* Below the thread, or where it stands itself. */
    const char *const name = first.name ? first.name : "";
    const int is_async = !strcmp(name, "start/end ranges") && first.thread != NVT_NONE;
    const uint32_t parent = first.length || is_async ? first.parent : at + 1;
    const uint32_t track = new_track(pf, parent, first.thread, name);
    if (*name)
        nvt_proto_text(&pf->event, 2, nvt_pf_clean(pf, name));
    put_descriptor(pf);
    if (pf->failed)
        return at;
    pf->tracks[track].length = first.length + 1;
    pf->tracks[at].further = track + 1;
    return track;
}
