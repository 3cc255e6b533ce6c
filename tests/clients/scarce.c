/*
 * What a process has of the things that are scarce, and of what others may change in it, once it has made NVTX calls and a thread that
 * made some has ended: a line each, the name and the value. scarce [WAYS]: in a way, it uses all that there is of one thing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/count_of.h"

static void *use(void *argument)
{
    nvtxRangePushA("use");
    nvtxRangePop();
    return argument;
}

static int use_in_a_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, use, NULL) || pthread_join(thread, NULL);
}

static long count_descriptors(void)
{
    long count = 0;
    for (int i = 0; i < 4096; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Lines of /proc: that begin so, with their values; or how many there are. */
static void put_lines(const char *path, const char *const *begins)
{
    char line[512];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        for (const char *const *begin = begins; *begin; begin++)
            if (!strncmp(line, *begin, strlen(*begin)))
                fputs(line, stdout);
    if (file)
        fclose(file);
}

static long count_lines(const char *path)
{
    long count = 0;
    FILE *file = fopen(path, "re");
    for (int c; file && (c = getc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    return count;
}

static long count_keys(void)
{
    static pthread_key_t keys[4096];
    long count = 0;
    while (count < 4096 && !pthread_key_create(&keys[count], NULL))
        count++;
    for (long i = 0; i < count; i++)
        pthread_key_delete(keys[i]);
    return count;
}

static void put_link(const char *name)
{
    char path[64], text[128];
    snprintf(path, sizeof(path), "/proc/self/%s", name);
    const ssize_t length = readlink(path, text, sizeof(text) - 1);
    printf("%s %.*s\n", name, (int)(length > 0 ? length : 0), text);
}

static void put_limits(void)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit limit = {0};
        getrlimit((__rlimit_resource_t)i, &limit);
        printf("limit-%d %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
               (unsigned long long)limit.rlim_max);
    }
}

static void put_timers(void)
{
    static const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    for (int i = 0; i < 3; i++) {
        struct itimerval now = {{0, 0}, {0, 0}};
        getitimer((__itimer_which_t)kinds[i], &now);
        printf("itimer-%d %d\n", i, now.it_value.tv_sec || now.it_value.tv_usec);
    }
    printf("timers %ld\n", count_lines("/proc/self/timers") / 4);
}

static void put_rest(void)
{
    pthread_attr_t attributes;
    stack_t other;
    size_t size = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &size);
    sigaltstack(NULL, &other);
    const mode_t mask = umask(0);
    umask(mask);
    int reaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    printf("stack %zu\naltstack %d\numask %o\nnice %d\ndumpable %d\nsubreaper %d\nkeepcaps %d\n",
           size, other.ss_flags, (unsigned)mask, getpriority(PRIO_PROCESS, 0),
           prctl(PR_GET_DUMPABLE), reaper, prctl(PR_GET_KEEPCAPS));
    printf("scheduler %d\n", sched_getscheduler(0));
    for (char **at = environ; *at; at++)
        printf("env-%.*s %s\n", (int)strcspn(*at, "="), *at, *at + strcspn(*at, "="));
}

static int report(void)
{
    static const char *const status[] = {
        "VmSize", "VmLck",    "VmPin",      "Threads", "SigBlk", "SigIgn",
        "SigCgt", "Seccomp:", "NoNewPrivs", "Cap",     NULL};
    use(NULL);
    if (use_in_a_thread())
        return 99;
    printf("descriptors %ld\n", count_descriptors());
    printf("keys %ld\n", count_keys());
    put_lines("/proc/self/status", status);
    printf("maps %ld\n", count_lines("/proc/self/maps"));
    put_timers();
    put_limits();
    put_rest();
    put_link("cwd");
    put_link("root");
    put_link("ns/user");
    put_link("ns/mnt");
    put_link("ns/pid");
    return 0;
}

/* --- one thing is used up before the first call of NVTX ---------------------------------------------- */

static int out_of_descriptors(void)
{
    int count = 0;
    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    use(NULL);
    if (use_in_a_thread())
        return 98;
    printf("%d\n", count);
    return open("/dev/null", O_RDONLY) >= 0;
}

static int out_of_keys(void)
{
    pthread_key_t key;
    int count = 0;
    while (!pthread_key_create(&key, NULL))
        count++;
    use(NULL);
    return use_in_a_thread() || count < 900;
}

static int out_of_memory(void)
{
    const struct rlimit limit = {(rlim_t)64 << 20, RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit))
        return 99;
    const void *got = NULL;
    for (size_t size = (size_t)32 << 20; size >= 4096; size /= 2)
        do
            got = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        while (got != MAP_FAILED);
    use(NULL);
    return 0;
}

static int all_locked(void)
{
    const struct rlimit limit = {(rlim_t)256 << 10, (rlim_t)256 << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) || mlockall(MCL_FUTURE))
        return 77;
    use(NULL);
    void *own = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return own == MAP_FAILED || munmap(own, 65536);
}

static int all_blocked(void)
{
    sigset_t all, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    use(NULL);
    if (use_in_a_thread())
        return 98;
    sigprocmask(SIG_SETMASK, NULL, &now);
    return !sigismember(&now, SIGTERM) || !sigismember(&now, SIGUSR1);
}

/* Each signal that can be handled has a handler, which still gets it afterwards. */
static volatile sig_atomic_t came[NSIG];

static void note_signal(int number)
{
    came[number] = 1;
}

static int out_of_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal};
    int wrong = 0;
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &action, NULL);
    use(NULL);
    if (use_in_a_thread())
        return 98;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction now = {.sa_handler = SIG_DFL};
        if (sigaction(i, NULL, &now) || now.sa_handler != note_signal)
            continue; /* SIGKILL and such as libc keeps */
        came[i] = 0;
        wrong += raise(i) || !came[i];
        printf("%d ", i);
    }
    return wrong;
}

/* Each timer needs room for a signal. */
static int out_of_timers(void)
{
    const struct rlimit limit = {0, 0};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    if (setrlimit(RLIMIT_SIGPENDING, &limit) || !timer_create(CLOCK_MONOTONIC, &event, &timer))
        return 77;
    use(NULL);
    return use_in_a_thread();
}

static int on_small_stacks(void)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
    for (int i = 0; i < 20; i++)
        if (pthread_create(&thread, &small, use, NULL) || pthread_join(thread, NULL))
            return 98;
    return 0;
}

/* Neighbours that differ are not one mapping. */
static int out_of_mappings(void)
{
    void *last = MAP_FAILED, *own;
    for (long i = 0; i < 1 << 20; i++) {
        own = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (own == MAP_FAILED)
            break;
        last = own;
    }
    use(NULL);
    if (own != MAP_FAILED || last == MAP_FAILED)
        return 77;
    /* What is given back is the program's. */
    if (munmap(last, 4096))
        return 98;
    own = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return own == MAP_FAILED;
}

/* A lock of fcntl(2) ends when anybody in the process closes the file: nobody else has had it open. */
static int with_locks(void)
{
    static const char *const paths[] = {"/proc/self/exe", "/proc/self/maps", "/etc/passwd",
                                        "/dev/null"};
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int held = 0, status = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(paths); i++) {
        const int file = open(paths[i], O_RDONLY);
        held += file >= 0 && !fcntl(file, F_SETLK, &lock);
    }
    use(NULL);
    for (volatile long i = 0; i < 100000000; i++) /* some samples */
        continue;
    if (use_in_a_thread())
        return 98;
    const pid_t child = fork();
    if (!child) {
        int kept = 0;
        for (size_t i = 0; i < NVT_COUNT_OF(paths); i++) {
            struct flock other = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
            const int file = open(paths[i], O_RDONLY);
            kept += file >= 0 && !fcntl(file, F_GETLK, &other) && other.l_type != F_UNLCK;
        }
        _exit(kept);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 97;
    printf("%d of %d\n", WEXITSTATUS(status), held);
    return 0;
}

/* It has no children but its own. */
static int without_children(void)
{
    use(NULL);
    return wait(NULL) != -1 || errno != ECHILD;
}

/* A file that grows beyond its limit ends the program by SIGXFSZ. */
static int without_files(void)
{
    const struct rlimit limit = {0, 0};
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return 77;
    use(NULL);
    return use_in_a_thread();
}

static int out_of_data(void)
{
    const struct rlimit limit = {1, 1};
    if (setrlimit(RLIMIT_DATA, &limit))
        return 77;
    use(NULL);
    return 0;
}

/* From there on, any other system call than write, exit and the return from a signal ends the program. */
static int in_a_sandbox(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {NVT_COUNT_OF(rules), rules};
    use(NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    for (int i = 0; i < 100; i++)
        use(NULL);
    _exit(0);
}

/* The libraries 1, 2, … of a folder are loaded, as many as there is room for. */
static int load_libraries(void)
{
    const char *folder = getenv("SCARCE_LIBRARIES");
    static void *libraries[100];
    char path[4096];
    int count = 0;
    for (; folder && count < 100; count++) {
        snprintf(path, sizeof(path), "%s/%d", folder, count + 1);
        libraries[count] = dlopen(path, RTLD_NOW);
        if (!libraries[count])
            break;
    }
    printf("%d\n", count);
    return count < 4 || count == 100;
}

static int out_of_static_tls(void)
{
    const int status = load_libraries();
    use(NULL);
    return use_in_a_thread() || status;
}

static int all_static_tls_but_ours(void)
{
    use(NULL);
    return use_in_a_thread() || load_libraries();
}

static void *wait_for_end(void *argument)
{
    use(argument);
    pause();
    return argument;
}

/* Of what the user may have. */
static int out_of_threads(void)
{
    const struct rlimit limit = {20, 20};
    pthread_t thread;
    int count = 0;
    if (setrlimit(RLIMIT_NPROC, &limit))
        return 77;
    use(NULL);
    while (count < 100 && !pthread_create(&thread, NULL, wait_for_end, NULL))
        count++;
    printf("%d\n", count);
    fflush(stdout);
    _exit(count >= 100 ? 77 : count < 10);
}

static int forks_within(void)
{
    int status = 0;
    nvtxRangePushA("parent");
    const pid_t child = fork();
    if (!child) {
        use(NULL);
        _exit(use_in_a_thread() || count_keys() < 900 ? 1 : 0);
    }
    if (waitpid(child, &status, 0) != child)
        return 98;
    nvtxRangePop();
    return status != 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {{"descriptors", out_of_descriptors},
                {"keys", out_of_keys},
                {"memory", out_of_memory},
                {"locked", all_locked},
                {"blocked", all_blocked},
                {"forks", forks_within},
                {"signals", out_of_signals},
                {"timers", out_of_timers},
                {"stacks", on_small_stacks},
                {"mappings", out_of_mappings},
                {"locks", with_locks},
                {"children", without_children},
                {"files", without_files},
                {"data", out_of_data},
                {"sandbox", in_a_sandbox},
                {"threads", out_of_threads},
                {"tls", out_of_static_tls},
                {"tls-behind", all_static_tls_but_ours}};
    for (size_t i = 0; argc > 1 && i < NVT_COUNT_OF(ways); i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].run();
    return argc > 1 ? 99 : report();
}
