#include "kineto_dialects.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/rank_text.h"
#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../model/interchange.h"

enum class {
    CLASS_RANGE, /* whatever is none of the others */
    CLASS_KERNEL,
    CLASS_COPY,
    CLASS_SET,
    CLASS_RUNTIME,
    CLASS_DRIVER,
    CLASS_SYNC,
    CLASS_OVERHEAD,
    CLASS_OS,
    CLASS_MANAGED,
    CLASS_IGNORED,
};

/* The category of operators before PyTorch 1.13, "cpu_op" since. */
#define OLD_OPERATOR "Operator"

static const struct {
    const char *category;
    enum class class;
} classes[] = {
    {"kernel", CLASS_KERNEL},
    {"gpu_memcpy", CLASS_COPY},
    {"gpu_memset", CLASS_SET},
    {"cuda_runtime", CLASS_RUNTIME},
    {"hip_runtime", CLASS_RUNTIME},
    {"hsa_api", CLASS_DRIVER},
    {"cuda_driver", CLASS_DRIVER},
    {"xpu_runtime", CLASS_RUNTIME},
    {"xpu_driver", CLASS_DRIVER},
    {"privateuse1_runtime", CLASS_RUNTIME},
    {"privateuse1_driver", CLASS_DRIVER},
    {"cuda_sync", CLASS_SYNC},
    {"os_runtime", CLASS_OS},
    {"overhead", CLASS_OVERHEAD},
    {"Trace", CLASS_IGNORED},
    {"gpu_user_annotation", CLASS_IGNORED},
    {"cuda_profiler_range", CLASS_IGNORED},
    {NVT_EXPORT_PATH, CLASS_IGNORED},
    {NVT_EXPORT_UM, CLASS_MANAGED},
    {NVT_EXPORT_MPI, CLASS_IGNORED},
    /* PyTorch 1.8 to 1.12. */
    {"Kernel", CLASS_KERNEL},
    {"Memcpy", CLASS_COPY},
    {"Memset", CLASS_SET},
    {"Runtime", CLASS_RUNTIME},
};

static uint32_t find_class(const char *category)
{
    for (size_t i = 0; i < NVT_COUNT_OF(classes); i++)
        if (!strcmp(category, classes[i].category))
            return classes[i].class;
    return CLASS_RANGE;
}

static struct nvt_kineto_seen *seen_category(struct nvt_kineto *reader)
{
    const uint32_t category = reader->event.category;
    struct nvt_kineto_seen *seen = &reader->seen[category % NVT_KINETO_SEEN];
    if (seen->category != category) {
        seen->category = category;
        seen->class = find_class(nvt_name(reader->trace, category));
        seen->process_and_1 = 0;
    }
    return seen;
}

int nvt_kineto_no_memory(struct nvt_kineto *reader)
{
    return nvt_fail(reader->err, "out of memory");
}

/* --- processes and threads --- */

static struct nvt_kineto_owner *owner_at(struct nvt_kineto *reader, uint32_t *index)
{
    if (!index)
        return NULL;
    if (*index == NVT_MAP_NONE) {
        uint32_t count = reader->owner_count;
        if (nvt_grow(&reader->owners, count, sizeof(*reader->owners)))
            return NULL;
        reader->owners[count] =
            (struct nvt_kineto_owner){.row = NVT_NONE, .open = NVT_NONE, .last = INT64_MIN};
        *index = reader->owner_count++;
    }
    return &reader->owners[*index];
}

/* Where the event's process and thread are kept, which may be others'. Owners move, but none goes. */
static struct nvt_kineto_recent *recent_of(struct nvt_kineto *reader)
{
    const uint64_t ids = (uint64_t)reader->event.pid * 31 + (uint64_t)reader->event.tid;
    return &reader->recent[ids * UINT64_C(0x9E3779B97F4A7C15) >> 60];
}

static struct nvt_kineto_owner *process_owner(struct nvt_kineto *reader)
{
    const struct nvt_kineto_recent *recent = recent_of(reader);
    if (recent->process_and_1 && recent->pid == reader->event.pid)
        return &reader->owners[recent->process_and_1 - 1];
    return owner_at(reader, nvt_map_at(&reader->pids, (uint64_t)reader->event.pid));
}

static struct nvt_kineto_owner *find_thread(struct nvt_kineto *reader)
{
    struct nvt_kineto_recent *recent = recent_of(reader);
    struct nvt_kineto_owner *process = process_owner(reader), *thread;
    uint32_t tid = nvt_map_number(&reader->tids, (uint64_t)reader->event.tid, &reader->tid_count);
    if (!process || tid == NVT_MAP_NONE)
        return NULL;
    const uint32_t of = (uint32_t)(process - reader->owners);
    thread = owner_at(reader, nvt_map_at(&reader->threads, (uint64_t)of << 32 | tid));
    if (thread)
        *recent = (struct nvt_kineto_recent){reader->event.pid, reader->event.tid, of + 1,
                                             (uint32_t)(thread - reader->owners) + 1};
    return thread;
}

static struct nvt_kineto_owner *thread_owner(struct nvt_kineto *reader)
{
    const struct nvt_kineto_recent *recent = recent_of(reader);
    return recent->thread_and_1 && recent->pid == reader->event.pid &&
                   recent->tid == reader->event.tid
               ? &reader->owners[recent->thread_and_1 - 1]
               : find_thread(reader);
}

/* Ids that are texts came as numbers below zero: they are known by name then. */
static uint32_t owner_name(const struct nvt_kineto_owner *owner, int64_t id)
{
    return owner->name || id >= 0 ? owner->name : (uint32_t)(-1 - id);
}

int nvt_kineto_owners(struct nvt_kineto *reader, const struct nvt_kineto_owner **process,
                      struct nvt_kineto_owner **thread)
{
    *thread = thread_owner(reader);
    *process = process_owner(reader); /* is there, so that none moves */
    return *thread && *process ? 0 : -1;
}

const char *nvt_kineto_owner_name(const struct nvt_kineto *reader,
                                  const struct nvt_kineto_owner *owner, int64_t id)
{
    return nvt_name(reader->trace, owner_name(owner, id));
}

uint32_t nvt_kineto_process(struct nvt_kineto *reader)
{
    struct nvt_kineto_owner *owner = process_owner(reader);
    if (owner && owner->row == NVT_NONE) {
        const struct nvt_process process = {.pid = reader->event.pid < 0 ? -1 : reader->event.pid,
                                            .parent_pid = -1,
                                            .name = owner_name(owner, reader->event.pid),
                                            .rank = owner->rank_and_1 - 1};
        owner->row = nvt_process_add(reader->trace, &process);
    }
    return owner ? owner->row : NVT_NONE;
}

struct nvt_kineto_owner *nvt_kineto_thread(struct nvt_kineto *reader)
{
    uint32_t process = nvt_kineto_process(reader);
    struct nvt_kineto_owner *owner = thread_owner(reader);
    if (process == NVT_NONE || !owner)
        return NULL;
    if (owner->row == NVT_NONE) {
        const struct nvt_thread thread = {.process = process,
                                          .tid = reader->event.tid < 0 ? -1 : reader->event.tid,
                                          .name = owner_name(owner, reader->event.tid)};
        owner->row = nvt_thread_add(reader->trace, &thread);
    }
    return owner->row == NVT_NONE ? NULL : owner;
}

/* Files of several ranks say in a process's label or name which one it is: "rank 3" in our exports, "RANK 3 - GPU" in those that were put
 * together of several. */
static int add_rank(struct nvt_kineto *reader)
{
    const uint32_t rank = nvt_rank_in_text(nvt_name(reader->trace, reader->event.label));
    struct nvt_kineto_owner *owner = process_owner(reader);
    if (!owner)
        return nvt_kineto_no_memory(reader);
    if (rank == UINT32_MAX)
        return 0;
    owner->rank_and_1 = rank + 1;
    if (owner->row != NVT_NONE)
        reader->trace->processes.rank[owner->row] = rank;
    return 0;
}

/* Metadata: names come before, after or without what they name. */
static int add_name(struct nvt_kineto *reader)
{
    const char *what = nvt_name(reader->trace, reader->event.name);
    int of_process = !strcmp(what, "process_name");
    if ((of_process || !strcmp(what, "process_labels")) && add_rank(reader))
        return -1;
    if (!of_process && strcmp(what, "thread_name"))
        return 0;
    struct nvt_kineto_owner *owner = of_process ? process_owner(reader) : thread_owner(reader);
    const struct nvt_kineto_owner *process = owner ? process_owner(reader) : NULL;
    owner = process && !of_process ? thread_owner(reader) : owner; /* as none moves any more */
    if (!process)
        return nvt_kineto_no_memory(reader);
    nvt_dialect_name(reader, process, of_process ? NULL : owner,
                     nvt_name(reader->trace, reader->event.label));
    owner->name = reader->event.label;
    if (owner->row != NVT_NONE && of_process)
        reader->trace->processes.name[owner->row] = owner->name;
    else if (owner->row != NVT_NONE)
        reader->trace->threads.name[owner->row] = owner->name;
    return 0;
}

/* --- ranges and marks --- */

/* PyTorch 1.8 to 1.12 called annotations operators too; operators have a namespace, or are nodes of
 * autograd. */
static int is_annotation(const struct nvt_kineto *reader, const char *category)
{
    const char *name = nvt_name(reader->trace, reader->event.name);
    return !strcmp(category, "user_annotation") || !strcmp(category, "nvtx") ||
           (!strcmp(category, OLD_OPERATOR) && !strstr(name, "::") && !strstr(name, "Backward"));
}

static uint32_t find_domain(struct nvt_kineto *reader, uint32_t process, const char *category)
{
    if (is_annotation(reader, category))
        return 0;
    uint32_t *row = nvt_map_at(&reader->domains, (uint64_t)process << 32 | reader->event.category);
    if (row && *row == NVT_MAP_NONE)
        *row = nvt_trace_domain(reader->trace, process,
                                strcmp(category, OLD_OPERATOR) ? category : "cpu_op");
    return row ? *row : NVT_NONE;
}

uint32_t nvt_kineto_domain(struct nvt_kineto *reader, uint32_t process)
{
    struct nvt_kineto_seen *seen = seen_category(reader);
    if (seen->process_and_1 == process + 1)
        return seen->domain;
    const char *category = nvt_name(reader->trace, reader->event.category);
    const uint32_t domain = find_domain(reader, process, category);
    if (domain != NVT_NONE && strcmp(category, OLD_OPERATOR) != 0) { /* there its name counts */
        seen->process_and_1 = process + 1;
        seen->domain = domain;
    }
    return domain;
}

/* A range of the event's thread, that ends after `duration` (0: not known yet). Its row, or NVT_NONE. */
static uint32_t add_range(struct nvt_kineto *reader, int64_t duration, uint8_t style, uint8_t flags)
{
    const struct nvt_kineto_event *event = &reader->event;
    const struct nvt_kineto_owner *thread = nvt_kineto_thread(reader);
    if (!thread)
        return NVT_NONE;
    uint32_t row = thread->row;
    const struct nvt_range range = {
        .start = event->time,
        .end = event->time + duration,
        .thread = row,
        .end_thread = row,
        .domain = nvt_kineto_domain(reader, reader->trace->threads.process[row]),
        .name = event->name,
        .payload = event->work,
        .style = style,
        .flags = (uint8_t)(flags | (event->work ? NVT_RANGE_HAS_PAYLOAD : 0))};
    if (range.domain == NVT_NONE)
        return NVT_NONE;
    nvt_kineto_seen(reader, row, range.start);
    if (duration || !(flags & NVT_RANGE_UNCLOSED))
        nvt_kineto_seen(reader, row, range.end);
    return nvt_range_add(reader->trace, &range);
}

/* A range of a thread or an asynchronous id begins or ends. */
static int open_or_close(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    int synchronous = event->phase == 'B' || event->phase == 'E';
    uint64_t key = (uint64_t)event->id << 32 | event->category;
    struct nvt_kineto_owner *owner =
        synchronous ? nvt_kineto_thread(reader) : owner_at(reader, nvt_map_at(&reader->async, key));
    if (!owner)
        return nvt_kineto_no_memory(reader);
    /* The owners may move as rows are added, hence the index. */
    const uint32_t at = (uint32_t)(owner - reader->owners);
    if (event->phase == 'E' || event->phase == 'e' || event->phase == 'F')
        return nvt_kineto_end(reader, at) ? nvt_kineto_no_memory(reader) : 0;
    int nests = synchronous || nvt_kineto_int(event, NVT_KN_PUSH_POP, 0);
    const uint32_t row =
        add_range(reader, 0, nests ? NVT_PUSH_POP : NVT_START_END, NVT_RANGE_UNCLOSED);
    return row == NVT_NONE || nvt_kineto_begin(reader, at, row) ? nvt_kineto_no_memory(reader) : 0;
}

/* PyTorch's allocator: bytes below zero are given back. */
static int add_memory(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const struct nvt_kineto_owner *thread = nvt_kineto_thread(reader);
    int64_t bytes = nvt_kineto_int(event, NVT_KN_BYTES, 0);
    int64_t allocated = nvt_kineto_int(event, NVT_KN_ALLOCATED, -1);
    int64_t reserved = nvt_kineto_int(event, NVT_KN_RESERVED, -1);
    if (!thread)
        return nvt_kineto_no_memory(reader);
    uint32_t row = thread->row;
    struct nvt_memory_event memory = {.time = event->time,
                                      .process = reader->trace->threads.process[row],
                                      /* c10::DeviceType: 0 is the CPU. */
                                      .device = nvt_kineto_int(event, NVT_KN_DEVICE_TYPE, 0)
                                                    ? nvt_kineto_u32(event, NVT_KN_DEVICE_ID, 0)
                                                    : NVT_NONE,
                                      .thread = row,
                                      .address = (uint64_t)nvt_kineto_int(event, NVT_KN_ADDRESS, 0),
                                      .bytes = (uint64_t)(bytes < 0 ? -bytes : bytes),
                                      .allocated = allocated < 0 ? UINT64_MAX : (uint64_t)allocated,
                                      .reserved = reserved < 0 ? UINT64_MAX : (uint64_t)reserved,
                                      .source =
                                          nvt_strings_add_text(reader->trace->strings, "PyTorch"),
                                      .kind = bytes < 0 ? NVT_MEMORY_FREE : NVT_MEMORY_ALLOC};
    int is_told = memory.device == NVT_NONE && memory.allocated != UINT64_MAX;
    if (is_told && nvt_kineto_host_follow(&reader->host, &memory))
        return nvt_kineto_no_memory(reader);
    if (memory.source == NVT_NO_STRING || nvt_memory_event_add(reader->trace, &memory) == NVT_NONE)
        return nvt_kineto_no_memory(reader);
    return 0;
}

/* Whether an instant is one of the two with which Kineto itself says what it recorded. */
static int is_of_kineto(const struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    if (event->pid >= 0 || event->is_device_pid)
        return 0;
    const char *owner = nvt_name(reader->trace, (uint32_t)(-1 - event->pid));
    const char *name = nvt_name(reader->trace, event->name);
    return (!strcmp(owner, "Traces") && !strncmp(name, "Iteration Start: ", 17)) ||
           (!*owner && !strcmp(name, "Record Window End"));
}

static int add_instant(struct nvt_kineto *reader)
{
    if (!strcmp(nvt_name(reader->trace, reader->event.name), "[memory]"))
        return add_memory(reader);
    if (seen_category(reader)->class == CLASS_MANAGED) {
        reader->managed++;
        return 0;
    }
    const int is_own = is_of_kineto(reader);
    const struct nvt_kineto_owner *thread = is_own ? NULL : nvt_kineto_thread(reader);
    if (!is_own && !thread)
        return nvt_kineto_no_memory(reader);
    uint32_t row = is_own ? NVT_NONE : thread->row; /* its own's are known at the end */
    const struct nvt_mark mark = {
        .time = reader->event.time,
        .thread = row,
        .domain = is_own ? 0 : nvt_kineto_domain(reader, reader->trace->threads.process[row]),
        .name = reader->event.name};
    if (mark.domain == NVT_NONE || nvt_mark_add(reader->trace, &mark) == NVT_NONE)
        return nvt_kineto_no_memory(reader);
    if (!is_own)
        nvt_kineto_seen(reader, row, mark.time);
    return 0;
}

/* A range of the host; or what other profilers have in lanes of their own. */
static int add_other(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    const int taken = nvt_dialect_take(reader);
    if (taken)
        return taken < 0 ? -1 : 0;
    if (nvt_dialect_is_call(reader)) {
        const int is_runtime = strncmp(nvt_name(reader->trace, event->name), "cu", 2) != 0 ||
                               !strncmp(nvt_name(reader->trace, event->name), "cuda", 4);
        if (nvt_kineto_add_api(reader, is_runtime ? NVT_API_RUNTIME : NVT_API_DRIVER))
            return -1;
        return nvt_dialect_launch(reader,
                                  reader->trace->apis.thread[reader->trace->apis.count - 1]);
    }
    const int is_open = nvt_kineto_int(event, NVT_KN_UNCLOSED, 0) != 0;
    const uint32_t row =
        add_range(reader, event->duration, NVT_PUSH_POP, is_open ? NVT_RANGE_UNCLOSED : 0);
    if (row == NVT_NONE)
        return nvt_kineto_no_memory(reader);
    if (event->have >> NVT_KN_STEP & 1 && !reader->trace->step_name)
        reader->trace->step_name = event->name;
    return nvt_dialect_launch(reader, reader->trace->ranges.thread[row]);
}

static int add_complete(struct nvt_kineto *reader)
{
    switch (seen_category(reader)->class) {
    case CLASS_KERNEL:
        return nvt_kineto_add_op(reader, NVT_OP_KERNEL);
    case CLASS_COPY:
        return nvt_kineto_add_op(reader, NVT_OP_MEMCPY);
    case CLASS_SET:
        return nvt_kineto_add_op(reader, NVT_OP_MEMSET);
    case CLASS_RUNTIME:
        return nvt_kineto_add_api(reader, NVT_API_RUNTIME);
    case CLASS_DRIVER:
        return nvt_kineto_add_api(reader, NVT_API_DRIVER);
    case CLASS_SYNC:
        return nvt_kineto_add_sync(reader);
    case CLASS_OS:
        return nvt_kineto_add_os_call(reader);
    case CLASS_OVERHEAD:
        return nvt_kineto_add_overhead(reader);
    case CLASS_MANAGED:
        reader->managed++;
        return 0;
    case CLASS_IGNORED:
        return 0;
    default:
        return add_other(reader);
    }
}

/* Whether an event can be placed in time; what cannot is counted. */
static int is_timed(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    if (event->mistyped || !event->has_time) {
        if (!reader->mistimed++)
            nvt_fail(reader->err, "event %llu ('%.100s') has a '%s' that is %s",
                     (unsigned long long)reader->events, nvt_name(reader->trace, event->name),
                     event->has_time ? "dur" : "ts",
                     event->mistyped == 2 ? "out of range (ns or ticks where us belong?)"
                                          : "not a time");
        return 0;
    }
    if (event->phase == 'X' && event->duration < 0) {
        reader->untimed++;
        return 0;
    }
    return 1;
}

int nvt_kineto_has_use_of_id(const struct nvt_kineto_event *event,
                             const struct nvt_strings *strings)
{
    if (event->phase && strchr("sft", event->phase))
        return nvt_dialect_follows(nvt_strings_get(strings, event->category, NULL));
    return event->phase && strchr("beSF", event->phase) != NULL;
}

int nvt_kineto_add(struct nvt_kineto *reader)
{
    const struct nvt_kineto_event *event = &reader->event;
    if (event->phase == 'M')
        return add_name(reader);
    if (reader->only_names)
        return 0;
    if (event->phase != 'X' && (!event->phase || !strchr("BEbeSFniIRC", event->phase))) {
        const int taken =
            event->phase && strchr("sft", event->phase) ? nvt_dialect_flow(reader) : 0;
        reader->unread[event->phase & 127] += !taken;
        return taken < 0 ? -1 : 0;
    }
    if (!is_timed(reader))
        return 0;
    nvt_dialect_times(&reader->event);
    if (event->time < reader->first)
        reader->first = event->time;
    switch (event->phase) {
    case 'X':
        return add_complete(reader);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
        return open_or_close(reader);
    case 'C':
        return nvt_kineto_add_counters(reader);
    default:
        return add_instant(reader);
    }
}
