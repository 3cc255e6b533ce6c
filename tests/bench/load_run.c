/*
 * The figures of a long load: load_run NVTALLY LOAD SECONDS THREADS TRACE. Runs LOAD
 * (tests/clients/load.c) by itself for a tenth of a second, and under `NVTALLY record` for SECONDS;
 * prints what was sent, what is in the file, the rate, how long the producers waited by the trace's
 * account, and the peak memory of the program, with and without a recorder, and of the recorder.
 * Exit 1 when an event is missing that nobody reported.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../trace_tally.h"

struct produced {
    unsigned long long pairs;
    double seconds;
    long peak_kib;
    long recorder_kib;
};

/* The highest that a process's resident memory has been; as long as it lives. */
static long peak_of(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && !kib && fgets(line, sizeof(line), file))
        sscanf(line, "VmHWM: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

/* Run a command whose output is what LOAD prints. 0 or -1. */
static int run(char *const argv[], struct produced *produced)
{
    int ends[2], status;
    char text[256] = "";
    const struct timespec moment = {0, 20000000};
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 1);
        execv(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    while (child > 0 && !waitpid(child, &status, WNOHANG)) {
        long peak = peak_of(child);
        produced->recorder_kib = peak > produced->recorder_kib ? peak : produced->recorder_kib;
        nanosleep(&moment, NULL);
    }
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    return child > 0 && !status && size > 0 &&
                   sscanf(text, "%llu %lf %ld", &produced->pairs, &produced->seconds,
                          &produced->peak_kib) == 3
               ? 0
               : -1;
}

static void print(const struct produced *alone, const struct produced *load,
                  const struct trace_tally *tally, int threads)
{
    uint64_t reported = tally->dropped + tally->nested + tally->unwritten;
    double pairs = (double)load->pairs;
    printf("%-44s %d threads, %.1f s\n", "load", threads, load->seconds);
    printf("%-44s %llu\n", "events sent (two a range)", 2 * load->pairs);
    printf("%-44s %" PRIu64 "\n", "events in the file", tally->events);
    printf("%-44s %" PRIu64 "\n", "events reported lost", reported);
    printf("%-44s %.1f million\n", "ranges a second, sustained", pairs / load->seconds / 1e6);
    printf("%-44s %.1f %% of their time\n", "producers waited for the recorder",
           (double)tally->waited_ns / load->seconds / 1e7 / threads);
    printf("%-44s %.0f MB, %.3f bytes an event\n", "trace", (double)tally->bytes / 1e6,
           (double)tally->bytes / pairs / 2);
    printf("%-44s %ld KiB, without a recorder %ld KiB\n", "peak memory of the program",
           load->peak_kib, alone->peak_kib);
    printf("%-44s %ld KiB\n", "peak memory of the recorder", load->recorder_kib);
}

int main(int argc, char **argv)
{
    struct produced alone = {0}, load = {0};
    struct trace_tally tally;
    struct nvt_error err = NVT_ERROR_INIT;
    if (argc != 6)
        return 2;
    char *bare[] = {argv[2], "0.1", argv[4], NULL};
    char *recorded[] = {argv[1], "record", "-o", argv[5], "--", argv[2], argv[3], argv[4], NULL};
    if (run(bare, &alone) || run(recorded, &load)) {
        fputs("load_run: a command failed\n", stderr);
        return 2;
    }
    if (trace_tally_read(argv[5], &tally, &err)) {
        fprintf(stderr, "load_run: %s\n", err.message);
        return 2;
    }
    print(&alone, &load, &tally, atoi(argv[4]));
    if (tally.events + tally.dropped + tally.nested + tally.unwritten == 2 * load.pairs)
        return 0;
    fputs("load_run: events are missing\n", stderr);
    return 1;
}
