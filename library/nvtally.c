/*
 * libnvtally: sessions over the collector of one's own process (collectors/self_record.h).
 */
#include "../include/nvtally.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../analyze/device/project.h"
#include "../analyze/exports/export.h"
#include "../analyze/model/window.h"
#include "../analyze/readers/reader.h"
#include "../collectors/self_record.h"
#include "../lib/clock.h"
#include "../lib/sample.h"
#include "../lib/version.h"

#define COLLECTOR "libnvtally-inject.so"

struct nvtally_session {
    pid_t pid;
    int64_t start;       /* CLOCK_MONOTONIC */
    int64_t first, last; /* on the trace's axis, when stopped */
    int stopped;
    int status; /* of the reading */
    struct nvt_trace *trace;
    struct nvt_projected *projected;
    uint64_t lost;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nvtally_session *running;

/* The process that first asked for a session. A child made by fork (fork(), or the bare system call,
 * which runs no handlers) may find the lock held by a thread that it does not have: it is refused
 * before it touches the lock. */
static _Atomic pid_t owner;

static int is_forked_child(void)
{
    pid_t self = getpid(), known = 0;
    return !atomic_compare_exchange_strong(&owner, &known, self) && known != self;
}

/* $NVTALLY_LIBDIR, beside this library, or in nvtally/ there. 0, or -1. */
static int find_collector(char *out, size_t size)
{
    Dl_info self;
    const char *given = getenv("NVTALLY_LIBDIR");
    if (given && snprintf(out, size, "%s/%s", given, COLLECTOR) < (int)size && !access(out, R_OK))
        return 0;
    if (!dladdr((void *)&nvtally_session_start, &self) || !self.dli_fname)
        return -1;
    char *real = realpath(self.dli_fname, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    int found = 0;
    if (slash) {
        *slash = 0;
        static const char *const places[] = {"", "/nvtally"};
        for (int i = 0; i < 2 && !found; i++)
            found = snprintf(out, size, "%s%s/%s", real, places[i], COLLECTOR) < (int)size &&
                    !access(out, R_OK);
    }
    free(real);
    return found ? 0 : -1;
}

/* With the lock held. */
static int start(nvtally_session **session)
{
    static const int statuses[] = {[NVT_SELF_RECORD_OK] = NVTALLY_OK,
                                   [NVT_SELF_RECORD_OTHER_TOOL] = NVTALLY_OTHER_TOOL,
                                   [NVT_SELF_RECORD_NO_COLLECTOR] = NVTALLY_NO_COLLECTOR,
                                   [NVT_SELF_RECORD_SYSTEM] = NVTALLY_SYSTEM};
    char library[4096];
    struct nvt_error err = NVT_ERROR_INIT;
    if (running)
        return NVTALLY_BUSY;
    if (find_collector(library, sizeof(library)))
        return NVTALLY_NO_COLLECTOR;
    nvtally_session *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return NVTALLY_NO_MEMORY;
    int status = statuses[nvt_self_record_start(library, &err)];
    if (status) {
        free(fresh);
        return status;
    }
    fresh->pid = getpid();
    fresh->start = nvt_monotonic_ns();
    *session = running = fresh;
    return NVTALLY_OK;
}

int nvtally_session_start(nvtally_session **session)
{
    if (!session)
        return NVTALLY_BAD_ARGUMENT;
    *session = NULL;
    if (is_forked_child())
        return NVTALLY_NO_SESSION;
    pthread_mutex_lock(&lock);
    int status = start(session);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The recording so far, for nvt_trace_free, whatever is returned. */
static int read_trace(const char *path, struct nvt_trace **trace)
{
    struct nvt_error err = NVT_ERROR_INIT;
    *trace = nvt_trace_new(path, nvt_reader_nvt.name);
    if (!*trace)
        return NVTALLY_NO_MEMORY;
    if (nvt_reader_nvt.read(path, *trace, &err))
        return NVTALLY_SYSTEM;
    /* Cut where the recorder goes on writing, it is whole for us; behind what is not read is more. */
    const char *warning = (*trace)->warning;
    if (warning && strstr(warning, "cannot be read: "))
        return NVTALLY_SYSTEM;
    return nvt_trace_finish(*trace, &err) ? NVTALLY_NO_MEMORY : NVTALLY_OK;
}

static int read_session(nvtally_session *session, const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const int status = read_trace(path, &session->trace);
    if (status)
        return status;
    session->projected = nvt_project_ranges(session->trace, 0, &err);
    return session->projected ? NVTALLY_OK : NVTALLY_NO_MEMORY;
}

/* With the lock held. */
static int stop(nvtally_session *session)
{
    if (session->stopped)
        return NVTALLY_STOPPED;
    nvt_self_record_axis(session->start, nvt_monotonic_ns(), &session->first, &session->last);
    session->stopped = 1;
    running = NULL;
    const char *path = nvt_self_record_collect(&session->lost);
    session->status = path ? read_session(session, path) : NVTALLY_NO_SESSION;
    return session->status;
}

int nvtally_session_stop(nvtally_session *session)
{
    if (!session)
        return NVTALLY_BAD_ARGUMENT;
    if (session->pid != getpid())
        return NVTALLY_NO_SESSION;
    pthread_mutex_lock(&lock);
    int status = stop(session);
    pthread_mutex_unlock(&lock);
    return status;
}

void nvtally_session_free(nvtally_session *session)
{
    if (!session)
        return;
    if (session->pid == getpid()) {
        pthread_mutex_lock(&lock);
        if (running == session)
            running = NULL;
        pthread_mutex_unlock(&lock);
    }
    nvt_trace_free(session->trace);
    free(session->projected);
    free(session);
}

/* Whether a session can be asked: its status, once it has ended in this process. */
static int outcome(const nvtally_session *session)
{
    if (session->pid != getpid())
        return NVTALLY_NO_SESSION;
    return session->stopped ? session->status : NVTALLY_RUNNING;
}

/* What began in a session. With the lock held. */
static int save(const nvtally_session *session, const char *path, uint64_t *events)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_window window = {0};
    char time[64];
    struct nvt_trace *trace = NULL;
    uint64_t lost;
    const char *recorded = nvt_self_record_collect(&lost);
    int status = recorded ? read_trace(recorded, &trace) : NVTALLY_NO_SESSION;
    snprintf(time, sizeof(time), "%lld/%lld", (long long)session->first, (long long)session->last);
    if (!status &&
        (nvt_window_set_time(&window, time, &err) || nvt_window_cut(&window, trace, &err)))
        status = NVTALLY_NO_MEMORY;
    if (!status) { /* that it is still being recorded is no news of the file */
        free(trace->notes);
        trace->notes = NULL;
    }
    if (!status && nvt_exporter_nvt.write_file(trace, path, &err))
        status = NVTALLY_SYSTEM;
    if (!status && events)
        *events = (uint64_t)trace->ranges.count + trace->marks.count + trace->ops.count;
    nvt_trace_free(trace);
    return status;
}

int nvtally_session_save(const nvtally_session *session, const char *path, uint64_t *events)
{
    if (!session || !path || !*path)
        return NVTALLY_BAD_ARGUMENT;
    int status = outcome(session);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = save(session, path, events);
    pthread_mutex_unlock(&lock);
    return status;
}

/* Whether a range began and ended in the session, in this process. */
static int is_in(const nvtally_session *session, uint32_t range)
{
    const struct nvt_trace *trace = session->trace;
    const struct nvt_ranges *ranges = &trace->ranges;
    uint32_t process = trace->threads.process[ranges->thread[range]];
    return !(ranges->flags[range] & NVT_RANGE_UNCLOSED) && ranges->start[range] >= session->first &&
           ranges->end[range] <= session->last && trace->processes.pid[process] == session->pid;
}

static int is_named(const struct nvt_trace *trace, uint32_t range, const char *domain,
                    size_t domain_length, const char *name)
{
    if (strcmp(nvt_name(trace, trace->ranges.name[range]), name))
        return 0;
    const char *its = nvt_name(trace, trace->domains.name[trace->ranges.domain[range]]);
    return !domain || (strlen(its) == domain_length && !memcmp(its, domain, domain_length));
}

/* Summaries of host and device times; 0, NVTALLY_NO_RANGE or NVTALLY_NO_MEMORY. */
static int summarise(const nvtally_session *session, const char *domain, size_t domain_length,
                     const char *name, nvtally_range_statistics *statistics)
{
    const struct nvt_trace *trace = session->trace;
    nvtally_range_statistics s = {.lost = session->lost,
                                  .has_device = trace->devices.count || trace->ops.count};
    struct nvt_summary host, device;
    size_t count = 0;
    double *times = malloc(((size_t)trace->ranges.count * 2 + 1) * sizeof(*times));
    if (!times)
        return NVTALLY_NO_MEMORY;
    double *busy = times + trace->ranges.count;
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        if (!is_named(trace, i, domain, domain_length, name) || !is_in(session, i))
            continue;
        const struct nvt_projected *projected = &session->projected[i];
        times[count] = (double)(trace->ranges.end[i] - trace->ranges.start[i]);
        busy[count++] = projected->ops ? (double)projected->busy : 0;
        s.kernels += projected->ops ? projected->kernels : 0;
        s.operations += projected->ops;
    }
    if (count) {
        nvt_sample_summary(times, count, &host);
        nvt_sample_summary(busy, count, &device);
        s.count = count;
        s.host_mean_ns = host.mean, s.host_min_ns = host.min, s.host_max_ns = host.max;
        s.host_std_ns = count > 1 ? host.std : 0;
        s.device_mean_ns = device.mean, s.device_min_ns = device.min, s.device_max_ns = device.max;
        s.device_std_ns = count > 1 ? device.std : 0;
        *statistics = s;
    }
    free(times);
    return count ? NVTALLY_OK : NVTALLY_NO_RANGE;
}

int nvtally_range_stats(const nvtally_session *session, const char *name,
                        nvtally_range_statistics *statistics)
{
    if (!session || !name || !*name || !statistics)
        return NVTALLY_BAD_ARGUMENT;
    int status = outcome(session);
    if (status)
        return status;
    status = summarise(session, NULL, 0, name, statistics);
    const char *at = strchr(name, '@');
    if (status == NVTALLY_NO_RANGE && at && at[1])
        status = summarise(session, name, (size_t)(at - name), at + 1, statistics);
    /* It may be among what was lost: memory or a file could not be had. */
    return status == NVTALLY_NO_RANGE && session->lost ? NVTALLY_SYSTEM : status;
}

const char *nvtally_status_text(int status)
{
    switch (status) {
    case NVTALLY_OK:
        return "good";
    case NVTALLY_BAD_ARGUMENT:
        return "a NULL pointer or an empty name was given";
    case NVTALLY_BUSY:
        return "a session is running already: stop it first";
    case NVTALLY_OTHER_TOOL:
        return "the process is watched already: NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH or "
               "NVTALLY_SESSION is set";
    case NVTALLY_NO_COLLECTOR:
        return "libnvtally-inject.so is neither next to libnvtally.so nor in nvtally/ there; set "
               "NVTALLY_LIBDIR to its folder";
    case NVTALLY_NO_SESSION:
        return "the session belongs to another process";
    case NVTALLY_RUNNING:
        return "the session has to be stopped first";
    case NVTALLY_STOPPED:
        return "the session has been stopped already";
    case NVTALLY_NO_RANGE:
        return "no range of this name began and ended in the session (the first session must start "
               "before the first NVTX call)";
    case NVTALLY_NO_MEMORY:
        return "out of memory";
    case NVTALLY_SYSTEM:
        return "a folder, thread or memory file could not be made or read";
    default:
        return "unknown status";
    }
}

const char *nvtally_version(void)
{
    return NVT_VERSION;
}
