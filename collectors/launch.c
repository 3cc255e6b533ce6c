#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/count_of.h"
#include "../lib/process_stat.h"
#include "../lib/program.h"
#include "program_file.h"
#include "session.h"
#include "wake.h"
#include "witness.h"

#define INJECT_LIBRARY   "libnvtally-inject.so"
#define NVTX_VARIABLE    "NVTX_INJECTION64_PATH"
#define CUDA_VARIABLE    "CUDA_INJECTION64_PATH"
#define NCCL_VARIABLE    "NCCL_PROFILER_PLUGIN"
#define NCCL_LIBRARY     "libnvtally-nccl-profiler.so"
#define PYTORCH_VARIABLE "NVTALLY_PYTORCH" /* its ranges are wanted */
#define PYTHON_MODULE    "pytorch/sitecustomize.py"
/* Each stands for a library without "preload-" in its name: see collectors/preload. */
#define MPI_LIBRARY "libnvtally-preload-mpi-calls.so"
#define OS_LIBRARY  "libnvtally-preload-os-calls.so"
#define CPU_LIBRARY "libnvtally-preload-cpu-samples.so"
/* A program with AddressSanitizer as a shared library ends at once where another library is in front of that. */
#define ASAN_VARIABLE "ASAN_OPTIONS"
#define ASAN_OPTION   "verify_asan_link_order=0"

/* What the recorder takes note of: the end of a child, and signals that people send to end, to wake
 * or to poke a program. */
static const int handled[] = {SIGCHLD, SIGINT,    SIGQUIT, SIGTERM, SIGHUP,
                              SIGUSR1, SIGUSR2,   SIGALRM, SIGCONT, SIGWINCH,
                              SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};
#define HANDLED NVT_COUNT_OF(handled)

/* For the signal handler. */
static struct {
    volatile pid_t command; /* 0: it has ended */
    volatile sig_atomic_t enough;
    volatile sig_atomic_t asked; /* the last that asked to end, whoever else got it; 0 */
    struct nvt_control *control;
    struct sigaction before[HANDLED];
    struct nvt_witness witness;
    _Atomic uint64_t heard;   /* signals that came, bit N - 1 for number N, */
    _Atomic uint64_t sent;    /* and those of them that somebody sent to us, or to our group */
    uint64_t ours;            /* signals that are not for the command, */
    _Atomic uint64_t kept;    /* and those of them that have come */
    uint64_t early;           /* what the witness had before we heard of it */
    _Atomic int64_t heard_at; /* when the first of them came, CLOCK_MONOTONIC; 0: none is left */
    /* of the last of those that somebody sent; 0: it is in no namespace of ours */
    _Atomic pid_t sender;
} listening;

/* Who sends a signal to a group, or to each process of a job, has sent it to all within this time; on a busy machine once it is
 * done, or waits for something, and nobody waits for it longer than that. */
#define PASS_ON_NS      20000000
#define PASS_ON_MOST_NS 1000000000

static void handled_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < HANDLED; i++)
        sigaddset(set, handled[i]);
}

static int asks_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static const struct {
    int number;
    void (*action)(int);
} actions[NVT_LAUNCH_ACTIONS] = {
    {SIGXFSZ, SIG_IGN}, /* a full disk or a size limit shall be an error of write(), not our end */
    {SIGPIPE, SIG_IGN}, /* and so shall a reader of our messages, or of the trace, that has gone */
    {SIGCHLD, SIG_DFL}, /* ignored, children would end without a status for us */
};

static void restore_actions(const struct nvt_launch_signals *before)
{
    for (size_t i = 0; i < NVT_LAUNCH_ACTIONS; i++)
        sigaction(actions[i].number, &before->actions[i], NULL);
}

void nvt_launch_block(struct nvt_launch_signals *before)
{
    sigset_t set;
    handled_signals(&set);
    listening.asked = 0;
    sigprocmask(SIG_BLOCK, &set, &before->mask);
    for (size_t i = 0; i < NVT_LAUNCH_ACTIONS; i++) {
        struct sigaction action = {.sa_handler = actions[i].action};
        sigaction(actions[i].number, &action, &before->actions[i]);
    }
}

/* Those that wait behind the mask are heard now, and by nobody else: all, or only what asks to end. */
static void take_pending(int all)
{
    sigset_t set;
    struct timespec now = {0, 0};
    handled_signals(&set);
    for (size_t i = 0; i < HANDLED; i++)
        if (!all && !asks_to_end(handled[i]))
            sigdelset(&set, handled[i]);
    for (int number; (number = sigtimedwait(&set, NULL, &now)) > 0;)
        nvt_launch_ask(asks_to_end(number) ? number : 0);
}

void nvt_launch_unblock(const struct nvt_launch_signals *before)
{
    nvt_witness_stop(&listening.witness);
    /* A Ctrl-C that the command got as well must not end us when the mask goes back. */
    take_pending(1);
    restore_actions(before);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Whether another tool's library than this of ours is injected already. */
static int is_other_tool(const char *variable, const char *ours)
{
    const char *present = getenv(variable);
    const char *name = present ? strrchr(present, '/') : NULL;
    return present && *present && strcmp(name ? name + 1 : present, ours);
}

/* Without a library the variable stays as it is. */
static int inject(const char *variable, const char *library)
{
    return library ? setenv(variable, library, 1) : 0;
}

/* Put a path, or an option, in front of those of a variable. Without one the variable stays as it is. 0, or -1 with errno. */
static int lead(const char *variable, const char *folder)
{
    const char *others = getenv(variable);
    if (!folder)
        return 0;
    size_t size = strlen(folder) + 2 + (others ? strlen(others) : 0);
    char *path = malloc(size);
    if (!path)
        return -1;
    snprintf(path, size, "%s%s%s", folder, others && *others ? ":" : "", others ? others : "");
    int status = setenv(variable, path, 1);
    free(path);
    return status;
}

/* Libraries and folders that the command gets, NULL: not. */
struct gifts {
    const char *nvtx, *cuda, *python, *mpi, *os, *cpu, *nccl, *pytorch;
    pid_t ends_with; /* 0: with nobody */
};

/* A handler of ours does not outlive exec: what comes before that shall not be lost in it. */
static void leave_handlers(void)
{
    for (size_t i = 0; i < HANDLED; i++) {
        struct sigaction action;
        if (!sigaction(handled[i], NULL, &action) && action.sa_handler != SIG_IGN)
            (void)signal(handled[i], SIG_DFL);
    }
}

static void become_command(char *const argv[], const char *folder,
                           const struct nvt_launch_signals *before, const struct gifts *gifts,
                           int report)
{
    /* The one of samples in front of that of calls, which need not hear of stacks that Python writes. */
    if (!inject(NVTX_VARIABLE, gifts->nvtx) && !inject(CUDA_VARIABLE, gifts->cuda) &&
        !inject(NCCL_VARIABLE, gifts->nccl) && !lead("PYTHONPATH", gifts->python) &&
        !lead("LD_PRELOAD", gifts->os) && !lead("LD_PRELOAD", gifts->cpu) &&
        !lead("LD_PRELOAD", gifts->mpi) &&
        !lead(ASAN_VARIABLE, gifts->os || gifts->cpu || gifts->mpi ? ASAN_OPTION : NULL) &&
        !(gifts->pytorch ? setenv(PYTORCH_VARIABLE, gifts->pytorch, 1)
                         : unsetenv(PYTORCH_VARIABLE)) &&
        !setenv(NVT_SESSION_ENV, folder, 1)) {
        restore_actions(before);
        leave_handlers();
        sigprocmask(SIG_SETMASK, &before->mask, NULL);
        if (gifts->ends_with)
            nvt_end_with_parent(gifts->ends_with);
        execvp(argv[0], argv);
    }
    int cause = errno;
    ssize_t written = write(report, &cause, sizeof(cause));
    _exit(written == sizeof(cause) ? 127 : 126);
}

/* The absolute path of a file of ours. 0, or -1 with err. */
static int find_absolute(const char *name, char absolute[PATH_MAX], struct nvt_error *err)
{
    char found[PATH_MAX];
    if (nvt_find_library(name, found, sizeof(found), err))
        return -1;
    if (!realpath(found, absolute))
        return nvt_fail_at(err, found, -1, "%s", strerror(errno));
    return 0;
}

/* The absolute path of a library that LD_PRELOAD can take. 0, or -1 with err. */
static int find_preload(const char *name, char absolute[PATH_MAX], struct nvt_error *err)
{
    if (find_absolute(name, absolute, err))
        return -1;
    return strpbrk(absolute, " :")
               ? nvt_fail_at(err, absolute, -1,
                             "cannot be preloaded: LD_PRELOAD takes no path with a blank or a "
                             "colon; set NVTALLY_LIBDIR to another folder")
               : 0;
}

/* Where the files of ours are. Not on the stack, which may be small (ulimit -s). */
struct paths {
    char library[PATH_MAX], python[PATH_MAX], mpi[PATH_MAX], os[PATH_MAX], cpu[PATH_MAX],
        nccl[PATH_MAX];
};

static int find_gifts(const char *command, struct nvt_launch_wish wish, struct paths *paths,
                      struct nvt_launch *launch, struct gifts *gifts, struct nvt_error *err)
{
    const int is_python = wish.pytorch || wish.cpu;
    if (find_absolute(INJECT_LIBRARY, paths->library, err) ||
        (wish.mpi && find_preload(MPI_LIBRARY, paths->mpi, err)) ||
        (wish.nccl && find_absolute(NCCL_LIBRARY, paths->nccl, err)) ||
        (wish.os && find_preload(OS_LIBRARY, paths->os, err)) ||
        (wish.cpu && find_preload(CPU_LIBRARY, paths->cpu, err)) ||
        (is_python && find_absolute(PYTHON_MODULE, paths->python, err)))
        return -1;
    if (is_python)
        *strrchr(paths->python, '/') = 0;
    launch->other_tool = is_other_tool(NVTX_VARIABLE, INJECT_LIBRARY);
    launch->other_device_tool = wish.devices && is_other_tool(CUDA_VARIABLE, INJECT_LIBRARY);
    launch->other_nccl_plugin = wish.nccl && is_other_tool(NCCL_VARIABLE, NCCL_LIBRARY);
    const int has_no_nvtx = launch->other_tool || nvt_program_is_static_nvtx(command);
    *gifts = (struct gifts){
        .nvtx = has_no_nvtx ? NULL : paths->library,
        .cuda = wish.devices && !launch->other_device_tool ? paths->library : NULL,
        .nccl = wish.nccl && !launch->other_nccl_plugin ? paths->nccl : NULL,
        .python = is_python ? paths->python : NULL,
        .pytorch = wish.pytorch ? "1" : NULL,
        .cpu = wish.cpu ? paths->cpu : NULL,
        .mpi = wish.mpi ? paths->mpi : NULL,
        .os = wish.os ? paths->os : NULL,
        .ends_with = wish.ends_with_us ? getpid() : 0,
    };
    return 0;
}

static int start(char *const argv[], const char *folder, const struct nvt_launch_signals *before,
                 const struct gifts *gifts, struct nvt_launch *launch, struct nvt_error *err)
{
    int report[2], cause = 0;
    if (pipe2(report, O_CLOEXEC))
        return nvt_fail(err, "cannot start %s: %s", argv[0], strerror(errno));
    (void)fflush(NULL);
    nvt_witness_ask(&listening.witness); /* from here on, what the group gets the command gets */
    launch->pid = fork();
    if (!launch->pid)
        become_command(argv, folder, before, gifts, report[1]);
    int failure = errno;
    close(report[1]);
    if (launch->pid < 0) {
        close(report[0]);
        return nvt_fail(err, "cannot start %s: %s", argv[0], strerror(failure));
    }
    ssize_t got;
    do
        got = read(report[0], &cause, sizeof(cause));
    while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == sizeof(cause)) {
        launch->exec_error = cause;
        waitpid(launch->pid, NULL, 0);
    }
    return 0;
}

int nvt_launch_start(char *const argv[], const char *folder, struct nvt_launch_wish wish,
                     const struct nvt_launch_signals *before, struct nvt_launch *launch,
                     struct nvt_error *err)
{
    struct gifts gifts;
    struct paths *paths = malloc(sizeof(*paths));
    *launch = (struct nvt_launch){.pid = -1};
    const int status = !paths ? nvt_fail(err, "out of memory")
                              : find_gifts(argv[0], wish, paths, launch, &gifts, err) ||
                                    start(argv, folder, before, &gifts, launch, err);
    free(paths);
    return status ? -1 : 0;
}

/* Whether the command has ended, which no signal reaches any more; it may not be waited for yet. */
static int is_over(void)
{
    siginfo_t info = {0};
    return !listening.command ||
           (!waitid(P_PID, (id_t)listening.command, &info, WEXITED | WNOHANG | WNOWAIT) &&
            info.si_pid);
}

/* The terminal signals the whole foreground group: the command has got those itself, and the witness has them, too. */
static void note(int number, int is_sent, pid_t sender)
{
    const uint64_t bit = UINT64_C(1) << (number - 1);
    int64_t none = 0;
    atomic_fetch_or(&listening.heard, bit);
    if (is_sent) {
        atomic_store(&listening.sender, sender);
        atomic_fetch_or(&listening.sent, bit);
    }
    atomic_compare_exchange_strong(&listening.heard_at, &none, nvt_monotonic_ns());
}

/* Whether who sent us a signal may be about to send it to others: it runs, or waits for a processor to run on. */
static int is_sender_busy(void)
{
    struct nvt_process_stat stat;
    const pid_t sender = atomic_load(&listening.sender);
    return sender > 0 && sender != getpid() && !nvt_process_stat(sender, &stat) &&
           stat.state == 'R';
}

int nvt_launch_pass_on(void)
{
    const int64_t at = atomic_load(&listening.heard_at);
    if (!at)
        return 0;
    const int64_t passed = nvt_monotonic_ns() - at;
    if (passed < PASS_ON_NS || (passed < PASS_ON_MOST_NS && is_sender_busy()))
        return 1;
    atomic_store(&listening.heard_at, 0);
    const uint64_t heard = atomic_exchange(&listening.heard, 0);
    const uint64_t sent = atomic_exchange(&listening.sent, 0);
    const uint64_t seen = nvt_witness_ask(&listening.witness);
    const uint64_t alone = sent & ~seen & ~listening.early;
    listening.early = seen & ~heard; /* we shall hear of it in a moment */
    for (int number = 1; number <= 64; number++) {
        if (!(alone >> (number - 1) & 1))
            continue;
        if (is_over())
            listening.enough |= asks_to_end(number);
        else
            kill(listening.command, number);
    }
    return 0;
}

void nvt_launch_keep(uint64_t signals)
{
    listening.ours = signals;
    atomic_store(&listening.kept, 0);
}

uint64_t nvt_launch_kept(void)
{
    return atomic_exchange(&listening.kept, 0);
}

/* Whether a signal may be for us alone. The kernel signals whole groups, but tells only the leader of a session that its terminal has hung
 * up: without us that would be the command. */
static int is_for_us(int number, const siginfo_t *info)
{
    if (info->si_code == SI_KERNEL)
        return (number == SIGHUP || number == SIGCONT) && getsid(0) == getpid();
    return info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;
}

static void hear(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (listening.ours >> (number - 1) & 1) {
        atomic_fetch_or(&listening.kept, UINT64_C(1) << (number - 1));
        nvt_control_wake(listening.control);
        errno = saved;
        return;
    }
    nvt_launch_ask(asks_to_end(number) ? number : 0);
    if (is_over())
        listening.enough |= asks_to_end(number);
    else if (number != SIGCHLD)
        note(number, is_for_us(number, info), info->si_pid);
    nvt_control_wake(listening.control);
    errno = saved;
}

void nvt_launch_listen(const struct nvt_launch *launch, struct nvt_control *control,
                       sigset_t *hearing)
{
    struct sigaction action = {.sa_sigaction = hear, .sa_flags = SA_SIGINFO | SA_RESTART};
    handled_signals(&action.sa_mask);
    listening.command = launch->pid;
    listening.control = control;
    listening.enough = 0;
    sigprocmask(SIG_BLOCK, NULL, hearing);
    for (size_t i = 0; i < HANDLED; i++) {
        sigaction(handled[i], &action, &listening.before[i]);
        sigdelset(hearing, handled[i]);
    }
    take_pending(0); /* a terminal's, too: the command may not have been there yet */
    if (listening.asked && !(nvt_witness_ask(&listening.witness) >> (listening.asked - 1) & 1))
        kill(launch->pid, listening.asked);
}

pid_t nvt_launch_witness(char *const argv[])
{
    sigset_t kept;
    handled_signals(&kept);
    sigdelset(&kept, SIGCHLD);
    return nvt_witness_start(&listening.witness, &kept, argv) ? 0 : listening.witness.pid;
}

int nvt_launch_without_witness(void)
{
    const int was_there = listening.witness.pid != 0;
    nvt_witness_stop(&listening.witness);
    return was_there;
}

void nvt_launch_ask(int number)
{
    if (number)
        listening.asked = number;
}

int nvt_launch_asked(void)
{
    return listening.asked;
}

void nvt_launch_ended(void)
{
    listening.command = 0;
}

int nvt_launch_is_enough(void)
{
    return listening.enough;
}

void nvt_launch_listen_no_more(void)
{
    for (size_t i = 0; i < HANDLED; i++)
        sigaction(handled[i], &listening.before[i], NULL);
}
