/*
 * Runs test programs side by side and prints the output of each in one piece.
 *
 *   run PROGRAM... [--alone PROGRAM...]
 *
 * Programs start in the order given, NVTALLY_TEST_JOBS at a time (default: two a processor, as many tests wait for most of their
 * time). Those behind --alone measure time: they run one after another when all others have ended. A program's output, stdout and
 * stderr in one, goes to PROGRAM.log and is printed when it ends. A program fails if it exits with another status than 0, if a
 * signal ends it, or if it takes longer than NVTALLY_TEST_TIMEOUT seconds (default: an hour, so that it tells a hang and not a busy
 * machine). Every program is run. The failed ones are listed at the end with the last lines of each.
 * Exit status: 0, 1 if a program failed, 2 if nothing could be run.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAST_LINES = 30, JOBS_MOST = 256 };

struct program {
    const char *path;
    pid_t pid; /* 0 before it starts and when it has ended */
    double start_s;
    bool is_late; /* it was killed because its time was over */
    bool has_failed;
    char end[64]; /* in words */
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A positive number in the environment, or the default. */
static long setting(const char *name, long standard, long most)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return standard;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || value < 1 || value > most) {
        fprintf(stderr, "run: %s is a number from 1 to %ld, not '%s'\n", name, most, text);
        exit(2);
    }
    return value;
}

static const char *log_of(const struct program *program)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.log", program->path);
    return path;
}

/* In a process group of its own, which a time-out ends as a whole. */
static void start(struct program *program)
{
    fflush(NULL);
    program->start_s = now_s();
    program->pid = fork();
    if (program->pid > 0) {
        setpgid(program->pid, program->pid);
        return;
    }
    if (program->pid < 0) {
        perror("run: fork");
        exit(2);
    }
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int in = open("/dev/null", O_RDONLY);
    int out = open(log_of(program), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
        perror(log_of(program));
        _exit(127);
    }
    close(in);
    close(out);
    execl(program->path, program->path, (char *)NULL);
    perror(program->path);
    _exit(127);
}

static void print_from(FILE *log, long at)
{
    char text[65536];
    size_t got;
    fseek(log, at, SEEK_SET);
    while ((got = fread(text, 1, sizeof(text), log)) > 0)
        fwrite(text, 1, got, stdout);
}

/* Where the last lines of a file begin. */
static long last_lines(FILE *log)
{
    long starts[LAST_LINES + 1] = {0}, at = 0;
    size_t lines = 0;
    int c, before = '\n';
    rewind(log);
    while ((c = getc(log)) != EOF) {
        if (before == '\n')
            starts[lines++ % LAST_LINES] = at;
        before = c;
        at++;
    }
    return lines > LAST_LINES ? starts[lines % LAST_LINES] : 0;
}

static void print_log(const struct program *program, bool is_end)
{
    FILE *log = fopen(log_of(program), "r");
    if (!log)
        return;
    print_from(log, is_end ? last_lines(log) : 0);
    fclose(log);
}

static void has_ended(struct program *program, int status, const struct rusage *used, long limit_s)
{
    program->pid = 0;
    program->has_failed = program->is_late || status != 0;
    if (program->is_late)
        snprintf(program->end, sizeof(program->end), "took more than %ld s", limit_s);
    else if (WIFSIGNALED(status))
        snprintf(program->end, sizeof(program->end), "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(program->end, sizeof(program->end), "exit status %d", WEXITSTATUS(status));
    double cpu_s = (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                   (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
    printf("== %s (%.1f s, %.1f s of CPU)\n", program->path, now_s() - program->start_s, cpu_s);
    print_log(program, false);
    if (program->has_failed)
        printf("== %s FAILED: %s\n", program->path, program->end);
    fflush(stdout);
}

/* Whoever stops the runner stops the programs. */
static void stop(struct program *programs, size_t count, int by)
{
    for (size_t i = 0; i < count; i++)
        if (programs[i].pid)
            kill(-programs[i].pid, SIGTERM);
    signal(by, SIG_DFL);
    raise(by);
    exit(1);
}

/* Wait until a program ends, a signal tells to stop, or a second is over. */
static void wait_a_while(struct program *programs, size_t count, const sigset_t *signals,
                         long limit_s)
{
    int by = sigtimedwait(signals, NULL, &(const struct timespec){.tv_sec = 1});
    if (by == SIGINT || by == SIGTERM) {
        sigprocmask(SIG_UNBLOCK, signals, NULL);
        stop(programs, count, by);
    }
    for (size_t i = 0; i < count; i++)
        if (programs[i].pid && !programs[i].is_late &&
            now_s() - programs[i].start_s > (double)limit_s) {
            programs[i].is_late = true;
            kill(-programs[i].pid, SIGKILL);
        }
}

static size_t take_ended(struct program *programs, size_t count, long limit_s)
{
    size_t ended = 0;
    int status;
    struct rusage used;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0)
        for (size_t i = 0; i < count; i++)
            if (programs[i].pid == pid) {
                has_ended(&programs[i], status, &used, limit_s);
                ended++;
            }
    return ended;
}

static void run_all(struct program *programs, size_t count, long jobs, long limit_s)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    size_t started = 0, ended = 0;
    while (ended < count) {
        while (started < count && started - ended < (size_t)jobs)
            start(&programs[started++]);
        wait_a_while(programs, started, &signals, limit_s);
        ended += take_ended(programs, started, limit_s);
    }
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

static int report(const struct program *programs, size_t count, double start_s)
{
    size_t failed = 0;
    for (size_t i = 0; i < count; i++)
        failed += programs[i].has_failed;
    printf("%zu of %zu test programs passed in %.0f s\n", count - failed, count, now_s() - start_s);
    for (size_t i = 0; i < count; i++)
        if (programs[i].has_failed) {
            printf("\nFAILED: %s: %s. Its last lines (all: %s):\n", programs[i].path,
                   programs[i].end, log_of(&programs[i]));
            print_log(&programs[i], true);
        }
    if (failed)
        printf("\nFAILED:");
    for (size_t i = 0; failed && i < count; i++)
        if (programs[i].has_failed)
            printf(" %s", programs[i].path);
    if (failed)
        printf("\n");
    return failed > 0;
}

int main(int argc, char **argv)
{
    struct program *programs = calloc((size_t)argc, sizeof(*programs));
    if (!programs) {
        perror("run");
        return 2;
    }
    size_t count = 0, side_by_side = SIZE_MAX;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--alone"))
            side_by_side = count;
        else
            programs[count++].path = argv[i];
    if (side_by_side > count)
        side_by_side = count;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long jobs = setting("NVTALLY_TEST_JOBS", processors > 0 ? 2 * processors : 2, JOBS_MOST);
    long limit_s = setting("NVTALLY_TEST_TIMEOUT", 3600, INT_MAX);
    double start_s = now_s();
    run_all(programs, side_by_side, jobs < JOBS_MOST ? jobs : JOBS_MOST, limit_s);
    run_all(programs + side_by_side, count - side_by_side, 1, limit_s);
    int status = report(programs, count, start_s);
    free(programs);
    return status;
}
