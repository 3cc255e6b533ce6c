/*
 * What recording costs programs of many short lives: lives NVTALLY [ROUNDS [SHARE]]. Each program runs alone and under `record`, in
 * turn; of each the wall time and the CPU time, its own and that of the recorder, and the ratio of each pair: the median, and the
 * least and the largest. SHARE: of 10,000 threads and processes so many percent. `lives threads|processes|crowd N` are the programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"

#define ROUNDS_MOST 99
#define CROWD_MOST  1000

/* --- the programs ------------------------------------------------------------------------------- */

static void *request(void *argument)
{
    nvtxRangePushA("request");
    nvtxRangePop();
    return argument;
}

static int threads(long count)
{
    pthread_t thread;
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, request, NULL) || pthread_join(thread, NULL))
            return 1;
    return 0;
}

static int processes(long count)
{
    for (long i = 0; i < count; i++) {
        const pid_t child = fork();
        if (!child) {
            execl("/proc/self/exe", "lives", "threads", "0", (char *)NULL);
            _exit(1);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 1;
    }
    return 0;
}

static pthread_barrier_t all_here;

static void *wait_for_all(void *argument)
{
    nvtxRangePushA("task");
    pthread_barrier_wait(&all_here);
    nvtxRangePop();
    return argument;
}

static int crowd(long count)
{
    static pthread_t thread[CROWD_MOST];
    pthread_attr_t small;
    if (count < 1 || count > CROWD_MOST || pthread_attr_init(&small) ||
        pthread_attr_setstacksize(&small, 262144) ||
        pthread_barrier_init(&all_here, NULL, (unsigned)count))
        return 1;
    for (long i = 0; i < count; i++)
        if (pthread_create(&thread[i], &small, wait_for_all, NULL))
            return 1;
    for (long i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

/* --- the measurement ------------------------------------------------------------------------------ */

struct cost {
    double wall, cpu; /* ms */
};

static double ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static int write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    const int failed = fputs(text, file) < 0;
    return fclose(file) || failed ? -1 : 0;
}

/* A control group with that limit of memory; "": it may not be made. */
static void make_group(const char *limit, char *path, size_t size)
{
    char file[300];
    const int is_old = !access("/sys/fs/cgroup/memory", F_OK);
    snprintf(path, size, "/sys/fs/cgroup/%snvtally-bench-%d", is_old ? "memory/" : "",
             (int)getpid());
    snprintf(file, sizeof(file), "%s/%s", path, is_old ? "memory.limit_in_bytes" : "memory.max");
    if (mkdir(path, 0755))
        *path = 0;
    else if (write_text(file, limit)) {
        rmdir(path);
        *path = 0;
    }
}

/* Run a command, in a control group unless that is "". 0, or -1: it failed. */
static int run(const char *const argv[], const char *group, struct cost *cost)
{
    struct rusage used;
    int status;
    char procs[300];
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
    const int64_t start = nvt_monotonic_ns();
    const pid_t child = fork();
    if (!child) {
        const int nowhere = open("/dev/null", O_WRONLY);
        if ((*group && write_text(procs, "0")) || dup2(nowhere, 2) < 0)
            _exit(126);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || status)
        return -1;
    *cost = (struct cost){(double)(nvt_monotonic_ns() - start) / 1e6,
                          ms(used.ru_utime) + ms(used.ru_stime)};
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void put(const char *name, const char *what, double *alone, double *recorded, int rounds)
{
    double ratio[ROUNDS_MOST] = {0};
    for (int i = 0; i < rounds; i++)
        ratio[i] = recorded[i] / alone[i];
    const double middle = median(ratio, rounds);
    printf("%-34s %-5s %10.1f %10.1f %8.3f (%.3f - %.3f)\n", name, what, median(alone, rounds),
           median(recorded, rounds), middle, ratio[0], ratio[rounds - 1]);
}

/* One program, alone and recorded in turn; who is first changes. */
static int measure(const char *nvtally, const char *how, long count, const char *name,
                   const char *group, int rounds)
{
    static double wall[2][ROUNDS_MOST], cpu[2][ROUNDS_MOST];
    char number[24], trace[64];
    snprintf(number, sizeof(number), "%ld", count);
    snprintf(trace, sizeof(trace), "/tmp/nvtally-bench-%d.nvt", (int)getpid());
    const char *const recorded[] = {nvtally, "record",         "-f", "--trace", "nvtx", "-o", trace,
                                    "--",    "/proc/self/exe", how,  number,    NULL};
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return -1;
    self[length] = 0;
    const char *under[NVT_COUNT_OF(recorded)];
    memcpy(under, recorded, sizeof(recorded));
    under[8] = self;
    for (int i = 0; i < 2 * rounds; i++) {
        const int which = (i + i / 2) % 2; /* ABBA */
        struct cost cost;
        if (run(which ? under : under + 8, group, &cost)) {
            printf("%-34s %s failed\n", name, which ? "recorded" : "alone");
            (void)unlink(trace);
            return -1;
        }
        wall[which][i / 2] = cost.wall;
        cpu[which][i / 2] = cost.cpu;
    }
    (void)unlink(trace);
    put(name, "wall", wall[0], wall[1], rounds);
    put("", "CPU", cpu[0], cpu[1], rounds);
    return 0;
}

static int measure_all(const char *nvtally, int rounds, long percent)
{
    char group[200];
    const long many = 100 * percent;
    char names[2][64];
    snprintf(names[0], sizeof(names[0]), "%ld threads in turn", many);
    snprintf(names[1], sizeof(names[1]), "%ld processes in turn", many);
    printf("ms, medians of %d rounds; CPU: of the program and the recorder; ratio of each pair\n",
           rounds);
    printf("%-34s %-5s %10s %10s %8s\n", "", "", "alone", "recorded", "ratio");
    int failed = measure(nvtally, "threads", 0, "one range (the start of each)", "", rounds);
    failed |= measure(nvtally, "threads", many, names[0], "", rounds);
    failed |= measure(nvtally, "processes", many, names[1], "", rounds);
    make_group("300M", group, sizeof(group));
    if (!*group) {
        printf("400 threads in 300 MB: no right to make a control group here, not run\n");
        return failed;
    }
    failed |= measure(nvtally, "crowd", 400, "400 threads at once in 300 MB", group, rounds);
    for (int i = 0; rmdir(group) && errno == EBUSY && i < 50; i++)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    return failed;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const long number = argc > 2 ? strtol(argv[2], NULL, 10) : 7;
    const long percent = argc > 3 ? strtol(argv[3], NULL, 10) : 100;
    if (!strcmp(how, "threads"))
        return number ? threads(number) : !request(argv);
    if (!strcmp(how, "processes"))
        return processes(number);
    if (!strcmp(how, "crowd"))
        return crowd(number);
    if (!strchr(how, '/') || number < 1 || number > ROUNDS_MOST || percent < 1 || percent > 1000) {
        fprintf(stderr, "usage: lives NVTALLY [ROUNDS [PERCENT]]\n");
        return 2;
    }
    return measure_all(how, (int)number, percent) ? 1 : 0;
}
