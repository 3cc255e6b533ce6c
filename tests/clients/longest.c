/*
 * A job of days in a short time: ranks come and go, one by fork(), the next by exec(), the recording is started and stopped over
 * and over, and now and then the disk is full. longest NVTALLY FOLDER EVENTS; tests/test_longest.c knows what to expect.
 *
 * It is started by `record --dormant`, and asks for starts and stops itself, while its ranks stand still: so each pair that a rank
 * counts as recorded was promised to be, and each other not. Printed at the end: pairs that were recorded, starts, ranks, times that
 * the disk was full, then of the recorder, after a fifth and at the end: memory (KiB), descriptors, files of the session.
 */
#include <dirent.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 2, BATCH = 1000, FULL_EVERY = 8 };
enum mode { STILL, RECORDED, BETWEEN };

/* In a file that ranks map: what they are to do, and what they have done. */
struct job {
    _Atomic uint32_t mode;
    _Atomic uint32_t standing; /* ranks that have seen STILL */
    _Atomic uint64_t recorded, between;
    _Atomic uint32_t ends[RANKS]; /* that rank is to end */
};

static struct job *job;

static void wait_us(long us)
{
    const struct timespec moment = {0, us * 1000};
    nanosleep(&moment, NULL);
}

/* Pairs of one kind until the ranks are to stand still; each is counted before that is said. */
static void work(enum mode mode)
{
    const char *name = mode == RECORDED ? "recorded" : "between";
    uint64_t pairs = 0;
    while (atomic_load(&job->mode) == (uint32_t)mode) {
        for (int i = 0; i < BATCH; i++) {
            nvtxRangePushA(name);
            nvtxRangePop();
        }
        pairs += BATCH;
        if (mode == BETWEEN)
            wait_us(1000);
    }
    atomic_fetch_add(mode == RECORDED ? &job->recorded : &job->between, pairs);
}

static void run_rank(int rank)
{
    while (!atomic_load(&job->ends[rank])) {
        atomic_fetch_add(&job->standing, 1);
        while (atomic_load(&job->mode) == STILL && !atomic_load(&job->ends[rank]))
            wait_us(100);
        const enum mode mode = (enum mode)atomic_load(&job->mode);
        if (mode != STILL)
            work(mode);
    }
    exit(0);
}

static int map_job(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/job", folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(*job)))
        return -1;
    job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return job == MAP_FAILED ? -1 : 0;
}

/* --- the job --- */

static pid_t ranks[RANKS];
static uint64_t begun;

static void begin_rank(int rank, const char *program, const char *folder)
{
    atomic_store(&job->ends[rank], 0);
    ranks[rank] = fork();
    if (ranks[rank])
        return;
    if (begun % 2) {
        char number[16];
        snprintf(number, sizeof(number), "%d", rank);
        execl(program, program, "rank", folder, number, (char *)NULL);
        _exit(127);
    }
    run_rank(rank);
}

/* All ranks stand: `count` more of them than did. */
static void wait_for_standing(uint32_t count)
{
    while (atomic_load(&job->standing) < count)
        wait_us(200);
}

static void stand_still(void)
{
    atomic_store(&job->standing, 0);
    atomic_store(&job->mode, STILL);
    wait_for_standing(RANKS);
}

static int end_rank(int rank)
{
    int status = 1;
    atomic_store(&job->ends[rank], 1);
    return waitpid(ranks[rank], &status, 0) == ranks[rank] ? status : 1;
}

static void ask(const char *program, const char *what)
{
    char command[4200];
    snprintf(command, sizeof(command), "'%s' ctl %s >/dev/null", program, what);
    if (system(command)) { /* NOLINT(cert-env33-c): a test's own program */
        fprintf(stderr, "longest: ctl %s failed\n", what);
        exit(3);
    }
}

/* Every byte of the folder's disk. */
static void fill(const char *folder, int is_full)
{
    char path[4096];
    struct statvfs disk;
    snprintf(path, sizeof(path), "%s/filler", folder);
    unlink(path);
    if (!is_full || statvfs(folder, &disk))
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (unsigned long left = disk.f_bfree * disk.f_bsize; file >= 0 && left >= disk.f_bsize;
         left /= 2)
        if (!posix_fallocate(file, lseek(file, 0, SEEK_END), (off_t)left))
            left = disk.f_bsize;
    close(file);
}

/* --- the recorder, which has started us --- */

struct seen {
    long memory_kib, descriptors, files;
};

static long entries(const char *folder)
{
    DIR *directory = folder ? opendir(folder) : NULL;
    long count = 0;
    /* cppcheck-suppress readdirCalled ; no other thread has it */
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static struct seen look(void)
{
    struct seen seen = {0};
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status))
        if (!strncmp(line, "VmRSS:", 6))
            seen.memory_kib = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)getppid());
    seen.descriptors = entries(path);
    seen.files = entries(getenv("NVTALLY_SESSION"));
    return seen;
}

/* One start and stop, in which `pairs` more are recorded. */
static void record_once(const char *program, uint64_t pairs)
{
    struct timespec from, now;
    ask(program, "start");
    clock_gettime(CLOCK_MONOTONIC, &from);
    now = from;
    atomic_store(&job->mode, RECORDED);
    /* Ranks count when they stand: here the time is what ends it, a thousand pairs a millisecond at least. */
    for (uint64_t us = 0; us < pairs / 4 && now.tv_sec - from.tv_sec < 3; us += 1000) {
        wait_us(1000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    stand_still();
    ask(program, "stop");
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "rank"))
        return map_job(argv[2]) ? 2 : (run_rank(atoi(argv[3])), 0);
    if (argc < 4 || map_job(argv[2]))
        return 2;
    const char *program = argv[1], *folder = argv[2];
    const uint64_t wanted = strtoull(argv[3], NULL, 10) / 2;
    struct seen early = {0}, late = {0};
    uint64_t starts = 0, fulls = 0;
    for (int i = 0; i < RANKS; i++, begun++)
        begin_rank(i, argv[0], folder);
    wait_for_standing(RANKS);
    for (; atomic_load(&job->recorded) < wanted || starts <= FULL_EVERY; starts++) {
        const int is_full = starts % FULL_EVERY == FULL_EVERY / 2;
        fulls += (uint64_t)is_full;
        if (is_full)
            fill(folder, 1);
        record_once(program, wanted / 20 < 4000000 ? wanted / 20 : 4000000);
        if (is_full)
            fill(folder, 0);
        atomic_store(&job->mode, BETWEEN);
        wait_us(20000);
        stand_still();
        const int rank = (int)(starts % RANKS);
        atomic_store(&job->standing, 0);
        if (end_rank(rank))
            return 4;
        begin_rank(rank, argv[0], folder);
        begun++;
        wait_for_standing(1);
        late = look();
        if (!early.memory_kib && atomic_load(&job->recorded) >= wanted / 5 &&
            starts > FULL_EVERY / 2)
            early = late;
    }
    for (int i = 0; i < RANKS; i++)
        if (end_rank(i))
            return 4;
    printf("%llu %llu %llu %llu %ld %ld %ld %ld %ld %ld\n",
           (unsigned long long)atomic_load(&job->recorded), (unsigned long long)starts,
           (unsigned long long)begun, (unsigned long long)fulls, early.memory_kib, late.memory_kib,
           early.descriptors, late.descriptors, early.files, late.files);
    return 0;
}
