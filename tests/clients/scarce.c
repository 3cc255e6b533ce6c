/*
 * What a process has of the things that are scarce, and of what others may change in it, once it has made NVTX calls and a thread that
 * made some has ended: a line each, the name and the value. scarce [WAYS]: in a way, it uses all that there is of one thing.
 */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

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
                {"forks", forks_within}};
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].run();
    return argc > 1 ? 99 : report();
}
