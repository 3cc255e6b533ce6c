#include "events.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "counts.h"
#include "dormant.h"
#include "heaps.h"
#include "late.h"
#include "slow.h"
#include "steps.h"
#include "tasks.h"

static int is_seen(const struct nvt_thread *thread, uint32_t number)
{
    return thread->domains_seen[number / 8] >> (number % 8) & 1;
}

uint32_t nvt_domain_number(struct nvt_thread *thread, nvtxDomainHandle_t domain)
{
    if (!domain)
        return 0;
    uint32_t number = domain->number;
    if (NVT_LIKELY(is_seen(thread, number)))
        return number;
    uint64_t header[2] = {number, domain->length};
    struct nvt_piece pieces[2] = {{header, sizeof(header)}, {domain->name, domain->length}};
    if (!nvt_thread_record(thread, NVT_WORD(NVT_DEFINE_DOMAIN, 0, 0, number, 0), pieces, 2))
        thread->domains_seen[number / 8] |= (uint8_t)(1u << (number % 8));
    return number;
}

static uint32_t message_name(struct nvt_thread *thread, const nvtxEventAttributes_t *attributes)
{
    if (!attributes || !attributes->message.ascii)
        return nvt_name_empty(thread);
    switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return nvt_name(thread, attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return nvt_name_wide(thread, attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
        const struct nvtxStringRegistration *string =
            (const struct nvtxStringRegistration *)attributes->message.registered;
        return nvt_name_key(thread, &string->key, string->text, string->length);
    }
    default:
        return nvt_name_empty(thread);
    }
}

/* Whether the thread's counts go with an event. */
static int is_counted(const struct nvt_thread *thread, const struct nvt_event *event)
{
    return NVT_UNLIKELY(nvt_counts_are_asked) && !thread->calibrates &&
           (nvt_session_trace() & NVT_TRACE_COUNTERS) &&
           (event->kind == NVT_EVENT_PUSH || event->kind == NVT_EVENT_POP);
}

/* Have the ring's next page before the thread is counted, so that a fault on it is none of the range that begins. */
static size_t read_counts(struct nvt_thread *thread)
{
    const struct nvt_slot *ahead = thread->next + NVT_COUNTS_BYTES / sizeof(*ahead);
    if (thread->slots && ahead < thread->slots + thread->size)
        (void)*(const volatile uint64_t *)&ahead->ticks;
    return nvt_counts_read(thread->scratch, &thread->hardware);
}

/* What of an event is more than its name. Extended payloads go to the thread's scratch. */
static void read_attributes(struct nvt_thread *thread, const struct nvt_event *event,
                            struct nvt_attributes *out)
{
    const nvtxEventAttributes_t *from = event->attributes;
    const nvtxPayloadData_t *payloads = event->payloads;
    size_t count = event->payload_count;
    size_t counted = is_counted(thread, event) ? read_counts(thread) : 0;
    memset(out, 0, sizeof(*out));
    out->payload_bytes = counted;
    if (from && from->category) {
        out->flags |= NVT_ATTRIBUTE_CATEGORY;
        out->category = from->category;
    }
    if (from && from->colorType == NVTX_COLOR_ARGB) {
        out->flags |= NVT_ATTRIBUTE_COLOR;
        out->color = from->color;
    }
    if (from && from->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
        payloads = (const nvtxPayloadData_t *)(uintptr_t)from->payload.ullValue;
        count = from->reserved0 > 0 ? (size_t)from->reserved0 : 0;
    } else if (from && from->payloadType != NVTX_PAYLOAD_UNKNOWN) {
        out->flags |= NVT_ATTRIBUTE_PAYLOAD;
        out->payload_type = (uint32_t)from->payloadType;
        out->payload = from->payload.ullValue;
    }
    if (payloads && count) {
        int left_out = 0;
        out->payload_bytes += nvt_payload_copy(thread->scratch + counted, NVT_STRING_MAX - counted,
                                               event->domain, payloads, count, &left_out);
        if (left_out)
            nvt_thread_drop(thread, 1);
    }
    if (out->payload_bytes)
        out->flags |= NVT_ATTRIBUTE_SCHEMA;
}

int nvt_event_record(struct nvt_thread *thread, const struct nvt_event *event)
{
    struct nvt_attributes attributes;
    uint32_t domain = nvt_domain_number(thread, event->domain);
    uint32_t name = event->kind == NVT_EVENT_POP || event->kind == NVT_EVENT_END
                        ? 0
                        : message_name(thread, event->attributes);
    /* An event refers to nothing that is not in the file. */
    if (name == NVT_NAME_LOST || (domain && !is_seen(thread, domain)))
        return -1;
    read_attributes(thread, event, &attributes);
    int has_range = event->kind == NVT_EVENT_START || event->kind == NVT_EVENT_END;
    if (!attributes.flags && !has_range && !event->sample)
        return nvt_thread_slot(thread, NVT_WORD(event->kind, 0, 0, domain, name),
                               event->kind == NVT_EVENT_POP);
    uint64_t range[2] = {event->range, 0};
    struct nvt_piece pieces[3];
    int count = 0;
    if (event->sample)
        pieces[count++] = (struct nvt_piece){event->sample, sizeof(*event->sample)};
    if (has_range)
        pieces[count++] = (struct nvt_piece){range, sizeof(range)};
    if (attributes.flags)
        pieces[count++] = (struct nvt_piece){&attributes, sizeof(attributes)};
    if (attributes.payload_bytes)
        pieces[count++] = (struct nvt_piece){thread->scratch, (size_t)attributes.payload_bytes};
    unsigned flags = attributes.flags ? NVT_EVENT_ATTRIBUTES : 0;
    if (event->sample)
        flags |= NVT_EVENT_SAMPLE | (unsigned)event->clock << NVT_EVENT_CLOCK;
    return nvt_thread_record(thread, NVT_WORD(event->kind, flags, 0, domain, name), pieces, count);
}

int nvt_event_is_quiet(const struct nvt_thread *thread)
{
    return NVT_UNLIKELY(nvt_capture_watches) && !thread->calibrates && !nvt_capture_is_open();
}

/* Ranges that the thread has pushed while it could have no state: they lie outside of all others, and their ends are lost, too. */
static __thread uint32_t homeless __attribute__((tls_model("initial-exec")));

int nvt_event_push_lost(void)
{
    homeless++;
    return NVT_NO_TRACKING;
}

/* Whether a pop ends a range that was of no interest at its beginning: those are the outermost, of a task among its own. */
static int ends_quiet(const struct nvt_thread *thread, const struct nvt_nest *nest)
{
    if (!nest->quiet)
        return 0;
    return thread->task.number ? thread->task.quiet > thread->task.open
                               : nest->depth == nest->quiet;
}

/* A range of that nest has ended. What crosses others may leave fewer open than were quiet. */
static int nest_pop(struct nvt_thread *thread, struct nvt_nest *nest, int is_quiet)
{
    struct nvt_thread_task *task = &thread->task;
    nest->depth--;
    nest->quiet -= is_quiet || nest->quiet > nest->depth;
    task->quiet -= task->quiet > task->open;
    return (int)nest->depth;
}

static void forget_open(struct nvt_thread *thread)
{
    memset(thread->nests, 0, sizeof(thread->nests));
    thread->skips = 0;
    thread->captures = 0;
    thread->open_limit = NULL;
    nvt_tasks_close(thread);
}

int nvt_dormant_forget(void)
{
    struct nvt_thread *thread = nvt_self;
    if (thread->calibrates)
        return 0;
    /* Somebody else's handler: he forgets it with the next one. */
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return 1;
    nvt_thread_enter(thread);
    forget_open(thread);
    nvt_thread_leave(thread);
    return 1;
}

static void define(const struct nvt_late_definition *definition);

/* Once for each recorder; a child of fork is a process of its own. */
static void tell_definitions(uint32_t epoch)
{
    static _Atomic uint64_t told;
    const uint64_t now = (uint64_t)syscall(SYS_getpid) << 32 | epoch;
    if (atomic_exchange(&told, now) != now)
        nvt_late_tell(define);
}

int nvt_dormant_renew(void)
{
    struct nvt_thread *thread = nvt_self;
    const uint32_t epoch = atomic_load(&nvt_session.control->epoch);
    if (thread->calibrates)
        return 0;
    if (thread == &nvt_nobody)
        thread = nvt_thread_try();
    if (!thread)
        return 0;
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return 1;
    nvt_thread_enter(thread);
    if (thread->epoch != epoch) {
        thread->epoch = epoch;
        forget_open(thread);
        nvt_thread_renew(thread);
    }
    nvt_thread_leave(thread);
    tell_definitions(epoch);
    nvt_heaps_tell();
    return 0;
}

int nvt_event_push(const struct nvt_event *event)
{
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_steps_note(event);
    if (NVT_UNLIKELY(nvt_dormant_watches) && nvt_dormant_skips_push(event->domain))
        return NVT_NO_TRACKING;
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread)
        return nvt_event_push_lost();
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return NVT_NO_TRACKING;
    nvt_tasks_note(thread, 1);
    int captures = NVT_UNLIKELY(nvt_capture_watches) && nvt_capture_opens(thread, event);
    if (NVT_UNLIKELY(nvt_capture_watches) && nvt_heaps_are_due())
        nvt_heaps_tell();
    nvt_thread_enter(thread);
    uint32_t domain = event->domain ? event->domain->number : 0;
    if (nvt_event_is_quiet(thread) && !nvt_thread_open_ranges(thread)) {
        struct nvt_nest *nest = &thread->nests[domain % NVT_NESTS];
        nest->quiet++;
        thread->task.quiet += thread->task.number != 0;
        int quiet_level = (int)nest->depth++;
        nvt_thread_leave(thread);
        return quiet_level;
    }
    int recorded = !nvt_nest_skips(thread, domain) && !nvt_tasks_record(thread, 0) &&
                   !nvt_event_record(thread, event);
    if (!recorded)
        nvt_thread_drop(thread, 1);
    int level = nvt_nest_push(thread, domain, recorded);
    if (NVT_UNLIKELY(captures || thread->captures))
        nvt_capture_pushed(thread, domain, captures);
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_slow_pushed(domain, level);
    nvt_thread_leave(thread);
    return level;
}

int nvt_event_pop(const struct nvt_event *event)
{
    if (NVT_UNLIKELY(nvt_dormant_watches) && nvt_dormant_skips_pop(event->domain))
        return NVT_NO_TRACKING;
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread) {
        homeless -= homeless != 0;
        return NVT_NO_TRACKING;
    }
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return NVT_NO_TRACKING;
    nvt_tasks_note(thread, -1);
    nvt_thread_enter(thread);
    uint32_t domain = event->domain ? event->domain->number : 0;
    struct nvt_nest *nest = &thread->nests[domain % NVT_NESTS];
    int level = NVT_NO_TRACKING;
    if (nvt_nest_skips(thread, domain)) {
        nest->skipped--;
        thread->skips--;
        level = (int)--nest->depth;
        nvt_thread_drop(thread, 1);
    } else if (nest->depth && ends_quiet(thread, nest)) {
        level = nest_pop(thread, nest, 1);
    } else if (nest->depth > 0) {
        level = nest_pop(thread, nest, 0);
        /* Room is kept for a pop alone: what it carries is left out before the range's end is. */
        if (nvt_tasks_record(thread, 1) ||
            (nvt_event_record(thread, event) &&
             nvt_thread_slot(thread, NVT_WORD(NVT_EVENT_POP, 0, 0, domain, 0), 1)))
            nvt_thread_drop(thread, 1);
    } else if (homeless) {
        homeless--;
        nvt_thread_drop(NULL, 1);
    }
    nvt_thread_leave(thread);
    if (NVT_UNLIKELY(thread->captures))
        nvt_capture_popped(thread, domain);
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_slow_popped(domain, level);
    return level;
}

/* Nothing is captured now: of no interest, but for the ends of recorded ranges. Of a range that is asked once, as
 * captures of other threads may begin and end in between. */
static int is_quiet_event(const struct nvt_thread *thread, const struct nvt_event *event)
{
    return event->kind == NVT_EVENT_MARK ? nvt_event_is_quiet(thread)
                                         : (event->range & NVT_QUIET_RANGE) != 0;
}

static void record_now(struct nvt_thread *thread, const struct nvt_event *event)
{
    nvt_tasks_note(thread, 0);
    nvt_thread_enter(thread);
    if (nvt_tasks_record(thread, 0) || nvt_event_record(thread, event))
        nvt_thread_drop(thread, 1);
    nvt_thread_leave(thread);
}

static void record_or_drop(const struct nvt_event *event)
{
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread)
        return;
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return;
    if (NVT_UNLIKELY(nvt_capture_watches) && is_quiet_event(thread, event))
        return;
    if (NVT_UNLIKELY(nvt_capture_watches) && nvt_heaps_are_due())
        nvt_heaps_tell();
    record_now(thread, event);
}

void nvt_event_mark_now(const struct nvt_event *event)
{
    struct nvt_thread *thread = nvt_thread_get();
    if (thread && !(nvt_thread_busy(thread) && nvt_thread_nested(thread)))
        record_now(thread, event);
}

uint64_t nvt_event_start(struct nvt_event *event)
{
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_steps_note(event);
    if (NVT_UNLIKELY(nvt_dormant_watches) && nvt_dormant_skips_event())
        return NVT_QUIET_RANGE;
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread)
        return 0;
    /* Unique in the process: which ring, and which of its ranges; never 0. */
    event->range = (uint64_t)thread->serial << 40 | (++thread->ranges & (NVT_QUIET_RANGE - 1));
    if (NVT_UNLIKELY(nvt_capture_watches) && !nvt_capture_opens(thread, event) &&
        nvt_event_is_quiet(thread))
        event->range |= NVT_QUIET_RANGE;
    record_or_drop(event);
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_slow_started(event->range);
    return event->range;
}

void nvt_event_mark(const struct nvt_event *event)
{
    if (NVT_UNLIKELY(nvt_dormant_watches) && nvt_dormant_skips_event())
        return;
    record_or_drop(event);
}

void nvt_event_end(const struct nvt_event *event)
{
    if (NVT_UNLIKELY(nvt_dormant_watches) &&
        ((event->range & NVT_QUIET_RANGE) || (nvt_dormant_is_late() && nvt_dormant_renew())))
        return;
    record_or_drop(event);
    if (NVT_UNLIKELY(nvt_capture_watches))
        nvt_capture_stopped(event->range);
    if (NVT_UNLIKELY(nvt_steps_watch))
        nvt_slow_ended(event->range);
}

static void define(const struct nvt_late_definition *definition)
{
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread)
        return;
    if (nvt_thread_busy(thread) && nvt_thread_nested(thread))
        return;
    nvt_thread_enter(thread);
    uint64_t header[2] = {definition->id, definition->size};
    struct nvt_piece pieces[2] = {{header, sizeof(header)}, {definition->data, definition->size}};
    uint32_t number = nvt_domain_number(thread, definition->domain);
    if (nvt_thread_record(thread, NVT_WORD(definition->kind, 0, 0, number, definition->value),
                          pieces, 2))
        nvt_thread_drop(thread, 1);
    nvt_thread_leave(thread);
}

/* Of a standing session: keep it for later, and whether there is nobody to tell now. A task that lives gets its name again by itself. */
static int is_for_later(const struct nvt_late_definition *definition)
{
    const struct nvt_control *control = nvt_session.control;
    if (!control || !control->is_standing)
        return 0;
    if (definition->kind != NVT_DEFINE_TASK)
        nvt_late_keep(definition);
    return !*(const volatile int32_t *)&control->recorder ||
           (nvt_dormant_is_late() && nvt_dormant_renew());
}

void nvt_define(enum nvt_record_kind kind, nvtxDomainHandle_t domain, uint32_t value, uint64_t id,
                const void *data, size_t size)
{
    /* A name may be cut; a schema is there as a whole or counted as lost. */
    if (size > NVT_STRING_MAX && kind != NVT_DEFINE_SCHEMA && kind != NVT_DEFINE_ENUM)
        size = NVT_STRING_MAX;
    const struct nvt_late_definition definition = {kind, domain, value, id, data, size};
    if (NVT_LIKELY(!nvt_dormant_watches) || !is_for_later(&definition))
        define(&definition);
}
