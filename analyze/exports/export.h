/*
 * Writing a trace in other formats, for other tools. A new one is one new file and one line in
 * export.c.
 */
#ifndef NVT_EXPORT_H
#define NVT_EXPORT_H

#include <stdio.h>

#include "../model/interchange.h"
#include "../model/trace.h"

struct nvt_exporter {
    const char *name;
    const char *about;
    const char *ending; /* of a file name that is made up, NULL: to stdout without one */
    const char *of;     /* what it is for, NULL: all that there is */
    int is_binary;      /* nothing for a terminal */
    int is_trace;       /* it is read as one: a file that it would replace is kept */
    /* Write to a stream, or else to a new file of that name. 0, 1 where there was nothing of that to write, or
     * -1 with err filled; errors of the stream are left to its owner (ferror). */
    int (*write)(const struct nvt_trace *trace, FILE *out, struct nvt_error *err);
    int (*write_file)(const struct nvt_trace *trace, const char *path, struct nvt_error *err);
};

/*
 * nsys's own SQLite schema (3.25, as far as the model goes), so that nsys's statistics and other readers of its exports
 * work on it. Beyond nsys: facts of the trace are rows of META_DATA_EXPORT named "NVTALLY_FACT:…", its format one named
 * "NVTALLY_FORMAT"; memory events have a globalTid, CPU samples a cpuNs; kernels that are collectives have
 * nvtallyCollective, a row of NVTALLY_COLLECTIVES (their message and group), and nvtallySequence, which of the group's they
 * are; an operation whose launching call was not
 * recorded, but whose thread and launch time were, gets a call of no length, named NVT_EXPORT_LAUNCH. Our reader takes
 * all of it back. Of managed memory nsys has faults and migrations, and no more.
 */
extern const struct nvt_exporter nvt_exporter_sqlite;

/* The trace in nvtally's own format: everything that was read of it, fast to read again (model/table_file.h). */
extern const struct nvt_exporter nvt_exporter_nvt;

/*
 * Chrome's trace events as Kineto writes them: opens in Perfetto. Ranges and calls nest on their threads, every device
 * is a process with a row a stream, arrows lead from launches to operations, memory is a counter; CPU samples are
 * profiles of V8 (chrome_samples.c). Time 0 is the first event's. Beyond Kineto: operations and waits have the number
 * of their process, in which alone their correlation ids are one call's.
 */
extern const struct nvt_exporter nvt_exporter_chrome;

/*
 * Perfetto's binary trace (perfetto.h here, and in readers/): what nvt_exporter_chrome writes but for stacks of calls and CPU samples,
 * with numbers for names. Arrows are flows from the call of an operation to it. Start/end ranges have tracks of their own below
 * their threads.
 */
extern const struct nvt_exporter nvt_exporter_perfetto;

/* Chrome's trace events, with the critical path of each process (critical_path.h) in a row of its own, as events of this category,
 * which our reader leaves out. */
extern const struct nvt_exporter nvt_exporter_chrome_path;

/* One line an event: ranges, marks, calls, samples, operations, synchronisations, memory, overhead; each
 * kind in the order of time. */
extern const struct nvt_exporter nvt_exporter_csv;

/* A picture of the timeline, for documents and notebooks. */
extern const struct nvt_exporter nvt_exporter_svg;

/* Collapsed stacks, "outer;inner 1234", of the host's time and of the devices' (stacks.h; with
 * NVT_ACROSS_THREADS), in ns: own times, so that all lines add up to all time. */
extern const struct nvt_exporter nvt_exporter_folded;
extern const struct nvt_exporter nvt_exporter_folded_device;
extern const struct nvt_exporter nvt_exporter_folded_memory;
extern const struct nvt_exporter nvt_exporter_folded_cpu;

#endif
