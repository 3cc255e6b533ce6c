#include "os.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/os_calls.h"
#include "capture.h"
#include "cpu.h"
#include "events.h"
#include "session.h"

/* --- whose calls ---------------------------------------------------------------------------------- */

#define OWN_LIBRARIES 4
static struct {
    _Atomic uintptr_t from, to;
} own[OWN_LIBRARIES];
static _Atomic int own_count;

static __thread int is_own_thread __attribute__((tls_model("initial-exec")));
static __thread const void *handed_on __attribute__((tls_model("initial-exec")));

void nvt_os_own_thread(const char *name)
{
    is_own_thread = 1;
    if (name)
        prctl(PR_SET_NAME, name);
}

struct search {
    uintptr_t address, from, to;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    uintptr_t from = UINTPTR_MAX, to = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        from = start < from ? start : from;
        to = start + part->p_memsz > to ? start + part->p_memsz : to;
    }
    if (search->address < from || search->address >= to)
        return 0;
    search->from = from;
    search->to = to;
    return 1;
}

void nvt_os_own_library(const void *address)
{
    struct search search = {(uintptr_t)address, 0, 0};
    if (!dl_iterate_phdr(look_at_object, &search) || nvt_os_is_own(address))
        return;
    int place = atomic_fetch_add(&own_count, 1);
    if (place >= OWN_LIBRARIES)
        return;
    atomic_store(&own[place].from, search.from);
    atomic_store(&own[place].to, search.to);
}

int nvt_os_is_own(const void *address)
{
    int count = atomic_load_explicit(&own_count, memory_order_relaxed);
    for (int i = 0; i < count && i < OWN_LIBRARIES; i++)
        if ((uintptr_t)address < atomic_load_explicit(&own[i].to, memory_order_relaxed) &&
            (uintptr_t)address >= atomic_load_explicit(&own[i].from, memory_order_relaxed))
            return 1;
    return is_own_thread;
}

void nvt_os_hand_on(const void *caller)
{
    handed_on = caller;
}

int nvt_os_is_own_call(const void **caller)
{
    if (NVT_UNLIKELY(handed_on)) {
        *caller = handed_on;
        handed_on = NULL;
    }
    return nvt_os_is_own(*caller);
}

/* The calling thread's state, NULL: it can have none now. */
static struct nvt_thread *own_thread(void)
{
    return nvt_self != &nvt_nobody ? nvt_self : nvt_thread_try();
}

/* Whether it has a ring, which one of a process that was forked gets now. */
static int has_ring(struct nvt_thread *thread)
{
    if (thread && NVT_UNLIKELY(!thread->slots)) {
        nvt_thread_enter(thread);
        nvt_thread_room(thread, 1);
        nvt_thread_leave(thread);
    }
    return thread && thread->slots;
}

int nvt_os_watch(void)
{
    if (!nvt_self || !nvt_session_join() || !(nvt_session.control->trace & NVT_TRACE_OSRT))
        return 0;
    nvt_os_own_library((const void *)nvt_session_join);
    /* Now, as a program may become another user, or have another root, before it calls anything. */
    if (nvt_capture_in_window())
        own_thread();
    return 1;
}

void nvt_os_name_thread(const char *name)
{
    int saved = errno;
    nvt_define(NVT_DEFINE_THREAD, NULL, 0, (uint64_t)syscall(SYS_gettid), name, strnlen(name, 15));
    errno = saved;
}

/* --- calls ------------------------------------------------------------------------------------------ */

int nvt_os_is_borrowed(const struct nvt_thread *thread)
{
    return nvt_thread_ring(thread)->tid != (int)syscall(SYS_gettid);
}

static void copy_path(char *out, size_t size, const char *path)
{
    size_t length = path ? strnlen(path, size - 1) : 0;
    if (length)
        memcpy(out, path, length);
    out[length] = 0;
}

/* What the thread is in, for the recorder to find. */
static void tell(struct nvt_thread *thread, struct nvt_os_open *open)
{
    const struct nvt_os_subject *subject = &open->subject;
    open->file = subject->descriptor >= 0 ? nvt_os_file(thread, subject->descriptor) : 0;
    open->caller = nvt_os_library(thread, open->from);
    open->holder = nvt_os_holder(open->number, subject->address);
    if (!thread->slots) /* it has been taken away meanwhile */
        return;
    struct nvt_ring_calling *calling = &nvt_thread_ring(thread)->calling;
    /* whoever sees any of it sees that the last call has ended */
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&calling->file, open->file, memory_order_relaxed);
    atomic_store_explicit(&calling->caller, open->caller, memory_order_relaxed);
    atomic_store_explicit(&calling->address, subject->address, memory_order_relaxed);
    atomic_store_explicit(&calling->holder, open->holder, memory_order_relaxed);
    uint64_t value;
    atomic_store_explicit(&calling->signal, (uint32_t)nvt_cpu_asked_by(&value),
                          memory_order_relaxed);
    atomic_store_explicit(&calling->value, value, memory_order_relaxed);
    copy_path(calling->path, sizeof(calling->path), subject->path);
    open->start = nvt_ticks(thread->clock);
    atomic_store_explicit(&calling->since, open->start, memory_order_relaxed);
    atomic_store_explicit(&calling->number, open->number + 1, memory_order_release);
}

/* Whether OS calls are recorded now. */
static int is_wanted(void)
{
    return nvt_capture_in_window() && (nvt_session_trace() & NVT_TRACE_OSRT);
}

void nvt_os_begin(struct nvt_os_open *open)
{
    int saved = errno;
    struct nvt_thread *thread = is_wanted() ? own_thread() : NULL;
    open->start = nvt_ticks(nvt_session.control->clock);
    open->file = open->caller = open->holder = 0;
    /* Where it is busy we are in a handler that interrupted an event. */
    if (thread && !nvt_thread_busy(thread) && has_ring(thread))
        tell(thread, open);
    errno = saved;
}

/* What the thread was in at the window's end, the recorder finds it in. */
void nvt_os_leave(void)
{
    struct nvt_thread *thread = nvt_self;
    if (thread && thread->slots && atomic_load(&nvt_session.control->window) != NVT_WINDOW_OVER)
        atomic_store_explicit(&nvt_thread_ring(thread)->calling.number, 0, memory_order_relaxed);
}

void nvt_os_look_again(void)
{
    struct nvt_thread *thread = nvt_self;
    if (!thread || !thread->slots)
        return;
    struct nvt_ring_calling *calling = &nvt_thread_ring(thread)->calling;
    uint32_t number = atomic_load_explicit(&calling->number, memory_order_relaxed);
    if (number)
        atomic_store_explicit(&calling->holder,
                              nvt_os_holder(number - 1, atomic_load_explicit(&calling->address,
                                                                             memory_order_relaxed)),
                              memory_order_relaxed);
}

static uint32_t file_of(struct nvt_thread *thread, const struct nvt_os_open *open)
{
    const struct nvt_os_subject *subject = &open->subject;
    return subject->path              ? nvt_os_path(thread, subject->path)
           : open->file               ? open->file
           : subject->descriptor >= 0 ? nvt_os_file(thread, subject->descriptor)
                                      : 0;
}

static void record(struct nvt_thread *thread, const struct nvt_os_open *open, uint64_t end,
                   int64_t result, uint64_t bytes)
{
    const struct nvt_ring_os_call call = {.start = open->start,
                                          .end = end,
                                          .result = result,
                                          .file = file_of(thread, open),
                                          .caller = open->caller,
                                          .holder = open->holder,
                                          .address = open->subject.address,
                                          .bytes = bytes};
    const struct nvt_piece piece = {&call, sizeof(call)};
    nvt_thread_enter(thread);
    if (nvt_thread_record(thread, NVT_WORD(NVT_OS_CALL, 0, 0, 0, open->number), &piece, 1))
        nvt_thread_drop(thread, 1);
    nvt_thread_leave(thread);
}

void nvt_os_end(const struct nvt_os_open *open, int64_t result, uint64_t bytes)
{
    int saved = errno;
    uint64_t end = nvt_ticks(nvt_session.control->clock);
    uint64_t took = end - open->start;
    nvt_os_leave();
    if (took < nvt_session.control->os_threshold || !is_wanted() ||
        open->start < atomic_load(&nvt_session.control->opened))
        return;
    struct nvt_thread *thread = own_thread();
    int is_nested = thread && nvt_thread_busy(thread) && nvt_thread_nested(thread); /* counts */
    if (!is_nested && !has_ring(thread))
        nvt_thread_drop(thread, 1);
    else if (!is_nested && !nvt_os_is_borrowed(thread) && !nvt_event_is_quiet(thread)) {
        if (NVT_UNLIKELY(took >= nvt_session.control->where_least))
            nvt_cpu_tell_where(took, end);
        record(thread, open, end, result, bytes);
    }
    errno = saved;
}
