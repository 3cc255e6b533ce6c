#include "cpu.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "cpu_sampler.h"
#include "events.h"
#include "os.h"
#include "session.h"

static __thread struct nvt_sampler *self __attribute__((tls_model("initial-exec")));

/* the signal; 0: nothing is sampled. Its address tells our timers from others. */
static int number;

/* --- threads that end before their sample ------------------------------------------------------------ */

/* Processor time of threads that have ended, which no sample stands for. Who begins takes over of it, so that its first sample
 * comes as early, and stands for the rest: of threads that end within a period each, one in so many is sampled. */
static _Atomic int64_t owed;

static int64_t period(void)
{
    return (int64_t)nvt_session.control->cpu_period_ns;
}

/* As much of it as there is, up to `most`. */
static int64_t take_over(int64_t most)
{
    int64_t left = atomic_load(&owed), taken;
    do
        taken = left < most ? left : most;
    while (taken > 0 && !atomic_compare_exchange_weak(&owed, &left, left - taken));
    return taken > 0 ? taken : 0;
}

static void leave_behind(const struct nvt_sampler *sampler)
{
    struct timespec now;
    /* Time outside of what is captured is nobody's. */
    if (*nvt_session.control->capture || !nvt_capture_in_window() ||
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
        return;
    int64_t ns =
        now.tv_sec * INT64_C(1000000000) + now.tv_nsec + sampler->taken_over - sampler->told;
    if (ns > 0)
        atomic_fetch_add(&owed, ns);
}

static void stop_timer(struct nvt_sampler *sampler)
{
    if (sampler->has_timer && sampler->process == (int)syscall(SYS_getpid))
        syscall(SYS_timer_delete, sampler->timer);
    sampler->has_timer = 0;
}

/* --- samples --------------------------------------------------------------------------------------- */

/* What a signal has brought. */
struct visit {
    struct nvt_thread *thread;
    siginfo_t *info;
    void *context;
    int64_t cpu_ns;  /* 0: somebody asks where the thread waits */
    uint64_t waited; /* until then (ticks), and does no more; 0: it does */
};

static void record(struct nvt_thread *thread, struct nvt_sampler *sampler, uint64_t cpu_ns,
                   uint64_t waited)
{
    nvt_frames_name(sampler, thread);
    const struct nvt_ring_cpu_sample sample = {.cpu_ns = cpu_ns,
                                               .ticks = waited,
                                               .frames = sampler->count,
                                               .text = (uint32_t)sampler->text_size,
                                               .python = sampler->python};
    const struct nvt_piece pieces[] = {{&sample, sizeof(sample)},
                                       {sampler->frames, sampler->count * sizeof(uint64_t)},
                                       {sampler->text, sampler->text_size}};
    nvt_thread_enter(thread);
    /* Names may have taken the room that was there. */
    if (!nvt_thread_offers(thread, NVT_CPU_SLOTS) ||
        nvt_thread_record(thread, NVT_WORD(NVT_CPU_SAMPLE, 0, 0, 0, 0), pieces, 3))
        nvt_thread_drop(thread, 1);
    nvt_thread_leave(thread);
}

static void take(void *given)
{
    const struct visit *visit = given;
    struct nvt_thread *thread = visit->thread;
    int64_t cpu_ns = visit->cpu_ns;
    if (thread == &nvt_nobody && !(thread = nvt_thread_new()))
        return;
    if (nvt_thread_busy(thread)) {
        if (!nvt_frames_have_left(visit->context, nvt_thread_busy(thread)))
            return;
        nvt_thread_recover(thread);
    }
    nvt_thread_enter(thread);
    int has_room = nvt_thread_offers(thread, NVT_CPU_SLOTS);
    nvt_thread_leave(thread);
    if (!has_room) {
        nvt_thread_drop(thread, 1);
        return;
    }
    nvt_frames_find(self, visit->context);
    nvt_python_find(self, visit->info, visit->context);
    if (cpu_ns && self->is_first && self->taken_over)
        cpu_ns += take_over(atomic_load(&owed) / period() * period());
    self->is_first &= !cpu_ns;
    record(thread, self, (uint64_t)cpu_ns, visit->waited);
}

/* Whether a sample is to be taken here, and can be: not where another handler let the signal through to ours. */
static int is_wanted(struct nvt_thread *thread, const void *context)
{
    return thread && !nvt_os_is_own(NULL) &&
           !nvt_sampler_holds(self, nvt_frames_stack_pointer(context)) && nvt_capture_in_window() &&
           !nvt_event_is_quiet(thread);
}

/* Whether it is the recorder that asks. */
static int is_question(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &number &&
           info->si_pid == nvt_session.control->recorder;
}

/* Whether it is the thread itself, behind a call. What comes late is not wanted any more. */
static int is_own_question(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &owed &&
           info->si_pid == (pid_t)syscall(SYS_getpid);
}

/* Whether the thread is in a call of the operating system's libraries: the question may come late. */
static int is_waiting(struct nvt_thread *thread)
{
    return thread && thread->slots &&
           atomic_load_explicit(&nvt_thread_ring(thread)->calling.number, memory_order_relaxed);
}

static void handle(int signal, siginfo_t *info, void *context)
{
    int saved = errno, cancel;
    struct visit visit = {nvt_self, info, context, 0, 0};
    int is_asked = is_question(info);
    if (is_asked) {
        is_asked = self && is_waiting(visit.thread);
        if (is_asked)
            nvt_os_look_again();
    } else if (is_own_question(info)) {
        visit.waited = self ? self->call_end : 0;
    } else if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &number) {
        nvt_action_call(signal, info, context);
    } else if (self && atomic_load(&nvt_session.control->ended)) {
        stop_timer(self);
    } else if (self) {
        /* Those that came while the signal was blocked, or nobody ran, are one. */
        visit.cpu_ns = period() * (1 + (info->si_overrun > 0 ? info->si_overrun : 0));
        self->told += visit.cpu_ns;
    }
    if ((visit.cpu_ns || is_asked || visit.waited) && is_wanted(visit.thread, context)) {
        /* Who may be cancelled at any moment is so before, or behind. */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        nvt_sampler_run(self, take, &visit);
        errno = saved;
        pthread_setcancelstate(cancel, NULL);
    }
    errno = saved;
}

/* --- threads --------------------------------------------------------------------------------------- */

/* The system's own calls: libc's timer_create would take a number from those that the program may have. */
static void start_timer(struct nvt_sampler *sampler)
{
    struct sigevent event;
    sampler->told = 0;
    sampler->is_first = 1;
    sampler->taken_over = take_over(period() - 1);
    int64_t first = period() - sampler->taken_over;
    const struct itimerspec times = {{period() / 1000000000, period() % 1000000000},
                                     {first / 1000000000, first % 1000000000}};
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = number;
    event.sigev_value.sival_ptr = &number;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    sampler->has_timer = 0;
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &sampler->timer))
        return;
    sampler->process = (int)syscall(SYS_getpid);
    sampler->has_timer = 1;
    if (syscall(SYS_timer_settime, sampler->timer, 0, &times, NULL)) {
        syscall(SYS_timer_delete, sampler->timer);
        sampler->has_timer = 0;
    }
}

static pthread_key_t at_end;

static void thread_ends(void *sampler)
{
    (void)sampler;
    nvt_cpu_end_thread();
}

static void begin(void *sampler)
{
    sigset_t ours;
    self = sampler;
    sigemptyset(&ours);
    sigaddset(&ours, number);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    start_timer(self);
}

/* The thread gets a ring with its first sample: many have none. */
void nvt_cpu_begin_thread(void)
{
    int saved = errno;
    struct nvt_sampler *sampler = number && !self ? nvt_sampler_new() : NULL;
    /* Nobody would see it end. */
    if (sampler && pthread_setspecific(at_end, sampler)) {
        nvt_sampler_free(sampler);
        sampler = NULL;
    }
    if (sampler)
        nvt_sampler_run(sampler, begin, sampler);
    errno = saved;
}

void nvt_cpu_end_thread(void)
{
    struct nvt_sampler *sampler = self;
    if (!sampler)
        return;
    self = NULL; /* a signal that is on its way finds nothing */
    /* A child whose fork went past libc has none. */
    if (sampler->has_timer && sampler->process == (int)syscall(SYS_getpid)) {
        stop_timer(sampler);
        leave_behind(sampler);
    }
    nvt_sampler_free(sampler);
}

int nvt_cpu_asked_by(uint64_t *value)
{
    *value = (uintptr_t)&number;
    return self ? number : 0;
}

void nvt_cpu_tell_where(uint64_t took, uint64_t ended)
{
    siginfo_t info;
    struct nvt_sampler *sampler = self;
    if (!sampler || !number)
        return;
    if (took < sampler->until_asked) {
        sampler->until_asked -= took;
        return;
    }
    sampler->until_asked = nvt_session.control->where_every;
    memset(&info, 0, sizeof(info));
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = (pid_t)syscall(SYS_getpid);
    info.si_uid = getuid();
    info.si_value.sival_ptr = &owed;
    sampler->call_end = ended;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, syscall(SYS_gettid), number, &info);
    sampler->call_end = 0;
}

void nvt_cpu_forked(void)
{
    int saved = errno;
    nvt_actions_forked();
    atomic_store(&owed, 0); /* it is the parent's */
    if (self && number)
        start_timer(self); /* timers are not inherited */
    errno = saved;
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
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    nvt_frames_prepare();
    nvt_actions_prepare();
    /* A ring now, as a program may become another user, or have another root. */
    if (nvt_self == &nvt_nobody && nvt_capture_in_window())
        nvt_thread_try();
    int found = find_signal(system);
    if (!found || pthread_key_create(&at_end, thread_ends) ||
        system->sigaction(found, &action, NULL))
        return 0;
    number = found;
    nvt_cpu_begin_thread();
    return number;
}
