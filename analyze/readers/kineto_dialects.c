#include "kineto_dialects.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"

enum lane { UNKNOWN, HOST, STREAM, DERIVED, COPIES, BARRIERS, HIP_CALLS, HSA_CALLS };

/* The category of rocprof's arrows. */
#define ROCPROF_ARROWS "DataFlow"

/* How the stream of a lane is known: the number in the thread's name, behind a word in the process's, or the thread's own. */
enum numbering { BY_THREAD_NAME, BY_PROCESS_NAME, BY_DEVICE };

static const struct dialect {
    const char *process; /* its name has this */
    const char *thread;  /* the thread's begins so; "": any */
    enum lane lane;
    enum numbering numbering;
    const char *backend; /* NULL: CUDA */
} table[] = {
    {"/stream:", "", STREAM, BY_PROCESS_NAME, NULL}, /* TensorFlow 1 */
    {"/device:GPU:", "Stream #", STREAM, BY_THREAD_NAME, NULL},
    {"/device:GPU:", "", DERIVED, BY_THREAD_NAME, NULL},
    {"/device:TPU:", "XLA Ops", STREAM, BY_THREAD_NAME, "tpu"},
    {"/device:TPU:", "", DERIVED, BY_THREAD_NAME, "tpu"},
    {"Ascend Hardware", "Stream ", STREAM, BY_THREAD_NAME, "npu"},
    {"Overlap Analysis", "", DERIVED, BY_THREAD_NAME, "npu"},
    {"CUDA functions", "", STREAM, BY_DEVICE, NULL},
};

/* Of rocprof, whose names are these alone. */
static const struct {
    const char *process; /* '#' stands for a number */
    enum lane lane;
} rocprof[] = {
    {"CPU HIP API", HIP_CALLS}, {"CPU HSA API", HSA_CALLS}, {"GPU Barriers#", BARRIERS},
    {"COPY", COPIES},           {"GPU#", STREAM},           {"Markers and Ranges", HOST}};

/* The number behind the last of some words in a name; `missing` where there is none. */
static uint32_t number_behind(const char *name, const char *words, uint32_t missing)
{
    const char *at = strstr(name, words);
    for (const char *next = at; next; next = strstr(next + 1, words))
        at = next;
    if (!at || !isdigit((unsigned char)at[strlen(words)]))
        return missing;
    return (uint32_t)strtoul(at + strlen(words), NULL, 10);
}

static uint32_t first_number(const char *name, uint32_t missing)
{
    name += strcspn(name, "0123456789");
    return *name ? (uint32_t)strtoul(name, NULL, 10) : missing;
}

/* TensorFlow 1 has all of a device's streams in one lane, and again each in its own, or not. */
static int has_numbered_streams(const struct nvt_kineto *reader)
{
    for (uint32_t i = 0; i < reader->owner_count; i++) {
        const char *at = strstr(nvt_name(reader->trace, reader->owners[i].name), "/stream:");
        if (at && isdigit((unsigned char)at[strlen("/stream:")]))
            return 1;
    }
    return 0;
}

static int is_like(const char *name, const char *pattern)
{
    const size_t same = strcspn(pattern, "#");
    if (strncmp(name, pattern, same) != 0)
        return 0;
    return !pattern[same] ? !name[same]
                          : name[same] && !name[same + strspn(name + same, "0123456789")];
}

/* One of the first two names, or the third, is in each of its files that have a device or calls. */
static int is_rocprof(struct nvt_kineto *reader)
{
    int *is = &reader->dialects.is_rocprof;
    for (uint32_t i = 0; i < reader->owner_count && !*is; i++)
        for (size_t k = 0; k < 3 && !*is; k++)
            *is = is_like(nvt_name(reader->trace, reader->owners[i].name), rocprof[k].process);
    *is = *is ? *is : -1;
    return *is > 0;
}

static void place_rocprof(struct nvt_kineto *reader, struct nvt_kineto_owner *lane,
                          const char *process)
{
    for (size_t i = 0; i < NVT_COUNT_OF(rocprof); i++)
        if (is_like(process, rocprof[i].process))
            lane->lane = (uint8_t)rocprof[i].lane;
    reader->backend = "hip";
    lane->device = first_number(process, 0);
    lane->stream = reader->event.tid < 0 ? 0 : (uint32_t)reader->event.tid;
}

static void place(struct nvt_kineto *reader, struct nvt_kineto_owner *lane, const char *process,
                  const char *thread)
{
    const struct dialect *dialect = table;
    const struct dialect *const end = table + NVT_COUNT_OF(table);
    lane->lane = HOST;
    reader->dialects.has_host = 1;
    if (is_rocprof(reader)) {
        place_rocprof(reader, lane, process);
        return;
    }
    while (dialect < end && !(strstr(process, dialect->process) &&
                              !strncmp(thread, dialect->thread, strlen(dialect->thread))))
        dialect++;
    if (dialect == end)
        return;
    const uint32_t tid = reader->event.tid < 0 ? 0 : (uint32_t)reader->event.tid;
    lane->lane = (uint8_t)dialect->lane;
    reader->backend = dialect->backend ? dialect->backend : reader->backend;
    lane->device = number_behind(process, "GPU:", number_behind(process, "TPU:", 0));
    lane->stream = first_number(thread, tid);
    if (dialect->numbering == BY_DEVICE) {
        lane->device = tid;
        lane->stream = 0;
    } else if (dialect->numbering == BY_PROCESS_NAME) {
        lane->stream = number_behind(process, dialect->process, 0);
        if (strstr(process, "/stream:all") && has_numbered_streams(reader))
            lane->lane = DERIVED;
    }
}

/* Whether a process of that name has lanes that are not the host's. */
static int has_lanes(const char *process)
{
    for (size_t i = 0; i < NVT_COUNT_OF(table); i++)
        if (strstr(process, table[i].process))
            return 1;
    for (size_t i = 0; i < NVT_COUNT_OF(rocprof); i++)
        if (rocprof[i].lane != HOST && is_like(process, rocprof[i].process))
            return 1;
    return 0;
}

void nvt_dialect_name(struct nvt_kineto *reader, const struct nvt_kineto_owner *process,
                      const struct nvt_kineto_owner *thread, const char *name)
{
    struct nvt_kineto_dialects *dialects = &reader->dialects;
    if (thread)
        dialects->is_late |= thread->lane != UNKNOWN && thread->name != reader->event.label &&
                             has_lanes(nvt_name(reader->trace, process->name));
    else
        dialects->is_late |=
            dialects->has_host && process->name != reader->event.label && has_lanes(name);
}

/* --- operations --- */

static int is_copy(const struct nvt_kineto *reader, const char *name)
{
    return nvt_kineto_int(&reader->event, NVT_KN_COPY, 0) || !strncasecmp(name, "memcpy", 6);
}

static int add_op(struct nvt_kineto *reader, const struct nvt_kineto_owner *lane)
{
    struct nvt_kineto_event *event = &reader->event;
    const char *name = nvt_name(reader->trace, event->name);
    if (lane->lane != COPIES)
        nvt_kineto_set(event, NVT_KN_DEVICE, lane->device);
    if (reader->dialects.is_rocprof > 0)
        nvt_kineto_set(event, NVT_KN_PROCESS, nvt_kineto_int(event, NVT_KN_PID, -1));
    nvt_kineto_set(event, NVT_KN_STREAM, lane->stream);
    reader->dialects.has_ops = 1;
    const int is_set =
        !strncasecmp(name, "memset", 6) || (lane->lane == COPIES && strstr(name, "Fill") != NULL);
    const int is_of_copies = lane->lane == COPIES || is_copy(reader, name);
    const enum nvt_op_kind kind = is_set         ? NVT_OP_MEMSET
                                  : is_of_copies ? NVT_OP_MEMCPY
                                                 : NVT_OP_KERNEL;
    if (nvt_kineto_add_op(reader, kind))
        return -1;
    return reader->dialects.is_rocprof > 0 && nvt_rocprof_op(reader) ? nvt_kineto_no_memory(reader)
                                                                     : 0;
}

/* A call, or a range of ROCTx, of a process and a thread that its args say. As nvt_dialect_take. */
static int take_rocprof(struct nvt_kineto *reader, uint8_t lane)
{
    const int64_t pid = reader->event.pid;
    reader->event.pid = nvt_kineto_int(&reader->event, NVT_KN_PID, pid);
    if (lane == HOST)
        return 0;
    if (nvt_kineto_add_api(reader, lane == HIP_CALLS ? NVT_API_RUNTIME : NVT_API_DRIVER))
        return -1;
    return nvt_rocprof_call(reader, pid) ? nvt_kineto_no_memory(reader) : 1;
}

int nvt_dialect_take(struct nvt_kineto *reader)
{
    const struct nvt_kineto_owner *process;
    struct nvt_kineto_owner *lane;
    if (nvt_kineto_owners(reader, &process, &lane))
        return nvt_kineto_no_memory(reader);
    if (lane->lane == UNKNOWN)
        place(reader, lane, nvt_kineto_owner_name(reader, process, reader->event.pid),
              nvt_kineto_owner_name(reader, lane, reader->event.tid));
    if (reader->dialects.is_rocprof > 0 &&
        (lane->lane == HOST || lane->lane == HIP_CALLS || lane->lane == HSA_CALLS))
        return take_rocprof(reader, lane->lane);
    if (lane->lane == HOST)
        return 0;
    if (lane->lane == DERIVED || lane->lane == BARRIERS) {
        *(lane->lane == DERIVED ? &reader->dialects.derived : &reader->dialects.barriers) += 1;
        return 1;
    }
    return add_op(reader, lane) ? -1 : 1;
}

/* --- details --- */

void nvt_dialect_times(struct nvt_kineto_event *event)
{
    const int64_t begin = nvt_kineto_int(event, NVT_KN_BEGIN_NS, -1),
                  end = nvt_kineto_int(event, NVT_KN_END_NS, -1);
    if (event->phase != 'X' || !event->has_time || !event->has_duration || begin < 0 || end < begin)
        return;
    event->time = begin;
    event->duration = end - begin;
}

/* Numbers "8,1,1" behind "grid:". */
static unsigned read_dimensions(const char *text, uint32_t *out)
{
    unsigned count = 0;
    while (count < 3 && isdigit((unsigned char)*text)) {
        char *end;
        out[count++] = (uint32_t)strtoul(text, &end, 10);
        text = end + (*end == ',');
    }
    return count;
}

void nvt_dialect_details(struct nvt_kineto_event *event, const char *text, size_t size)
{
    char copy[256], *rest = NULL;
    snprintf(copy, sizeof(copy), "%.*s", (int)(size < sizeof(copy) ? size : sizeof(copy) - 1),
             text);
    for (char *word = strtok_r(copy, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        char *value = strchr(word, ':');
        if (!value)
            continue;
        *value++ = 0;
        if (!strcmp(word, "grid"))
            event->grid_size = read_dimensions(value, event->grid);
        else if (!strcmp(word, "block"))
            event->block_size = read_dimensions(value, event->block);
        else if (!strcmp(word, "regs"))
            nvt_kineto_set(event, NVT_KN_REGISTERS, strtol(value, NULL, 10));
        else if (!strcmp(word, "static_shared"))
            nvt_kineto_set(event, NVT_KN_SHARED, strtol(value, NULL, 10));
        else if (!strcmp(word, "dynamic_shared"))
            nvt_kineto_set(event, NVT_KN_DYNAMIC_SHARED, strtol(value, NULL, 10));
        else if (!strcmp(word, "size"))
            nvt_kineto_set(event, NVT_KN_BYTES, strtoll(value, NULL, 10));
        else if (!strcmp(word, "kind_src"))
            nvt_kineto_set(event, NVT_KN_COPY, 1);
    }
}

/* --- launches --- */

static int add_launch(struct nvt_kineto *reader, struct nvt_map *map, uint64_t key, uint32_t thread,
                      int64_t time)
{
    struct nvt_kineto_dialects *dialects = &reader->dialects;
    if (nvt_grow(&dialects->launches, dialects->launch_count, sizeof(*dialects->launches)) ||
        nvt_map_set(map, key, dialects->launch_count))
        return nvt_kineto_no_memory(reader);
    dialects->launches[dialects->launch_count++] = (struct nvt_kineto_launch){thread, time};
    return 0;
}

int nvt_dialect_is_call(const struct nvt_kineto *reader)
{
    static const char *const prefixes[] = {"cuda", "cu", "hip"};
    const char *name = nvt_name(reader->trace, reader->event.name);
    if (*name != 'c' && *name != 'h')
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(prefixes); i++) {
        const size_t size = strlen(prefixes[i]);
        if (!strncmp(name, prefixes[i], size) && isupper((unsigned char)name[size]))
            return nvt_kineto_size(&reader->event, NVT_KN_CORRELATION) != 0;
    }
    return 0;
}

int nvt_dialect_launch(struct nvt_kineto *reader, uint32_t thread)
{
    const uint64_t correlation = nvt_kineto_size(&reader->event, NVT_KN_CORRELATION);
    return correlation ? add_launch(reader, &reader->dialects.by_correlation, correlation, thread,
                                    reader->event.time)
                       : 0;
}

/* Of an operation that no id links: where an arrow ends. */
static uint64_t end_key(uint32_t device, int64_t time)
{
    return (uint64_t)time * 64 + device % 64;
}

int nvt_dialect_follows(const char *category)
{
    if (*category != 'c' && *category != *ROCPROF_ARROWS) /* as most are */
        return 0;
    return !strcmp(category, "cpu_to_cuda") || !strcmp(category, ROCPROF_ARROWS);
}

int nvt_dialect_flow(struct nvt_kineto *reader)
{
    struct nvt_kineto_dialects *dialects = &reader->dialects;
    const struct nvt_kineto_event *event = &reader->event;
    const char *category = nvt_name(reader->trace, event->category);
    if (!nvt_dialect_follows(category) || !event->has_time)
        return 0;
    if (!strcmp(category, ROCPROF_ARROWS))
        return nvt_rocprof_flow(reader) ? nvt_kineto_no_memory(reader) : 1;
    if (event->phase == 't')
        return 0;
    if (event->phase == 's') {
        const struct nvt_kineto_owner *thread = nvt_kineto_thread(reader);
        if (!thread)
            return nvt_kineto_no_memory(reader);
        return add_launch(reader, &dialects->arrows, event->id, thread->row, event->time) ? -1 : 1;
    }
    const uint32_t launch = nvt_map_get(&dialects->arrows, event->id);
    const uint32_t device = event->tid < 0 ? 0 : (uint32_t)event->tid;
    if (launch != NVT_MAP_NONE &&
        nvt_map_set(&dialects->ends, end_key(device, event->time), launch))
        return nvt_kineto_no_memory(reader);
    return launch != NVT_MAP_NONE;
}

static uint32_t launch_of(const struct nvt_kineto_dialects *dialects, const struct nvt_ops *ops,
                          uint32_t op)
{
    return ops->correlation[op]
               ? nvt_map_get(&dialects->by_correlation, ops->correlation[op])
               : nvt_map_get(&dialects->ends, end_key(ops->device[op], ops->start[op]));
}

int nvt_dialect_finish(struct nvt_kineto *reader)
{
    const struct nvt_kineto_dialects *dialects = &reader->dialects;
    struct nvt_trace *trace = reader->trace;
    for (uint32_t i = 0; i < trace->ops.count && dialects->has_ops; i++) {
        const uint32_t launch = launch_of(dialects, &trace->ops, i);
        if (launch == NVT_MAP_NONE || trace->ops.thread[i] != NVT_NONE)
            continue;
        trace->ops.thread[i] = dialects->launches[launch].thread;
        trace->ops.launch[i] = dialects->launches[launch].time;
        trace->ops.process[i] = trace->threads.process[trace->ops.thread[i]];
    }
    nvt_rocprof_link(reader, dialects->is_rocprof > 0);
    if (dialects->barriers)
        nvt_trace_note(trace, "barrier packets of the GPU are not read (%llu)",
                       (unsigned long long)dialects->barriers);
    if (dialects->derived)
        nvt_trace_note(trace,
                       "left out: events of derived lanes, which repeat what others have (%llu)",
                       (unsigned long long)dialects->derived);
    return 0;
}

void nvt_dialect_free(struct nvt_kineto_dialects *dialects)
{
    nvt_map_free(&dialects->by_correlation);
    nvt_map_free(&dialects->arrows);
    nvt_map_free(&dialects->ends);
    nvt_rocprof_free(&dialects->rocprof);
    free(dialects->launches);
}
