#include "capture.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "cupti_trace.h"
#include "device.h"
#include "dormant.h"
#include "heaps.h"
#include "registry.h"
#include "session.h"
#include "steps.h"

#define PROFILER "cudaProfilerApi"

int nvt_capture_watches;
_Atomic uint64_t nvt_capture_opened;
static _Atomic int open_captures;
static _Atomic int owner; /* pid that they are of: a forked child begins with none */
/* start/end ranges that are captured, 0 none */
static _Atomic uint64_t started[NVT_CAPTURE_STARTS];
static _Atomic uint64_t seen; /* ranges of that name in the process `owner` */

enum nvt_capture_mode nvt_capture_mode(void)
{
    const struct nvt_control *control = nvt_session.control;
    const char *capture = control->capture;
    if (control->is_dormant)
        return atomic_load(&control->stepping) ? NVT_CAPTURE_RANGE : NVT_CAPTURE_ALL;
    if (!*capture)
        return NVT_CAPTURE_ALL;
    return strcmp(capture, PROFILER) ? NVT_CAPTURE_RANGE : NVT_CAPTURE_PROFILER;
}

int nvt_capture_in_window(void)
{
    const struct nvt_control *control = nvt_session.control;
    return atomic_load_explicit(&control->window, memory_order_acquire) == NVT_WINDOW_OPEN &&
           !atomic_load_explicit(&control->ended, memory_order_relaxed);
}

int nvt_capture_is_open(void)
{
    return nvt_capture_in_window() &&
           (nvt_capture_mode() == NVT_CAPTURE_ALL ||
            (atomic_load(&open_captures) > 0 && (!nvt_dormant_watches || nvt_steps_have_begun())));
}

int nvt_capture_asks(void)
{
    return nvt_capture_mode() == NVT_CAPTURE_RANGE || nvt_session.control->has_window ||
           nvt_steps_watch;
}

/* The row's time is when it is sent: what happens behind it is in the capture. */
static void send(uint64_t begins)
{
    nvt_device_send_row(NVT_DEVICE_CAPTURE, &begins, NVT_CAPTURE_FIELDS, 0, NULL);
}

void nvt_capture_forget(void)
{
    atomic_store(&open_captures, 0);
    atomic_store(&nvt_capture_opened, 0);
    for (int i = 0; i < NVT_CAPTURE_STARTS; i++)
        atomic_store(&started[i], 0);
}

void nvt_capture_own(void)
{
    int pid = (int)syscall(SYS_getpid), before = atomic_exchange(&owner, pid);
    if (before && before != pid) {
        nvt_capture_forget();
        atomic_store(&seen, 0);
    }
}

void nvt_capture_begin(void)
{
    nvt_capture_own();
    if (atomic_fetch_add(&open_captures, 1))
        return;
    atomic_store(&nvt_session.control->captured, 1);
    send(1);
    atomic_store(&nvt_capture_opened, nvt_ticks(nvt_session.control->clock));
    nvt_heaps_tell();
    nvt_cupti_capture();
}

void nvt_capture_end(void)
{
    /* A stop without a start ends nothing. */
    int open = atomic_load(&open_captures);
    while (open > 0 && !atomic_compare_exchange_weak(&open_captures, &open, open - 1)) {
    }
    if (open != 1)
        return;
    atomic_store(&nvt_capture_opened, 0);
    send(0);
    nvt_cupti_capture();
    if (nvt_dormant_watches)
        nvt_steps_done();
}

/* --- ranges --- */

static int is_text(const char *text, const char *wanted, size_t length)
{
    return text && strlen(text) == length && !memcmp(text, wanted, length);
}

const char *nvt_capture_text(const nvtxEventAttributes_t *attributes, char room[NVT_CAPTURE_TEXT],
                             size_t *length)
{
    const char *text = NULL;
    if (!attributes || !attributes->message.ascii)
        return NULL;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
        const struct nvtxStringRegistration *string =
            (const struct nvtxStringRegistration *)attributes->message.registered;
        *length = string->length;
        return string->text;
    }
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII)
        text = attributes->message.ascii;
    else if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
        nvt_utf8(room, NVT_CAPTURE_TEXT, attributes->message.unicode);
        text = room;
    }
    *length = text ? strlen(text) : 0;
    return text;
}

static int has_name(const nvtxEventAttributes_t *attributes, const char *wanted, size_t length)
{
    char room[NVT_CAPTURE_TEXT];
    size_t size;
    const char *text = nvt_capture_text(attributes, room, &size);
    return text && size == length && !memcmp(text, wanted, length);
}

/* RANGE: of the default domain; RANGE@DOMAIN or DOMAIN@RANGE; RANGE@*: of any. */
int nvt_capture_matches(const struct nvt_event *event, const char *wanted)
{
    const char *at = strrchr(wanted, '@');
    const char *domain = event->domain ? event->domain->name : "";
    size_t length = at ? (size_t)(at - wanted) : strlen(wanted);
    if (!at)
        return !*domain && has_name(event->attributes, wanted, length);
    if ((!strcmp(at + 1, "*") || !strcmp(at + 1, domain)) &&
        has_name(event->attributes, wanted, length))
        return 1;
    return is_text(domain, wanted, length) && has_name(event->attributes, at + 1, strlen(at + 1));
}

static uint32_t domain_of(const struct nvt_event *event)
{
    return event->domain ? event->domain->number : 0;
}

/* Count a range of that name; whether it is one of those that are wanted. */
static int is_in_turn(void)
{
    const struct nvt_control *control = nvt_session.control;
    nvt_capture_own();
    const uint64_t number = atomic_fetch_add(&seen, 1);
    return number >= control->capture_from && number <= control->capture_to;
}

/* A place for a start/end range, or where it is: `from` there becomes `to`. Whether there was one. */
static int change_start(uint64_t from, uint64_t to)
{
    for (int i = 0; i < NVT_CAPTURE_STARTS; i++) {
        uint64_t there = from;
        if (atomic_compare_exchange_strong(&started[i], &there, to))
            return 1;
    }
    return 0;
}

static int is_of(const struct nvt_captured *capture, const struct nvt_thread *thread,
                 uint32_t domain)
{
    return capture->domain == domain && capture->task == thread->task.number;
}

/* A range within one of its domain that is captured is, too, without a place of its own. */
static int has_place(const struct nvt_thread *thread, uint32_t domain)
{
    for (uint32_t i = 0; i < thread->captures; i++)
        if (is_of(&thread->capture[i], thread, domain))
            return 0;
    return thread->captures < NVT_CAPTURE_PUSHES;
}

/* Remember the range, which is beginning, as one whose end counts. Whether there is room for that. */
static int remember(const struct nvt_thread *thread, const struct nvt_event *event)
{
    return event->kind == NVT_EVENT_START ? change_start(0, event->range)
                                          : has_place(thread, domain_of(event));
}

/* From the beginning of the first iteration to the end of the last, which alone is remembered. */
static int opens_steps(const struct nvt_thread *thread, const struct nvt_event *event)
{
    const int noted = nvt_steps_noted();
    if (noted & NVT_STEPS_FIRST) {
        nvt_capture_forget(); /* of what was broken off */
        nvt_capture_begin();
    }
    return noted & NVT_STEPS_LAST && remember(thread, event);
}

int nvt_capture_opens(struct nvt_thread *thread, const struct nvt_event *event)
{
    if (nvt_capture_mode() != NVT_CAPTURE_RANGE || nvt_thread_busy(thread))
        return 0;
    if (nvt_dormant_watches)
        return opens_steps(thread, event);
    if (!nvt_capture_matches(event, nvt_session.control->capture) || !is_in_turn() ||
        !nvt_capture_in_window() || !remember(thread, event))
        return 0;
    nvt_capture_begin();
    return 1;
}

void nvt_capture_pushed(struct nvt_thread *thread, uint32_t domain, int opens)
{
    for (uint32_t i = 0; i < thread->captures; i++)
        thread->capture[i].within += is_of(&thread->capture[i], thread, domain) != 0;
    if (opens)
        thread->capture[thread->captures++] = (struct nvt_captured){domain, thread->task.number, 0};
}

void nvt_capture_popped(struct nvt_thread *thread, uint32_t domain)
{
    uint32_t i = 0;
    while (i < thread->captures && !is_of(&thread->capture[i], thread, domain))
        i++;
    if (i == thread->captures || thread->capture[i].within--)
        return;
    thread->capture[i] = thread->capture[--thread->captures];
    nvt_capture_end();
}

void nvt_capture_stopped(uint64_t range)
{
    if (range && change_start(range, 0))
        nvt_capture_end();
}

static int push_name(const char *message)
{
    if (nvt_dormant_skips_other(message))
        return NVT_NO_TRACKING;
    nvtxEventAttributes_t attributes = {.messageType = NVTX_MESSAGE_TYPE_ASCII};
    attributes.message.ascii = message;
    return nvt_event_push(&(struct nvt_event){.kind = NVT_EVENT_PUSH, .attributes = &attributes});
}

static int domain_pop(nvtxDomainHandle_t domain)
{
    return nvt_event_pop(&(struct nvt_event){.kind = NVT_EVENT_POP, .domain = domain});
}

static int pop(void)
{
    return domain_pop(NULL);
}

static const struct nvt_callback core[] = {
    {NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)push_name},
    {NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)pop},
};

static const struct nvt_callback core2[] = {
    {NVTX_CBID_CORE2_DomainRangePop, (NvtxFunctionPointer)domain_pop},
};

struct nvt_module nvt_module_watch(NvtxCallbackModule module)
{
    nvt_capture_watches = 1;
    if (module == NVTX_CB_MODULE_CORE)
        return (struct nvt_module){module, core, NVT_COUNT_OF(core)};
    return (struct nvt_module){module, core2, NVT_COUNT_OF(core2)};
}
