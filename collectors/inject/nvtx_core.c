/*
 * NVTX core callbacks: marks, ranges, names. A new callback is a function here and a line in the
 * table at the end.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "events.h"
#include "modules.h"
#include "registry.h"
#include "capture.h"
#include "counts.h"
#include "dormant.h"
#include "session.h"
#include "tasks.h"

/* --- push and pop with nothing but a name: the path that must be fast --------------------------- */

static __attribute__((noinline, cold)) int push_name_slowly(const char *message)
{
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread)
        return nvt_event_push_lost();
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return NVT_NO_TRACKING;
    nvt_thread_enter(thread);
    int recorded = 0;
    if (!nvt_nest_skips(thread, 0)) {
        /* NULL comes here too: no place in the pointer cache holds it. */
        uint32_t name = message ? nvt_name(thread, message) : nvt_name_empty(thread);
        recorded = name != NVT_NAME_LOST &&
                   !nvt_thread_slot(thread, NVT_WORD(NVT_EVENT_PUSH, 0, 0, 0, name), 0);
    }
    if (!recorded)
        nvt_thread_drop(thread, 1);
    int level = nvt_nest_push(thread, 0, recorded);
    nvt_thread_leave(thread);
    return level;
}

/* A push whose name may have changed: found by content. */
static inline __attribute__((always_inline)) int push_name_by_content(const char *message,
                                                                      enum nvt_clock clock)
{
    struct nvt_thread *thread = nvt_self;
    if (NVT_UNLIKELY(!message || nvt_thread_busy(thread) || thread->next >= thread->limit))
        return push_name_slowly(message);
    nvt_thread_enter(thread);
    uint32_t name = nvt_name(thread, message);
    if (NVT_UNLIKELY(name == NVT_NAME_LOST || thread->next >= thread->open_limit)) {
        nvt_thread_leave(thread);
        return push_name_slowly(message);
    }
    /* In this order: a place that was left empty is one that the recorder waits at for ever. */
    struct nvt_slot *slot = thread->next;
    nvt_slot_publish(slot, NVT_WORD(NVT_EVENT_PUSH, 0, 0, 0, name), clock);
    thread->next = slot + 1;
    int level = (int)thread->nests[0].depth++;
    nvt_thread_leave(thread);
    return level;
}

/* Every way out of the short path is a tail call, so that it has no frame to build. */
static inline __attribute__((always_inline)) int
push_name(const char *message, enum nvt_clock clock, int (*by_content)(const char *))
{
    struct nvt_thread *thread = nvt_self;
    if (NVT_UNLIKELY(nvt_thread_busy(thread)))
        return push_name_slowly(message);
    nvt_thread_enter(thread);
    struct nvt_slot *slot = thread->next;
    const struct nvt_pointer *known = nvt_pointer_at(thread, message);
    if (NVT_UNLIKELY(slot >= thread->limit || !nvt_pointer_holds(known, message))) {
        nvt_thread_leave_fast(thread);
        return by_content(message);
    }
    nvt_slot_publish(slot, known->word, clock);
    thread->next = slot + 1;
    uint32_t level = thread->nests[0].depth;
    thread->nests[0].depth = level + 1;
    nvt_thread_leave_fast(thread);
    return (int)level;
}

static __attribute__((noinline, cold)) int pop_slowly(nvtxDomainHandle_t domain)
{
    return nvt_event_pop(&(struct nvt_event){.kind = NVT_EVENT_POP, .domain = domain});
}

/* A pop without attributes. Room for it was kept by its push. `in_task`: it closes a range of the thread's task, which the slow path
   counts by itself. */
static inline __attribute__((always_inline)) int
pop_fast(nvtxDomainHandle_t handle, uint32_t domain, enum nvt_clock clock, int in_task)
{
    struct nvt_thread *thread = nvt_self;
    if (NVT_UNLIKELY(nvt_thread_busy(thread)))
        return pop_slowly(handle);
    nvt_thread_enter(thread);
    struct nvt_slot *slot = thread->next;
    struct nvt_nest *nest = &thread->nests[domain % NVT_NESTS];
    uint32_t depth = nest->depth;
    if (NVT_UNLIKELY(slot >= thread->limit || !depth)) {
        nvt_thread_leave_fast(thread);
        return pop_slowly(handle);
    }
    nvt_slot_publish(slot, NVT_WORD(NVT_EVENT_POP, 0, 0, domain, 0), clock);
    thread->next = slot + 1;
    nest->depth = depth - 1;
    if (in_task)
        thread->task.open -= thread->task.open != 0;
    nvt_thread_leave_fast(thread);
    return (int)depth - 1;
}

/* The short paths once for each clock, so that none asks which one it is. */
#define FAST_PATHS(clock, name)                                                                    \
    static __attribute__((noinline)) int push_by_content_##name(const char *message)               \
    {                                                                                              \
        return push_name_by_content(message, clock);                                               \
    }                                                                                              \
    static int push_name_##name(const char *message)                                               \
    {                                                                                              \
        return push_name(message, clock, push_by_content_##name);                                  \
    }                                                                                              \
    static int pop_##name(void)                                                                    \
    {                                                                                              \
        return pop_fast(NULL, 0, clock, 0);                                                        \
    }                                                                                              \
    static int domain_pop_##name(nvtxDomainHandle_t domain)                                        \
    {                                                                                              \
        return pop_fast(domain, domain ? domain->number : 0, clock, 0);                            \
    }                                                                                              \
    static int domain_pop_in_task_##name(nvtxDomainHandle_t domain)                                \
    {                                                                                              \
        return pop_fast(domain, domain ? domain->number : 0, clock, 1);                            \
    }
FAST_PATHS(NVT_CLOCK_MONOTONIC, monotonic)
FAST_PATHS(NVT_CLOCK_TSC, tsc)
FAST_PATHS(NVT_CLOCK_CNTVCT, cntvct)

/* --- the same where there is a Python ------------------------------------------------------------- */

/* Whether the short path will do: the thread runs the task of its last event. */
static inline __attribute__((always_inline)) int is_same_task(struct nvt_thread *thread)
{
    return NVT_LIKELY(!nvt_thread_busy(thread) && nvt_tasks_is_same(thread) &&
                      thread->task.number == thread->task.recorded);
}

static __attribute__((noinline, cold)) int push_in_task(const char *message)
{
    nvtxEventAttributes_t attributes = {0};
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;
    return nvt_event_push(&(struct nvt_event){.kind = NVT_EVENT_PUSH, .attributes = &attributes});
}

#define TASK_PATHS(name)                                                                           \
    static int task_push_##name(const char *message)                                               \
    {                                                                                              \
        struct nvt_thread *thread = nvt_self;                                                      \
        if (!is_same_task(thread))                                                                 \
            return push_in_task(message);                                                          \
        thread->task.open++;                                                                       \
        return push_name_##name(message);                                                          \
    }                                                                                              \
    static int task_domain_pop_##name(nvtxDomainHandle_t domain)                                   \
    {                                                                                              \
        struct nvt_thread *thread = nvt_self;                                                      \
        if (!is_same_task(thread))                                                                 \
            return pop_slowly(domain);                                                             \
        return domain_pop_in_task_##name(domain);                                                  \
    }                                                                                              \
    static int task_pop_##name(void)                                                               \
    {                                                                                              \
        return task_domain_pop_##name(NULL);                                                       \
    }
TASK_PATHS(monotonic)
TASK_PATHS(tsc)
TASK_PATHS(cntvct)

/* --- the same where nothing may be wanted ----------------------------------------------------------- */

/* Tail calls again. */
#define DORMANT_PATHS(of)                                                                          \
    static int push_name_dormant_##of(const char *message)                                         \
    {                                                                                              \
        return nvt_dormant_skips_push(NULL) ? NVT_NO_TRACKING : push_name_##of(message);           \
    }                                                                                              \
    static int pop_dormant_##of(void)                                                              \
    {                                                                                              \
        return nvt_dormant_skips_pop(NULL) ? NVT_NO_TRACKING : pop_##of();                         \
    }                                                                                              \
    static int domain_pop_dormant_##of(nvtxDomainHandle_t domain)                                  \
    {                                                                                              \
        return nvt_dormant_skips_pop(domain) ? NVT_NO_TRACKING : domain_pop_##of(domain);          \
    }                                                                                              \
    static int task_push_dormant_##of(const char *message)                                         \
    {                                                                                              \
        return nvt_dormant_skips_push(NULL) ? NVT_NO_TRACKING : task_push_##of(message);           \
    }                                                                                              \
    static int task_domain_pop_dormant_##of(nvtxDomainHandle_t domain)                             \
    {                                                                                              \
        return nvt_dormant_skips_pop(domain) ? NVT_NO_TRACKING : task_domain_pop_##of(domain);     \
    }                                                                                              \
    static int task_pop_dormant_##of(void)                                                         \
    {                                                                                              \
        return task_domain_pop_dormant_##of(NULL);                                                 \
    }
DORMANT_PATHS(monotonic)
DORMANT_PATHS(tsc)
DORMANT_PATHS(cntvct)

/* --- everything else ---------------------------------------------------------------------------- */

static nvtxEventAttributes_t ascii(const char *message)
{
    nvtxEventAttributes_t attributes = {0};
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;
    return attributes;
}

static nvtxEventAttributes_t wide(const wchar_t *message)
{
    nvtxEventAttributes_t attributes = {0};
    attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    attributes.message.unicode = message;
    return attributes;
}

static struct nvt_event an_event(enum nvt_record_kind kind, nvtxDomainHandle_t domain,
                                 const nvtxEventAttributes_t *attributes)
{
    return (struct nvt_event){.kind = kind, .domain = domain, .attributes = attributes};
}

static int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct nvt_event event = an_event(NVT_EVENT_PUSH, domain, attributes);
    return nvt_event_push(&event);
}

static int push_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_push(NULL, attributes);
}

static int push_wide(const wchar_t *message)
{
    nvtxEventAttributes_t attributes = wide(message);
    return domain_push(NULL, &attributes);
}

static void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    struct nvt_event event = an_event(NVT_EVENT_MARK, domain, attributes);
    nvt_event_mark(&event);
}

static void mark_ex(const nvtxEventAttributes_t *attributes)
{
    domain_mark(NULL, attributes);
}

static void mark_name(const char *message)
{
    nvtxEventAttributes_t attributes = ascii(message);
    domain_mark(NULL, &attributes);
}

static void mark_wide(const wchar_t *message)
{
    nvtxEventAttributes_t attributes = wide(message);
    domain_mark(NULL, &attributes);
}

static nvtxRangeId_t domain_start(nvtxDomainHandle_t domain,
                                  const nvtxEventAttributes_t *attributes)
{
    struct nvt_event event = an_event(NVT_EVENT_START, domain, attributes);
    return nvt_event_start(&event);
}

static nvtxRangeId_t start_ex(const nvtxEventAttributes_t *attributes)
{
    return domain_start(NULL, attributes);
}

static nvtxRangeId_t start_name(const char *message)
{
    nvtxEventAttributes_t attributes = ascii(message);
    return domain_start(NULL, &attributes);
}

static nvtxRangeId_t start_wide(const wchar_t *message)
{
    nvtxEventAttributes_t attributes = wide(message);
    return domain_start(NULL, &attributes);
}

static void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    struct nvt_event event = an_event(NVT_EVENT_END, domain, NULL);
    event.range = range;
    nvt_event_end(&event);
}

static void end(nvtxRangeId_t range)
{
    domain_end(NULL, range);
}

/* --- names --------------------------------------------------------------------------------------- */

/* Longest name of a category, a thread or a resource given as a wide string, in bytes. */
#define WIDE_NAME 1024

static void domain_name_category(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    nvt_define(NVT_DEFINE_CATEGORY, domain, 0, category, name, name ? strlen(name) : 0);
}

static void domain_name_category_wide(nvtxDomainHandle_t domain, uint32_t category,
                                      const wchar_t *name)
{
    char text[WIDE_NAME];
    nvt_utf8(text, sizeof(text), name ? name : L"");
    domain_name_category(domain, category, text);
}

static void name_category(uint32_t category, const char *name)
{
    domain_name_category(NULL, category, name);
}

static void name_category_wide(uint32_t category, const wchar_t *name)
{
    domain_name_category_wide(NULL, category, name);
}

static void name_thread(uint32_t tid, const char *name)
{
    nvt_define(NVT_DEFINE_THREAD, NULL, 0, tid, name, name ? strlen(name) : 0);
}

static void name_thread_wide(uint32_t tid, const wchar_t *name)
{
    char text[WIDE_NAME];
    nvt_utf8(text, sizeof(text), name ? name : L"");
    name_thread(tid, text);
}

/* --- domains ------------------------------------------------------------------------------------- */

static nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char *text)
{
    (void)domain;
    return (nvtxStringHandle_t)nvt_registry_string(text ? text : "");
}

static nvtxStringHandle_t register_string_wide(nvtxDomainHandle_t domain, const wchar_t *text)
{
    char narrow[4 * WIDE_NAME];
    nvt_utf8(narrow, sizeof(narrow), text ? text : L"");
    return register_string(domain, narrow);
}

static nvtxDomainHandle_t create_domain(const char *name)
{
    return nvt_registry_domain(name ? name : "");
}

static nvtxDomainHandle_t create_domain_wide(const wchar_t *name)
{
    char text[WIDE_NAME];
    nvt_utf8(text, sizeof(text), name ? name : L"");
    return nvt_registry_domain(text);
}

/* A domain's name stays: its events are in the trace. */
static void destroy_domain(nvtxDomainHandle_t domain)
{
    (void)domain;
}

static void initialize(const void *reserved)
{
    (void)reserved;
}

/* A named resource of a domain: kept as a name of its handle. */
static nvtxResourceHandle_t create_resource(nvtxDomainHandle_t domain,
                                            const nvtxResourceAttributes_t *attributes)
{
    char text[WIDE_NAME] = "";
    if (!attributes)
        return NULL;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII && attributes->message.ascii)
        nvt_define(NVT_DEFINE_RESOURCE, domain, NVT_RESOURCE_OTHER, attributes->identifier.ullValue,
                   attributes->message.ascii, strlen(attributes->message.ascii));
    else if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE && attributes->message.unicode)
        nvt_define(NVT_DEFINE_RESOURCE, domain, NVT_RESOURCE_OTHER, attributes->identifier.ullValue,
                   text, nvt_utf8(text, sizeof(text), attributes->message.unicode));
    else if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED &&
             attributes->message.registered) {
        const struct nvtxStringRegistration *string =
            (const struct nvtxStringRegistration *)attributes->message.registered;
        nvt_define(NVT_DEFINE_RESOURCE, domain, NVT_RESOURCE_OTHER, attributes->identifier.ullValue,
                   string->text, string->length);
    }
    return (nvtxResourceHandle_t)(uintptr_t)attributes->identifier.ullValue;
}

static void destroy_resource(nvtxResourceHandle_t resource)
{
    (void)resource;
}

#define CALLBACK(id, function)                                                                     \
    {                                                                                              \
        NVTX_CBID_##id, (NvtxFunctionPointer)(function)                                            \
    }

static const struct nvt_callback core[] = {
    CALLBACK(CORE_MarkEx, mark_ex),
    CALLBACK(CORE_MarkA, mark_name),
    CALLBACK(CORE_MarkW, mark_wide),
    CALLBACK(CORE_RangeStartEx, start_ex),
    CALLBACK(CORE_RangeStartA, start_name),
    CALLBACK(CORE_RangeStartW, start_wide),
    CALLBACK(CORE_RangeEnd, end),
    CALLBACK(CORE_RangePushEx, push_ex),
    CALLBACK(CORE_RangePushW, push_wide),
    CALLBACK(CORE_NameCategoryA, name_category),
    CALLBACK(CORE_NameCategoryW, name_category_wide),
    CALLBACK(CORE_NameOsThreadA, name_thread),
    CALLBACK(CORE_NameOsThreadW, name_thread_wide),
};

static const struct nvt_callback core2[] = {
    CALLBACK(CORE2_DomainMarkEx, domain_mark),
    CALLBACK(CORE2_DomainRangeStartEx, domain_start),
    CALLBACK(CORE2_DomainRangeEnd, domain_end),
    CALLBACK(CORE2_DomainRangePushEx, domain_push),
    CALLBACK(CORE2_DomainResourceCreate, create_resource),
    CALLBACK(CORE2_DomainResourceDestroy, destroy_resource),
    CALLBACK(CORE2_DomainNameCategoryA, domain_name_category),
    CALLBACK(CORE2_DomainNameCategoryW, domain_name_category_wide),
    CALLBACK(CORE2_DomainRegisterStringA, register_string),
    CALLBACK(CORE2_DomainRegisterStringW, register_string_wide),
    CALLBACK(CORE2_DomainCreateA, create_domain),
    CALLBACK(CORE2_DomainCreateW, create_domain_wide),
    CALLBACK(CORE2_DomainDestroy, destroy_domain),
    CALLBACK(CORE2_Initialize, initialize),
};

const struct nvt_module nvt_module_core = {NVTX_CB_MODULE_CORE, core, NVT_COUNT_OF(core)};
const struct nvt_module nvt_module_core2 = {NVTX_CB_MODULE_CORE2, core2, NVT_COUNT_OF(core2)};

#define FAST_MODULES(push, pop, domain_pop)                                                        \
    {                                                                                              \
        {CALLBACK(CORE_RangePushA, push), CALLBACK(CORE_RangePop, pop)},                           \
        {                                                                                          \
            CALLBACK(CORE2_DomainRangePop, domain_pop)                                             \
        }                                                                                          \
    }
#define PLAIN_MODULES(name) FAST_MODULES(push_name_##name, pop_##name, domain_pop_##name)
#define TASK_MODULES(name)  FAST_MODULES(task_push_##name, task_pop_##name, task_domain_pop_##name)
#define ALL_MODULES(name)                                                                          \
    {                                                                                              \
        PLAIN_MODULES(name), TASK_MODULES(name), PLAIN_MODULES(dormant_##name),                    \
            TASK_MODULES(dormant_##name)                                                           \
    }

/* For each clock: without a Python in the process, and with one; both for a dormant session, too. */
static const struct fast {
    struct nvt_callback core[2];
    struct nvt_callback core2[1];
} fast[][4] = {
    [NVT_CLOCK_MONOTONIC] = ALL_MODULES(monotonic),
    [NVT_CLOCK_TSC] = ALL_MODULES(tsc),
    [NVT_CLOCK_CNTVCT] = ALL_MODULES(cntvct),
};

struct nvt_module nvt_module_short(NvtxCallbackModule module)
{
    const struct fast *of =
        &fast[nvt_session.control->clock][nvt_tasks_watch + 2 * nvt_dormant_watches];
    if (nvt_capture_asks() || nvt_counts_are_asked)
        return nvt_module_watch(module);
    if (module == NVTX_CB_MODULE_CORE)
        return (struct nvt_module){module, of->core, 2};
    return (struct nvt_module){module, of->core2, 1};
}
