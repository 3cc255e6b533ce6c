/*
 * What others want to do with the signal that samples come by: the program, which may set handlers for all signals there are;
 * and Python, whose handler writes its stack.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "../../lib/pages.h"
#include "../../lib/python_stacks.h"
#include "cpu_sampler.h"
#include "cpu_unwind.h"
#include "events.h"

/* Each is written by the thread that sets it, and read by handlers: an odd number while it changes. */
struct action {
    _Atomic uint32_t version;
    struct sigaction value;
};

static struct action theirs, python;
static _Atomic int is_python; /* the next action for NVT_CPU_PYTHON is Python's */
static _Atomic int dumping;   /* one thread at a time does */
/* enum nvt_python_state of a sample that finds no stack */
static _Atomic uint32_t state = NVT_PYTHON_NOT_YET;

/* Where Python's stack goes; NULL: nobody takes it. */
static __thread struct nvt_sampler *taker __attribute__((tls_model("initial-exec")));
/* It has set `dumping`, and not to dump. */
static __thread int is_holding __attribute__((tls_model("initial-exec")));

/* --- whose memory it is ---------------------------------------------------------------------------- */

/* The process that this memory belongs to, in a page that a child of fork finds zero, however it was forked. */
static _Atomic int *owner;

void nvt_actions_prepare(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    owner = nvt_pages_new(size);
    if (!owner)
        return;
    madvise(owner, size, MADV_WIPEONFORK);
    atomic_store(owner, (int)syscall(SYS_getpid));
}

/* Whether the caller is a child of vfork, or of clone with CLONE_VM: what it changes is its parent's. */
static int is_borrowed(void)
{
    int pid = (int)syscall(SYS_getpid), known = owner ? atomic_load(owner) : pid;
    if (known)
        return known != pid;
    nvt_actions_forked(); /* past libc's handlers of forks */
    return 0;
}

/* --- actions --------------------------------------------------------------------------------------- */

/* An odd version: another thread is setting it, and it was first. */
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

/* Not within a signal handler of ours, whose turn it is then already. A child of vfork has handlers of its own. */
int nvt_cpu_hold_faults(void)
{
    if (taker || is_holding || is_borrowed())
        return 0;
    for (int turn = 0; turn < 100000; turn++) {
        if (!atomic_exchange(&dumping, 1)) {
            is_holding = 1;
            return 1;
        }
        let_others_run(turn);
    }
    return 0;
}

void nvt_cpu_release_faults(void)
{
    is_holding = 0;
    atomic_store(&dumping, 0);
}

void nvt_cpu_before_fork(void)
{
    nvt_cpu_hold_faults();
}

void nvt_cpu_after_fork(void)
{
    if (is_holding)
        nvt_cpu_release_faults();
}

int nvt_cpu_action(const struct sigaction *action, struct sigaction *before)
{
    int is_ours = !action || !is_borrowed();
    if (before)
        *before = get(&theirs);
    if (action && is_ours)
        set(&theirs, action);
    return 0;
}

/* What Python finds in its handler's place, and gives back when it takes that away. Nobody else has it. */
static void no_handler(int signal)
{
    (void)signal;
}

/* Whether Python is coming to an end: only then does it take its handler away by itself. */
static int is_ending(void)
{
    /* Since 3.13, and before. */
    static const char *const names[] = {"Py_IsFinalizing", "_Py_IsFinalizing"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        int (*ask)(void) = NULL;
        *(void **)&ask = dlsym(RTLD_DEFAULT, names[i]);
        if (ask)
            return ask();
    }
    return -1;
}

/* Python takes its handler back, and then frees what that needs. Nobody may be in it, or come. */
static void forget_python(void)
{
    const struct sigaction none = {.sa_flags = 0};
    int ends = is_ending();
    atomic_store(&state, ends > 0    ? NVT_PYTHON_ENDS
                         : ends == 0 ? NVT_PYTHON_UNREGISTERED
                                     : NVT_PYTHON_TAKEN_BACK);
    set(&python, &none);
    for (int turn = 0; atomic_load(&dumping) && turn < 100000; turn++)
        let_others_run(turn);
}

int nvt_cpu_python_action(const struct sigaction *action, struct sigaction *before)
{
    if (!action || is_borrowed())
        return 0;
    if (action->sa_handler == no_handler) {
        forget_python();
        return 1;
    }
    if (!atomic_exchange(&is_python, 0))
        return 0;
    if (before)
        *before = (struct sigaction){.sa_handler = no_handler};
    set(&python, action);
    atomic_store(&state, NVT_PYTHON_SILENT);
    return 1;
}

void nvt_action_call(int signal, siginfo_t *info, void *context)
{
    const struct sigaction action = get(&theirs);
    call(&action, signal, info, context);
}

/* --- Python's stack ------------------------------------------------------------------------------- */

static int is_text(const char *text, size_t length, const void *bytes, size_t size)
{
    return size == length && !memcmp(bytes, text, size);
}

/* "12345 loads batches": a thread's number and name. */
static void take_name(const char *text, size_t size)
{
    uint64_t number = 0;
    size_t at = 0;
    for (; at < size && text[at] >= '0' && text[at] <= '9' && at < 10; at++)
        number = 10 * number + (uint64_t)(text[at] - '0');
    if (at && at + 1 < size && text[at] == ' ')
        nvt_define(NVT_DEFINE_THREAD, NULL, 0, number, text + at + 1, size - at - 1);
}

static int take_wish(const void *bytes, size_t size)
{
    const size_t named = sizeof(NVT_CPU_NAME) - 1;
    if (size > named && !memcmp(bytes, NVT_CPU_NAME, named)) {
        take_name((const char *)bytes + named, size - named);
        return 1;
    }
    if (get(&python).sa_handler || is_borrowed())
        return 0;
    if (is_text(NVT_CPU_WISH, sizeof(NVT_CPU_WISH) - 1, bytes, size)) {
        atomic_store(&is_python, 1);
        return 1;
    }
    if (!is_text(NVT_CPU_NO_WISH, sizeof(NVT_CPU_NO_WISH) - 1, bytes, size))
        return 0;
    atomic_store(&is_python, 0);
    atomic_store(&state, NVT_PYTHON_NO_HANDLER);
    return 1;
}

int nvt_cpu_take_stack(const void *bytes, size_t size)
{
    struct nvt_sampler *sampler = taker;
    if (!sampler)
        return take_wish(bytes, size);
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
    if (++faults > FAULTS_MOST || nvt_unwind_step(&unwind)) {
        atomic_store(&state, NVT_PYTHON_LEFT);
        siglongjmp(*way_back, 1);
    }
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
void nvt_python_find(struct nvt_sampler *sampler, siginfo_t *info, void *context)
{
    sampler->text_size = 0;
    sampler->python = atomic_load(&state);
    if (!get(&python).sa_handler)
        return;
    for (int turn = 0; is_holding || atomic_exchange(&dumping, 1); turn++) {
        if (turn == 1000 || is_holding) {
            sampler->python = NVT_PYTHON_BUSY;
            return;
        }
        let_others_run(turn);
    }
    const struct sigaction action = get(&python); /* it may be gone meanwhile */
    taker = sampler;
    call_guarded(&action, NVT_CPU_PYTHON, info, context);
    taker = NULL;
    atomic_store(&dumping, 0);
    sampler->python = sampler->text_size ? NVT_PYTHON_TOLD : atomic_load(&state);
}

void nvt_actions_forked(void)
{
    if (owner)
        atomic_store(owner, (int)syscall(SYS_getpid));
    /* Whoever was in the middle is not here. */
    is_holding = 0;
    atomic_store(&dumping, 0);
    give_back_faults();
    if (atomic_load(&theirs.version) & 1)
        atomic_fetch_add(&theirs.version, 1);
    if (atomic_load(&python.version) & 1)
        atomic_fetch_add(&python.version, 1);
}
