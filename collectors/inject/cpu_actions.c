/*
 * What others want to do with the signal that samples come by: the program, which may set handlers for all signals there are,
 * and Python, whose handler writes its stack.
 */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu_sampler.h"
#include "cpu_unwind.h"

/* Each is written by the thread that sets it, and read by handlers: an odd number while it changes. */
struct action {
    _Atomic uint32_t version;
    struct sigaction value;
};

static struct action theirs, python;
static _Atomic int is_python; /* the next action that somebody sets is Python's */
static _Atomic int dumping;   /* one thread at a time does */

/* Where Python's stack goes; NULL: nobody takes it. */
static __thread struct nvt_sampler *taker __attribute__((tls_model("initial-exec")));

/* Who finds it odd is late, and leaves it to who came first. */
static void set(struct action *action, const struct sigaction *value)
{
    uint32_t version = atomic_load(&action->version);
    if (version & 1 || !atomic_compare_exchange_strong(&action->version, &version, version + 1))
        return;
    action->value = *value;
    atomic_store(&action->version, version + 2);
}

/* Zeros, as of the default, where it changes just now. */
static struct sigaction get(const struct action *action)
{
    struct sigaction value;
    uint32_t version = atomic_load(&action->version);
    memcpy(&value, &action->value, sizeof(value));
    atomic_thread_fence(memory_order_acquire);
    if (version & 1 || atomic_load(&action->version) != version)
        memset(&value, 0, sizeof(value));
    return value;
}

static void call(const struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, info, context);
    else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN)
        action->sa_handler(signal);
}

static void let_others_run(int turn)
{
    if (turn > 100)
        syscall(SYS_sched_yield);
}

/* Not within a signal handler of ours, whose turn it is then already. */
int nvt_cpu_hold_faults(void)
{
    if (taker)
        return 0;
    for (int turn = 0; turn < 100000; turn++) {
        if (!atomic_exchange(&dumping, 1))
            return 1;
        let_others_run(turn);
    }
    return 0;
}

void nvt_cpu_release_faults(void)
{
    atomic_store(&dumping, 0);
}

/* Python comes to an end: it takes its handler back, and then what that needs. Nobody may be in it, or come. */
static void forget_python(void)
{
    const struct sigaction none = {.sa_flags = 0};
    if (!get(&python).sa_handler)
        return;
    set(&python, &none);
    for (int turn = 0; atomic_load(&dumping) && turn < 100000; turn++)
        let_others_run(turn);
}

int nvt_cpu_action(const struct sigaction *action, struct sigaction *before)
{
    if (before)
        *before = get(&theirs);
    if (!action)
        return 0;
    set(&theirs, action);
    if (atomic_exchange(&is_python, 0))
        set(&python, action);
    else if (action->sa_handler == SIG_DFL)
        forget_python();
    return 0;
}

void nvt_action_call(int signal, siginfo_t *info, void *context)
{
    const struct sigaction action = get(&theirs);
    call(&action, signal, info, context);
}

/* --- Python's stack ------------------------------------------------------------------------------- */

int nvt_cpu_take_stack(const void *bytes, size_t size)
{
    struct nvt_sampler *sampler = taker;
    if (!sampler) {
        int is_wish = size == sizeof(NVT_CPU_WISH) - 1 && !memcmp(bytes, NVT_CPU_WISH, size);
        if (is_wish)
            atomic_store(&is_python, 1);
        return is_wish;
    }
    size_t room = sizeof(sampler->text) - sampler->text_size;
    size = size < room ? size : room;
    memcpy(sampler->text + sampler->text_size, bytes, size);
    sampler->text_size += size;
    return 1;
}

static __thread sigjmp_buf *way_back __attribute__((tls_model("initial-exec")));
static __thread int faults __attribute__((tls_model("initial-exec")));
#define FAULTS_MOST 100

/* Python's handler reads frames that its loop is just making: a pointer in one may lead nowhere. The function that has followed
 * it returns then, and what called that goes on; none of them returns anything. A fault of another thread comes again, until
 * the program's handler is back. */
static void handle_fault(int signal, siginfo_t *info, void *context)
{
    struct nvt_unwind unwind;
    if (!taker) {
        if (info->si_code <= 0) /* it was sent */
            syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), signal);
        return;
    }
    nvt_unwind_begin(&unwind, context);
    if (++faults > FAULTS_MOST || nvt_unwind_step(&unwind))
        siglongjmp(*way_back, 1);
    nvt_unwind_return(&unwind, context);
}

/* What the program does with faults otherwise, as one thread at a time dumps. */
static struct sigaction of_segv, of_bus;
static _Atomic int is_guarded;

static void give_back_faults(void)
{
    if (!atomic_load(&is_guarded))
        return;
    sigaction(SIGSEGV, &of_segv, NULL);
    sigaction(SIGBUS, &of_bus, NULL);
    atomic_store(&is_guarded, 0);
}

static void call_guarded(const struct sigaction *action, int signal, siginfo_t *info, void *context)
{
    struct sigaction ours;
    sigset_t both;
    sigjmp_buf here;
    memset(&ours, 0, sizeof(ours));
    ours.sa_sigaction = handle_fault;
    ours.sa_flags = SA_SIGINFO;
    sigfillset(&ours.sa_mask);
    sigemptyset(&both);
    sigaddset(&both, SIGSEGV);
    sigaddset(&both, SIGBUS);
    if (sigaction(SIGSEGV, NULL, &of_segv) || sigaction(SIGBUS, NULL, &of_bus))
        return;
    atomic_store(&is_guarded, 1);
    sigaction(SIGSEGV, &ours, NULL);
    sigaction(SIGBUS, &ours, NULL);
    way_back = &here;
    faults = 0;
    if (!sigsetjmp(here, 1)) {
        pthread_sigmask(SIG_UNBLOCK, &both, NULL);
        call(action, signal, info, context);
    }
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    way_back = NULL;
    give_back_faults();
}

/* The handler (faulthandler.register) writes down the stack of the thread that it runs on. It can do so for one thread at a
 * time, and takes some 10 us. */
void nvt_python_find(struct nvt_sampler *sampler, int signal, siginfo_t *info, void *context)
{
    sampler->text_size = 0;
    if (!get(&python).sa_handler)
        return;
    for (int turn = 0; atomic_exchange(&dumping, 1); turn++) {
        if (turn == 1000)
            return;
        let_others_run(turn);
    }
    const struct sigaction action = get(&python); /* it may be gone meanwhile */
    taker = sampler;
    call_guarded(&action, signal, info, context);
    taker = NULL;
    atomic_store(&dumping, 0);
}

void nvt_actions_forked(void)
{
    /* Whoever was in the middle is not here. */
    atomic_store(&dumping, 0);
    give_back_faults();
    if (atomic_load(&theirs.version) & 1)
        atomic_fetch_add(&theirs.version, 1);
    if (atomic_load(&python.version) & 1)
        atomic_fetch_add(&python.version, 1);
}
