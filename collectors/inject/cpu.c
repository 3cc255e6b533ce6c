#include "cpu.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "../../lib/pages.h"
#include "events.h"
#include "os.h"
#include "session.h"

/* Functions of a stack, from the innermost on; deeper ones are left out. */
#define FRAMES 192u
/* Bytes of Python's stack, from the innermost function on. */
#define STACK_TEXT 12288u
/* Libraries that a thread has seen last. */
#define OBJECTS 64u

struct object {
    uintptr_t from, to, base;
    uint32_t file;
};

/* What a thread needs to be sampled; of its signal handler alone. */
struct sampler {
    int timer; /* as the kernel numbers it */
    int has_timer;
    size_t text_size;
    uint32_t count;
    int is_found; /* the frame that was interrupted */
    uintptr_t at; /* where that is */
    uint64_t frames[FRAMES];
    struct object objects[OBJECTS];
    char text[STACK_TEXT];
};

static __thread struct sampler *self __attribute__((tls_model("initial-exec")));
/* Where Python's stack goes; NULL: nobody takes it. */
static __thread struct sampler *taker __attribute__((tls_model("initial-exec")));

static int number;                /* the signal; 0: nothing is sampled */
static struct sigaction handling; /* what somebody else wants to do with it, */
static _Atomic int has_handling;
static _Atomic int dumping; /* one thread at a time does */

/* --- where a thread is ------------------------------------------------------------------------------ */

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define CAN_FIND 1
/* The path of what is loaded there; of the program itself the linker knows none. */
static uint32_t name_object(struct nvt_thread *thread, const struct link_map *map)
{
    char path[1024];
    if (*map->l_name)
        return nvt_os_path(thread, map->l_name);
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    return nvt_os_path(thread, path);
}

static const struct object *object_of(struct nvt_thread *thread, uintptr_t address)
{
    struct object *known = &self->objects[address >> 16 & (OBJECTS - 1)];
    struct dl_find_object found;
    if (address >= known->from && address < known->to && known->file)
        return known;
    /* It takes no lock, as dladdr does. */
    if (_dl_find_object((void *)address, &found))
        return NULL;
    known->from = (uintptr_t)found.dlfo_map_start;
    known->to = (uintptr_t)found.dlfo_map_end;
    known->base = found.dlfo_link_map->l_addr;
    known->file = name_object(thread, found.dlfo_link_map);
    return known;
}
#else
#define CAN_FIND 0
#endif

/* A frame as it is recorded: the file, and the place in it; of no file, the address. */
static uint64_t frame_of(struct nvt_thread *thread, uintptr_t address)
{
    const struct object *object = NULL;
#if CAN_FIND
    object = object_of(thread, address);
#else
    (void)thread;
#endif
    return object ? NVT_CPU_FRAME(object->file, address - object->base) : NVT_CPU_FRAME(0, address);
}

static uintptr_t interrupted(const void *context)
{
    const ucontext_t *user = context;
#if defined(__x86_64__)
    return (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)user->uc_mcontext.pc;
#else
    (void)user;
    return 0;
#endif
}

static _Unwind_Reason_Code walk(struct _Unwind_Context *context, void *of)
{
    struct sampler *sampler = of;
    int is_exact = 0;
    uintptr_t address = (uintptr_t)_Unwind_GetIPInfo(context, &is_exact);
    if (!sampler->is_found) { /* the handler's own, and the system's around it */
        sampler->is_found = address == sampler->at;
        return _URC_NO_REASON;
    }
    if (!address || sampler->count == FRAMES)
        return _URC_END_OF_STACK;
    /* A call may be the last instruction of who calls. */
    sampler->frames[sampler->count++] = address - !is_exact;
    return _URC_NO_REASON;
}

/* Addresses, the innermost first. */
static void find_frames(struct sampler *sampler, const void *context)
{
    sampler->at = interrupted(context);
    sampler->is_found = 0;
    sampler->frames[0] = sampler->at;
    sampler->count = 1;
    if (CAN_FIND)
        _Unwind_Backtrace(walk, sampler);
}

/* --- Python's stack ------------------------------------------------------------------------------- */

int nvt_cpu_take_stack(const void *bytes, size_t size)
{
    struct sampler *sampler = taker;
    if (!sampler)
        return 0;
    size_t room = sizeof(sampler->text) - sampler->text_size;
    size = size < room ? size : room;
    memcpy(sampler->text + sampler->text_size, bytes, size);
    sampler->text_size += size;
    return 1;
}

/* The handler that Python has for the signal (faulthandler.register) writes down the stack of the thread that it runs on. It
 * can do so for one thread at a time, and takes some 10 us. */
static void find_python(struct sampler *sampler, int signal, siginfo_t *info, void *context)
{
    sampler->text_size = 0;
    if (!atomic_load_explicit(&has_handling, memory_order_acquire))
        return;
    for (int turn = 0; atomic_exchange(&dumping, 1); turn++)
        if (turn == 1000)
            return;
        else if (turn > 100)
            syscall(SYS_sched_yield);
    taker = sampler;
    if (handling.sa_flags & SA_SIGINFO)
        handling.sa_sigaction(signal, info, context);
    else if (handling.sa_handler != SIG_DFL && handling.sa_handler != SIG_IGN)
        handling.sa_handler(signal);
    taker = NULL;
    atomic_store(&dumping, 0);
}

/* --- samples --------------------------------------------------------------------------------------- */

static void record(struct nvt_thread *thread, struct sampler *sampler, uint64_t cpu_ns)
{
    for (uint32_t i = 0; i < sampler->count; i++)
        sampler->frames[i] = frame_of(thread, (uintptr_t)sampler->frames[i]);
    const struct nvt_ring_cpu_sample sample = {
        .cpu_ns = cpu_ns, .frames = sampler->count, .text = (uint32_t)sampler->text_size};
    const struct nvt_piece pieces[] = {{&sample, sizeof(sample)},
                                       {sampler->frames, sampler->count * sizeof(uint64_t)},
                                       {sampler->text, sampler->text_size}};
    nvt_thread_enter(thread);
    if (!thread->slots ||
        nvt_thread_record(thread, NVT_WORD(NVT_CPU_SAMPLE, 0, 0, 0, 0), pieces, 3))
        nvt_thread_drop(thread, 1);
    nvt_thread_leave(thread);
}

/* A sample is not larger, with some names of files that it may come with. */
#define SLOTS_MOST ((FRAMES * sizeof(uint64_t) + STACK_TEXT + 8192) / sizeof(struct nvt_slot))

static void take(struct nvt_thread *thread, int signal, siginfo_t *info, void *context)
{
    /* Those that came while the signal was blocked, or nobody ran, are one. */
    uint64_t count = 1 + (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0);
    nvt_thread_enter(thread);
    int has_room = nvt_thread_offers(thread, SLOTS_MOST);
    nvt_thread_leave(thread);
    if (!has_room) {
        nvt_thread_drop(thread, 1);
        return;
    }
    find_frames(self, context);
    find_python(self, signal, info, context);
    record(thread, self, count * nvt_session.control->cpu_period_ns);
}

static void handle(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    struct nvt_thread *thread = nvt_self;
    if (self && info->si_code == SI_TIMER && thread && thread != &nvt_nobody &&
        !nvt_thread_busy(thread) && !nvt_event_is_quiet(thread) && !nvt_os_is_own(NULL))
        take(thread, signal, info, context);
    errno = saved;
}

int nvt_cpu_action(const struct sigaction *action, struct sigaction *before)
{
    struct sigaction none;
    memset(&none, 0, sizeof(none));
    if (before)
        *before = atomic_load(&has_handling) ? handling : none;
    if (!action)
        return 0;
    atomic_store(&has_handling, 0);
    handling = *action;
    if ((action->sa_flags & SA_SIGINFO) ||
        (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN))
        atomic_store_explicit(&has_handling, 1, memory_order_release);
    return 0;
}

/* --- threads --------------------------------------------------------------------------------------- */

/* The system's own calls: libc's timer_create would take a number from those that the program may have. */
static void start_timer(struct sampler *sampler)
{
    struct sigevent event;
    uint64_t period = nvt_session.control->cpu_period_ns;
    struct timespec each = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec times = {each, each};
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &sampler->timer))
        return;
    sampler->has_timer = 1;
    if (syscall(SYS_timer_settime, sampler->timer, 0, &times, NULL)) {
        syscall(SYS_timer_delete, sampler->timer);
        sampler->has_timer = 0;
    }
}

void nvt_cpu_begin_thread(void)
{
    int saved = errno;
    sigset_t ours;
    struct nvt_thread *thread = nvt_self;
    if (!number || self)
        return;
    thread = thread != &nvt_nobody ? thread : nvt_thread_try();
    struct sampler *sampler = thread ? nvt_pages_new(sizeof(*sampler)) : NULL;
    if (sampler) {
        self = sampler;
        sigemptyset(&ours);
        sigaddset(&ours, number);
        pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
        start_timer(sampler);
    }
    errno = saved;
}

void nvt_cpu_end_thread(void)
{
    struct sampler *sampler = self;
    if (!sampler)
        return;
    self = NULL; /* a signal that is on its way finds nothing */
    if (sampler->has_timer)
        syscall(SYS_timer_delete, sampler->timer);
    munmap(sampler, sizeof(*sampler));
}

void nvt_cpu_forked(void)
{
    atomic_store(&dumping, 0); /* whoever did is not here */
    if (self && number)
        start_timer(self); /* timers are not inherited */
}

/* The last of the system's free signals that nobody handles. */
static int find_signal(const struct nvt_cpu_system *system)
{
    struct sigaction now;
    for (int at = SIGRTMAX - 1; at >= SIGRTMIN; at--)
        if (!system->sigaction(at, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            return at;
    return 0;
}

int nvt_cpu_watch(const struct nvt_cpu_system *system)
{
    struct sigaction action;
    if (!nvt_self || !nvt_session_join() || !(nvt_session.control->trace & NVT_TRACE_CPU) ||
        !nvt_session.control->cpu_period_ns)
        return 0;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    int found = find_signal(system);
    if (!found || system->sigaction(found, &action, NULL))
        return 0;
    number = found;
    nvt_cpu_begin_thread();
    return number;
}
