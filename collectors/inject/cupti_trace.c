#include "cupti_trace.h"

#ifdef HAVE_CUPTI
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/pages.h"
#include "../cupti_decode.h"
#include "../cupti_keep.h"
#include "capture.h"
#include "cupti_metrics.h"
#include "cupti_second.h"
#include "cupti_selected.h"
#include "device.h"
#include "exit_hook.h"
#include "futex.h"
#include "os.h"
#include "session.h"
#include "thread.h"

#define HANDOVER_NS INT64_C(100000000)

/* Of this process; a forked child has another pid than `pid`. */
static struct {
    struct nvt_cupti_api api;
    _Atomic pid_t pid; /* 0: CUPTI is not in use; set when the rest is ready */
    pthread_mutex_t switching;
    int recording;
    int late;                              /* it was not begun before the driver came up */
    int own_clock;                         /* CUPTI takes its times from us */
    _Atomic uint32_t bell;                 /* futex: something to do */
    _Atomic uint32_t ending;               /* the process asks for the rest */
    _Atomic uint32_t finished;             /* futex: it has been sent */
    _Atomic uint32_t wanted;               /* times that somebody asked for what is there */
    _Atomic uint32_t handed;               /* futex: so many of them have been answered */
    _Atomic uint32_t progress;             /* grows as buffers are filled, decoded and sent */
    _Atomic uint32_t is_up;                /* there is a context, or nobody tells */
    _Atomic int um_waits;                  /* managed memory is wanted, and the driver was not up */
    _Atomic uint64_t levels;               /* recorded now, or last: enum nvt_trace_what bits */
    _Atomic uint64_t records, overhead_ns; /* decoded */
    CUpti_SubscriberHandle subscriber;
    CUptiResult subscribed;
    /* The flushing thread's. */
    struct nvt_cupti_decoder decoder;
    struct nvt_device_batch batch;
    uint64_t lost, unknown; /* by CUPTI; since the last row about it */
    struct nvt_cupti_seen seen;
    struct nvt_cupti_keeper keeper;
} cupti = {.switching = PTHREAD_MUTEX_INITIALIZER};

void nvt_cupti_ring_bell(void)
{
    atomic_fetch_add(&cupti.progress, 1);
    nvt_futex_wake(&cupti.bell);
}

/* Our process, and CUPTI runs in it. */
static int is_active(void)
{
    pid_t pid = atomic_load_explicit(&cupti.pid, memory_order_acquire);
    return pid && pid == (pid_t)syscall(SYS_getpid);
}

/* And the last has not been asked of it. */
static int is_open(void)
{
    return is_active() && !atomic_load(&cupti.ending);
}

static void problem(const char *text)
{
    uint64_t fields[NVT_PROBLEM_FIELDS];
    nvt_device_send_row(NVT_DEVICE_PROBLEM, fields, NVT_PROBLEM_FIELDS, NVT_PROBLEM_TEXT, text);
}

/* What was refused is missing in the trace; the rest is recorded all the same. */
static void report_refused(const char *refused)
{
    char text[512];
    snprintf(text, sizeof(text), "CUPTI refuses to record %.400s", refused);
    if (refused[0])
        problem(text);
}

/* The driver is up by now; what is refused before there is a context is tried once more with one. Called by CUPTI, too, and
 * so without waiting: who has the lock may be waiting for CUPTI. */
static void try_um(void)
{
    char refused[512] = "";
    if (!atomic_load(&cupti.um_waits) || pthread_mutex_trylock(&cupti.switching))
        return;
    if (atomic_load(&cupti.um_waits))
        atomic_store(&cupti.um_waits, nvt_cupti_um(&cupti.api, 1, refused, sizeof(refused)));
    if (refused[0] && !atomic_load(&cupti.is_up)) {
        atomic_store(&cupti.um_waits, 1);
        refused[0] = 0;
    }
    pthread_mutex_unlock(&cupti.switching);
    report_refused(refused);
}

/* --- the flushing thread --- */

static void send_batch(void *context, struct nvt_device_batch *batch)
{
    (void)context;
    if (batch->rows)
        nvt_device_send(batch);
    nvt_device_batch_clear(batch);
    atomic_fetch_add(&cupti.progress, 1);
}

static void add(uint32_t kind, const uint64_t *fields, uint32_t count)
{
    if (!nvt_device_batch_add(&cupti.batch, kind, fields, count))
        return;
    send_batch(NULL, &cupti.batch);
    nvt_device_batch_add(&cupti.batch, kind, fields, count);
}

/* Before what its records point at is gone. */
static void keep(uint8_t *buffer, size_t valid)
{
    if (nvt_cupti_keeper_take(&cupti.keeper, cupti.api.version,
                              cupti.api.cuptiActivityGetNextRecord, buffer, valid))
        problem("a buffer could not be kept in the folder of " NVT_CUPTI_KEEP_ENV);
}

static void decode_filled(void)
{
    size_t valid;
    for (uint8_t *buffer; (buffer = nvt_cupti_buffer_take(&valid));) {
        keep(buffer, valid);
        if (cupti.own_clock)
            nvt_cupti_clock_until(&cupti.decoder);
        cupti.unknown += nvt_cupti_decode(&cupti.decoder, buffer, valid, &cupti.batch);
        atomic_store(&cupti.records, cupti.seen.records);
        atomic_store(&cupti.overhead_ns, cupti.seen.overhead_ns);
        nvt_cupti_buffer_give(buffer);
        atomic_fetch_add(&cupti.progress, 1);
    }
}

static void add_moment(void)
{
    uint64_t fields[NVT_CLOCK_FIELDS];
    if (!nvt_cupti_moment(&cupti.api, fields))
        add(NVT_DEVICE_CLOCK, fields, NVT_CLOCK_FIELDS);
}

/* What CUPTI dropped. Behind `final` nothing is sent any more, but it is counted all the same. */
static void add_lost(int final)
{
    size_t dropped = 0;
    if (cupti.api.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS)
        cupti.lost += dropped;
    const uint64_t fields[NVT_LOST_FIELDS] = {
        [NVT_LOST_CUPTI] = cupti.lost, [NVT_LOST_UNKNOWN] = cupti.unknown};
    if (!cupti.lost && !cupti.unknown)
        return;
    send_batch(NULL, &cupti.batch);
    nvt_device_batch_add(&cupti.batch, NVT_DEVICE_LOST, fields, NVT_LOST_FIELDS);
    if (!nvt_device_send(&cupti.batch))
        cupti.lost = cupti.unknown = 0;
    else if (final)
        nvt_thread_drop(nvt_thread_get(), cupti.lost);
}

/* What was complete at `asked`, when CUPTI was asked for it, is in the file, but for what lies in a buffer that it has
 * not handed over, as something else in there is not complete. */
static void add_delivered(int final, int64_t asked)
{
    int64_t oldest = nvt_cupti_buffers_oldest();
    const uint64_t fields[NVT_DELIVERED_FIELDS] = {
        [NVT_DELIVERED_FINAL] = final != 0,
        [NVT_DELIVERED_UNTIL_NS] = (uint64_t)(oldest && oldest < asked ? oldest : asked)};
    add(NVT_DEVICE_DELIVERED, fields, NVT_DELIVERED_FIELDS);
}

/* What CUPTI hands over after all, and to whom. Each is said once, at the end: it goes on until then. */
static void tell_of_others(int64_t asked)
{
    const int64_t oldest = nvt_cupti_buffers_oldest();
    if (oldest && oldest < asked)
        problem("CUPTI did not return all buffers with device records: another tool, such as "
                "PyTorch's profiler, may have taken over the records in them and later ones");
    if (nvt_cupti_buffers_foreign())
        problem("CUPTI returned buffers of another tool that used it before: that tool does not "
                "get them");
}

static void hand_over(int final)
{
    int64_t asked = nvt_monotonic_ns();
    nvt_cupti_metrics_round(&cupti.api, &cupti.seen, (int)atomic_load(&cupti.is_up), final);
    if (!cupti.own_clock)
        add_moment();
    /* A program may come up with CUDA and never use it: then there is nothing to ask for. */
    CUptiResult result = CUPTI_SUCCESS;
    if (nvt_cupti_buffers_made())
        result = cupti.api.cuptiActivityFlushAll(
            final == NVT_CUPTI_PROCESS_ENDS ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    decode_filled();
    if (final && !cupti.own_clock)
        add_moment();
    add_lost(final);
    if (result == CUPTI_SUCCESS)
        add_delivered(final, asked);
    send_batch(NULL, &cupti.batch);
    if (final && result == CUPTI_SUCCESS) {
        tell_of_others(asked);
        if (nvt_cupti_lacks_calls(nvt_session.control->trace, &cupti.seen))
            problem("CUPTI does not report which calls launched the kernels, so they are in no "
                    "range: --trace api may help");
    }
    if (final && atomic_load(&cupti.um_waits) && atomic_load(&cupti.is_up))
        problem("CUPTI refuses to record managed memory (CUPTI_ERROR_NOT_INITIALIZED)");
}

/* Of devices there should be records by now. */
static void ask_for_devices(void)
{
    static int was_asked;
    if (was_asked || cupti.seen.devices || !atomic_load(&cupti.is_up) || !nvt_cupti_buffers_made())
        return;
    was_asked = 1;
    nvt_cupti_dump_devices(&cupti.api);
}

static void *flush(void *memory)
{
    enum { ROUNDS = 10 }; /* in which a buffer with devices should have come */
    int has_records = 0, rounds = 0;
    int64_t next = nvt_monotonic_ns() + HANDOVER_NS;
    nvt_os_own_thread("nvtally-cupti");
    /* Its ring may be a smaller one, for want of room. */
    nvt_device_batch_init(&cupti.batch, memory, nvt_device_batch_room(nvt_thread_get()));
    for (;;) {
        uint32_t bell = atomic_load(&cupti.bell);
        int64_t now = nvt_monotonic_ns();
        if (atomic_load(&cupti.ending))
            break;
        uint32_t wanted = atomic_load(&cupti.wanted);
        if (wanted != atomic_load(&cupti.handed)) {
            hand_over(0);
            atomic_store(&cupti.handed, wanted - 1);
            nvt_futex_wake(&cupti.handed);
            continue;
        }
        if (now >= next && !nvt_cupti_window_rests()) {
            /* While the driver comes up, its locks are held, and CUPTI has nothing but devices: it is
             * asked a round after there was a context, or more than fits one buffer. */
            if (has_records)
                hand_over(0);
            if (has_records && ++rounds == ROUNDS)
                ask_for_devices();
            if (nvt_cupti_ask_for_calls(&cupti.api, cupti.levels, &cupti.seen))
                problem("CUPTI ignores filters on API calls: after the first second all calls are "
                        "recorded, which adds overhead");
            if (atomic_load(&cupti.is_up))
                try_um();
            uint32_t made = nvt_cupti_buffers_made();
            has_records = made > 1 || (made && atomic_load(&cupti.is_up));
            next = nvt_monotonic_ns() + HANDOVER_NS;
            continue;
        }
        decode_filled();
        nvt_cupti_window_follow(hand_over);
        nvt_cupti_metrics_round(&cupti.api, &cupti.seen, (int)atomic_load(&cupti.is_up), 0);
        nvt_futex_wait(&cupti.bell, bell,
                       nvt_cupti_metrics_wait(nvt_cupti_window_wait(next - now)));
    }
    if (!cupti.seen.devices && atomic_load(&cupti.is_up))
        hand_over(0);
    ask_for_devices();
    /* Nothing calls CUPTI behind this: its own exit handlers may run from here on. */
    hand_over(NVT_CUPTI_PROCESS_ENDS);
    nvt_cupti_window_handed();
    nvt_futex_wake(&cupti.finished);
    return NULL;
}

static int start_thread(void)
{
    pthread_t thread;
    void *memory = nvt_pages_new(nvt_device_batch_room(NULL));
    if (!memory || pthread_create(&thread, NULL, flush, memory))
        return -1;
    pthread_detach(thread);
    return 0;
}

/* --- the end --- */

/* Until *word has come to `wanted`, as long as anything moves. */
static void wait_until(_Atomic uint32_t *word, uint32_t wanted)
{
    uint32_t now, progress = atomic_load(&cupti.progress);
    int64_t moved = nvt_monotonic_ns();
    while ((int32_t)((now = atomic_load(word)) - wanted) < 0 &&
           nvt_monotonic_ns() - moved < NVT_CUPTI_PATIENCE_NS) {
        nvt_futex_wait(word, now, NVT_CUPTI_PATIENCE_NS / 20);
        if (atomic_load(&cupti.progress) != progress) {
            progress = atomic_load(&cupti.progress);
            moved = nvt_monotonic_ns();
        }
    }
}

void nvt_cupti_finish(void)
{
    int saved = errno;
    if (is_active()) {
        atomic_store(&cupti.ending, 1);
        nvt_cupti_ring_bell();
        wait_until(&cupti.finished, 1);
    }
    errno = saved;
}

/* Handlers run in reverse: this one before those of whatever had come up by now. Where it is refused, nvt_exit_hook()
 * is left. */
static void finish_at_exit(void)
{
    (void)atexit(nvt_cupti_finish);
    (void)at_quick_exit(nvt_cupti_finish);
}

void nvtally_inject_hand_over(void)
{
    int saved = errno;
    if (is_open()) {
        uint32_t wanted = atomic_fetch_add(&cupti.wanted, 1) + 1;
        nvt_cupti_ring_bell();
        wait_until(&cupti.handed, wanted);
    }
    errno = saved;
}

/* --- what the program does --- */

/*
 * Before kinds of records are switched off, and before a context ends: what is still running then has its record kept,
 * and gets for its end the moment at which they are switched on again, or loses it. So it is waited for, though no longer
 * than SETTLE_NS, by asking for what is complete until CUPTI has handed over each buffer that it had: no call of CUDA,
 * which a capture of a graph forbids. Where that was in vain once, as others keep the device at work all the time, it is
 * not done again: a program may have thousands of such ranges. Several threads may be in here, and none needs a lock: one
 * that CUPTI calls must not wait for one that calls CUPTI.
 */
#define SETTLE_NS INT64_C(1000000000)

static void settle(void)
{
    static _Atomic int in_vain;
    const struct timespec moment = {0, 200000};
    const int64_t now = nvt_monotonic_ns();
    while (!atomic_load(&in_vain) && !atomic_load(&cupti.ending) && atomic_load(&cupti.is_up) &&
           nvt_cupti_buffers_made() && cupti.api.cuptiActivityFlushAll(0) == CUPTI_SUCCESS) {
        const int64_t oldest = nvt_cupti_buffers_oldest();
        if (!oldest || oldest > now)
            break;
        if (nvt_monotonic_ns() - now > SETTLE_NS)
            atomic_store(&in_vain, 1);
        syscall(SYS_nanosleep, &moment, NULL);
    }
}

/* Record or stop recording, as the capture says. */
static void switch_recording(char *refused, size_t size)
{
    pthread_mutex_lock(&cupti.switching);
    int wanted = nvt_capture_is_open();
    refused[0] = 0;
    if (wanted != cupti.recording) {
        if (!wanted)
            settle();
        if (wanted)
            atomic_store(&cupti.levels, nvt_session_trace());
        nvt_cupti_levels(&cupti.api, cupti.levels, wanted, cupti.late, refused, size);
        if (cupti.levels & NVT_TRACE_UM)
            atomic_store(&cupti.um_waits, atomic_load(&cupti.is_up)
                                              ? nvt_cupti_um(&cupti.api, wanted, refused, size)
                                              : wanted);
        cupti.recording = wanted;
    }
    pthread_mutex_unlock(&cupti.switching);
}

void nvt_cupti_capture(void)
{
    char refused[512];
    if (!is_open())
        return;
    switch_recording(refused, sizeof(refused));
    nvt_cupti_metrics_capture(&cupti.api);
    report_refused(refused);
}

int64_t nvt_cupti_records(uint64_t *overhead_ns)
{
    *overhead_ns = atomic_load(&cupti.overhead_ns);
    return is_active() ? (int64_t)atomic_load(&cupti.records) : -1;
}

void nvt_cupti_named(uint32_t type, uint64_t handle, const char *name)
{
    uint64_t fields[NVT_NAME_FIELDS];
    uint32_t id = 0;
    CUptiResult result = CUPTI_ERROR_UNKNOWN;
    if (!is_open())
        return;
    if (type == NVT_RESOURCE_STREAM)
        result = cupti.api.cuptiGetStreamIdEx(NULL, (CUstream)(uintptr_t)handle, 0, &id);
    else if (type == NVT_RESOURCE_CONTEXT)
        result = cupti.api.cuptiGetContextId((CUcontext)(uintptr_t)handle, &id);
    if (result != CUPTI_SUCCESS)
        return;
    fields[NVT_NAME_TYPE] =
        type == NVT_RESOURCE_STREAM ? CUPTI_ACTIVITY_OBJECT_STREAM : CUPTI_ACTIVITY_OBJECT_CONTEXT;
    fields[NVT_NAME_ID] = id;
    nvt_device_send_row(NVT_DEVICE_NAME, fields, NVT_NAME_FIELDS, NVT_NAME_TEXT, name);
}

/* Before a call that may end a context. From callbacks of the driver's and the runtime's calls CUPTI may be flushed
 * (cuptiActivityFlushAll in the headers of CUDA 13.4 and later), from no others. */
static void before_call(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const enum nvt_cupti_ending ending = nvt_cupti_ending(domain, id);
    /* Destructors end contexts, too, behind the end of recording. */
    if (ending == NVT_ENDS_NOTHING || atomic_load(&cupti.ending))
        return;
    if (ending == NVT_ENDS_CONTEXT)
        settle();
    cupti.api.cuptiActivityFlushAll(0);
}

static void CUPTIAPI on_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    const CUpti_CallbackData *call = data;
    char text[512];
    (void)context;
    if (is_open() && !nvt_cupti_state(&cupti.api, domain, id, data, text, sizeof(text)))
        problem(text);
    if (is_active() && domain == CUPTI_CB_DOMAIN_RESOURCE) {
        if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
            nvt_cupti_metrics_context(&cupti.api, data);
        /* The driver may have handlers of its own since we were loaded, behind which it gives CUPTI nothing. */
        if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && !atomic_exchange(&cupti.is_up, 1))
            finish_at_exit();
        try_um();
    }
    if (!is_active() ||
        (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API))
        return;
    int enters = call->callbackSite == CUPTI_API_ENTER;
    if (enters)
        before_call(domain, id);
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
        return;
    if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart && !enters)
        nvt_capture_begin();
    else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop && enters)
        nvt_capture_end();
}

/* Before anything else is asked of CUPTI: by its second interface where it has one, else by the first, which serves one tool at a
 * time and knows it by this alone: what another one has set up would be taken from it without a word ("CUPTI Initialization" in
 * its manual). -1: there is another one, or no driver that this CUPTI can work with ("CUPTI Compatibility and Requirements"). */
static int subscribe(void)
{
    char other[NVT_CUPTI_NAME_ROOM], text[256];
    cupti.subscribed = nvt_cupti_subscribe_second(&cupti.api, nvt_session.control->trace, on_call,
                                                  &cupti.subscriber, other);
    if (cupti.subscribed == CUPTI_SUCCESS)
        return 0;
    CUptiResult result = cupti.api.cuptiSubscribe(&cupti.subscriber, on_call, NULL);
    cupti.subscribed = result;
    if (result == CUPTI_ERROR_NOT_INITIALIZED)
        problem("CUPTI does not start (CUPTI_ERROR_NOT_INITIALIZED): the driver is too old for "
                "this libcupti; NVTALLY_CUPTI may name one of an earlier CUDA version");
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        problem(nvt_cupti_other_text(other, text, sizeof(text)));
    else if (result != CUPTI_ERROR_NOT_INITIALIZED)
        return 0;
    if (nvt_capture_mode() == NVT_CAPTURE_PROFILER)
        problem("CUPTI does not report cudaProfilerStart: nvtally could not subscribe to it");
    return -1;
}

/* What we want to be told of. */
static void listen(void)
{
    const struct nvt_cupti_api *api = &cupti.api;
    CUptiResult result = cupti.subscribed, told = result;
    int profiler = nvt_capture_mode() == NVT_CAPTURE_PROFILER;
    if (result == CUPTI_SUCCESS) {
        told = api->cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                        CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
        api->cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                 CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
        nvt_cupti_listen_to_endings(api, cupti.subscriber);
        nvt_cupti_listen_to_state(api, cupti.subscriber);
        if (profiler)
            result = api->cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                              CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
        if (profiler && result == CUPTI_SUCCESS)
            result = api->cuptiEnableCallback(1, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                              CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
    }
    if (told != CUPTI_SUCCESS)
        atomic_store(&cupti.is_up, 1);
    if (profiler && result != CUPTI_SUCCESS)
        problem("CUPTI does not report cudaProfilerStart");
}

/* --- the beginning --- */

static void set_up_clock(void)
{
    struct nvt_cupti_api *api = &cupti.api;
    nvt_cupti_clock_begins(&cupti.decoder);
    cupti.own_clock =
        api->cuptiActivityRegisterTimestampCallback &&
        api->cuptiActivityRegisterTimestampCallback(nvt_cupti_timestamp) == CUPTI_SUCCESS;
    if (!api->cuptiSetThreadIdType ||
        api->cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) != CUPTI_SUCCESS)
        problem("CUPTI does not report the calling thread: launches are not linked to ranges");
}

void nvt_cupti_start(void)
{
    char text[512], refused[512] = "";
    if (nvt_cupti_load(&cupti.api, text, sizeof(text))) {
        problem(text);
        return;
    }
    if (text[0])
        problem(text);
    if (subscribe())
        return;
    const char *defect = nvt_cupti_defect(&cupti.api, nvt_session.control->trace);
    if (defect)
        problem(defect);
    nvt_cupti_take_wishes(&cupti.api, problem);
    nvt_cupti_keeper_init(&cupti.keeper);
    cupti.decoder =
        (struct nvt_cupti_decoder){.next = cupti.api.cuptiActivityGetNextRecord,
                                   .callback_name = cupti.api.cuptiGetCallbackName,
                                   .full = send_batch,
                                   .seen = &cupti.seen,
                                   .whole = nvt_cupti_is_selected() ? nvt_cupti_whole : NULL,
                                   .release = free};
    const struct nvt_cupti_buffers_use use = {nvt_cupti_ring_bell, nvt_cupti_take_zeros(&cupti.api),
                                              cupti.api.version < NVT_CUPTI_REFUSABLE};
    nvt_cupti_buffers_init(&use);
    CUptiResult result = cupti.api.cuptiActivityRegisterCallbacks(nvt_cupti_buffer_requested,
                                                                  nvt_cupti_buffer_completed);
    if (result != CUPTI_SUCCESS) {
        nvt_cupti_refuse(&cupti.api, "CUPTI does not accept nvtally's buffers", result, refused,
                         sizeof(refused));
        problem(refused);
        return;
    }
    set_up_clock();
    /* So far there was nothing to deliver: a kill from here on is noticed. */
    uint64_t delivered[NVT_DELIVERED_FIELDS] = {0};
    nvt_device_send_row(NVT_DEVICE_DELIVERED, delivered, NVT_DELIVERED_FIELDS, 0, NULL);
    nvt_cupti_window_begin();
    atomic_store_explicit(&cupti.pid, getpid(), memory_order_release);
    if (nvt_session.control->is_dormant) /* what there is by now CUPTI does not say */
        atomic_store(&cupti.is_up, 1);
    /* Of selected fields, kinds have to be asked for before single calls. */
    cupti.late =
        nvt_session.control->is_dormant || !nvt_capture_is_open() || nvt_cupti_is_selected();
    if (start_thread()) {
        nvt_cupti_window_handed();
        atomic_store(&cupti.pid, 0);
        problem("no thread could be started to receive device records");
        return;
    }
    listen();
    nvt_cupti_objects(&cupti.api, refused, sizeof(refused));
    report_refused(refused);
    switch_recording(refused, sizeof(refused));
    report_refused(refused);
    finish_at_exit();
    nvt_exit_hook(nvt_cupti_finish);
}

#endif
