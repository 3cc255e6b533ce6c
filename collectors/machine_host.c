/*
 * Of the host: what its processors do, from /proc/stat (proc(5)), /proc/loadavg, /proc/meminfo and, where the kernel sets
 * clocks, cpufreq. In a container these tell of the whole machine.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine_sampler.h"

#define CLOCKS_MOST 16 /* processors whose clock is read, evenly spread over all */

/* Ticks of all processors together since boot. */
struct shares {
    uint64_t all, idle, waiting, stolen;
};

struct host {
    enum nvt_machine_host ids[NVT_MACHINE_HOST_COUNT]; /* of the series */
    int stat, load, memory, clocks[CLOCKS_MOST];       /* descriptors, -1: not there */
    struct shares before;
    int has_before;
};

static int open_file(const char *root, const char *path)
{
    char full[4200];
    if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
        return -1;
    return open(full, O_RDONLY | O_CLOEXEC);
}

/* The beginning of a file as text; empty where it cannot be read. */
static void read_text(int file, char *text, size_t size)
{
    ssize_t length = file < 0 ? -1 : pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = 0;
}

/* "cpu user nice system idle iowait irq softirq steal …"; older kernels have fewer. 0 or -1. */
static int read_shares(const struct host *host, struct shares *shares)
{
    enum { IDLE = 3, WAITING = 4, STOLEN = 7, FIELDS = 8 };
    char text[512];
    uint64_t fields[FIELDS] = {0};
    read_text(host->stat, text, sizeof(text));
    if (strncmp(text, "cpu ", 4))
        return -1;
    const char *at = text + 3;
    int count = 0;
    for (char *end; count < FIELDS; at = end, count++) {
        fields[count] = strtoull(at, &end, 10);
        if (end == at)
            break;
    }
    if (count <= IDLE)
        return -1;
    *shares = (struct shares){0, fields[IDLE], fields[WAITING], fields[STOLEN]};
    for (int i = 0; i < FIELDS; i++)
        shares->all += fields[i];
    return 0;
}

/* More than before, in %. The kernel's counts of waiting may go back. */
static double share(uint64_t now, uint64_t before, double all)
{
    return now > before ? fmin(100 * (double)(now - before) / all, 100) : 0;
}

static void put_shares(struct host *host, double *values)
{
    struct shares now, before = host->before;
    int is_known = !read_shares(host, &now), had = host->has_before;
    host->has_before = is_known;
    if (!is_known)
        return;
    host->before = now;
    if (!had || now.all <= before.all)
        return;
    double all = (double)(now.all - before.all);
    values[NVT_MACHINE_STOLEN] = share(now.stolen, before.stolen, all);
    values[NVT_MACHINE_WAITING] = share(now.waiting, before.waiting, all);
    values[NVT_MACHINE_BUSY] =
        fmax(0, 100 - share(now.idle, before.idle, all) - values[NVT_MACHINE_WAITING] -
                    values[NVT_MACHINE_STOLEN]);
}

/* The number behind a word that stands in a text; NaN where there is none. */
static double number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    char *end = NULL;
    if (!at)
        return NAN;
    at += strlen(word);
    double value = strtod(at, &end);
    return end == at ? NAN : value;
}

/* "0.20 0.18 0.12 3/80 11206": 3 threads, of which this one is one. */
static double runnable(const struct host *host)
{
    char text[128], *slash;
    read_text(host->load, text, sizeof(text));
    slash = strchr(text, '/');
    while (slash && slash > text && slash[-1] != ' ')
        slash--;
    double threads = slash ? number_behind(slash, "") : NAN;
    return threads > 0 ? threads - 1 : threads;
}

static double available(const struct host *host)
{
    char text[1024];
    read_text(host->memory, text, sizeof(text));
    return 1024 * number_behind(text, "MemAvailable:");
}

/* In kHz. */
static double processor_clock(const struct host *host)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < CLOCKS_MOST; i++) {
        char text[32];
        read_text(host->clocks[i], text, sizeof(text));
        double khz = strtod(text, NULL);
        if (khz > 0) {
            sum += khz;
            count++;
        }
    }
    return count ? sum / count / 1000 : NAN;
}

static void read_host(struct nvt_machine_source *source, double *values)
{
    struct host *host = source->state;
    double all[NVT_MACHINE_HOST_COUNT];
    for (int i = 0; i < NVT_MACHINE_HOST_COUNT; i++)
        all[i] = NAN;
    put_shares(host, all);
    all[NVT_MACHINE_RUNNABLE] = runnable(host);
    all[NVT_MACHINE_PROCESSORS] = (double)sysconf(_SC_NPROCESSORS_ONLN);
    all[NVT_MACHINE_AVAILABLE] = available(host);
    all[NVT_MACHINE_PROCESSOR_CLOCK] = processor_clock(host);
    for (size_t i = 0; i < source->count; i++)
        values[i] = all[host->ids[i]];
}

static void close_file(int file)
{
    if (file >= 0)
        close(file);
}

static void close_host(struct nvt_machine_source *source)
{
    struct host *host = source->state;
    close_file(host->stat);
    close_file(host->load);
    close_file(host->memory);
    for (int i = 0; i < CLOCKS_MOST; i++)
        close_file(host->clocks[i]);
    free(host);
}

static void open_clocks(struct host *host, const char *root)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    int count = processors < CLOCKS_MOST ? (int)processors : CLOCKS_MOST;
    for (int i = 0; i < CLOCKS_MOST; i++) {
        char path[96];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq",
                 count ? i * processors / count : 0);
        host->clocks[i] = i < count ? open_file(root, path) : -1;
    }
}

static int add_series(struct nvt_machine_source *source, enum nvt_machine_host id)
{
    struct host *host = source->state;
    struct nvt_machine_series *series =
        nvt_machine_add_series(source, nvt_machine_host_quantity(id));
    if (!series)
        return -1;
    snprintf(series->domain, sizeof(series->domain), NVT_MACHINE_HOST);
    host->ids[source->count - 1] = id;
    return 0;
}

int nvt_machine_open_host_at(struct nvt_machine_source *source, const char *root)
{
    struct host *host = calloc(1, sizeof(*host));
    if (!host)
        return -1;
    host->stat = open_file(root, "/proc/stat");
    host->load = open_file(root, "/proc/loadavg");
    host->memory = open_file(root, "/proc/meminfo");
    open_clocks(host, root);
    source->state = host;
    source->read = read_host;
    source->close = close_host;
    struct shares shares;
    const int has_shares = !read_shares(host, &shares), has_load = !isnan(runnable(host));
    const int is_there[NVT_MACHINE_HOST_COUNT] = {
        [NVT_MACHINE_BUSY] = has_shares,
        [NVT_MACHINE_STOLEN] = has_shares,
        [NVT_MACHINE_WAITING] = has_shares,
        [NVT_MACHINE_RUNNABLE] = has_load,
        [NVT_MACHINE_PROCESSORS] = has_load,
        [NVT_MACHINE_PROCESSOR_CLOCK] = !isnan(processor_clock(host)),
        [NVT_MACHINE_AVAILABLE] = !isnan(available(host)),
    };
    for (int i = 0; i < NVT_MACHINE_HOST_COUNT; i++)
        if (is_there[i] && add_series(source, (enum nvt_machine_host)i))
            return -1;
    if (!source->count)
        snprintf(source->absent, sizeof(source->absent), "the host: /proc/stat cannot be read");
    return 0;
}

int nvt_machine_open_host(struct nvt_machine_source *source)
{
    return nvt_machine_open_host_at(source, "");
}
