/*
 * The state of the machine while something is recorded, and the memory of the recorded processes: a thread of the
 * recorder's samples them, the recorder writes what it sampled. The traced program takes no part.
 *
 * A sampler reads quantities from its sources, the host's (machine_host.c) and the devices' (machine_nvml.c), and of the
 * processes that it follows (machine_processes.h), every 100 ms; less often where a round takes so long that it would be
 * more than 2 % of a core's time. The trace has no quantity that a source lacks.
 */
#ifndef NVT_MACHINE_SAMPLER_H
#define NVT_MACHINE_SAMPLER_H

#include "../lib/clock.h"
#include "../lib/machine_quantities.h"
#include "output.h"
#include "owners.h"

/* --- the sampler ---------------------------------------------------------------------------------------- */

struct nvt_machine;

/* Start sampling, in ticks of that clock, what `trace` asks for: NVT_TRACE_MACHINE, which has both, or NVT_TRACE_PROCESS
 * alone. The sources are opened by the thread, as a driver may take its time. NULL with err: there is no thread to be had, or
 * no memory. */
struct nvt_machine *nvt_machine_start(enum nvt_clock clock, uint64_t trace, struct nvt_error *err);

/* Follow the processes that are new among the owners of rings, and can be seen, up to 256 in all. Quick where there is none. */
void nvt_machine_follow(struct nvt_machine *machine, const struct nvt_owners *owners);

/* Write what was sampled since the last time as a chunk, if that is a second's worth or `all`; else that is quick. 0, or -1
 * with err; then the samples are lost, as the events of a chunk are. */
int nvt_machine_write(struct nvt_machine *machine, struct nvt_output *output, int all,
                      struct nvt_error *err);

/* End the thread, which takes a last sample, and write what is left. It is waited for a second at most: a driver that
 * does not answer blocks no other thread. 0, or -1 with err. */
int nvt_machine_stop(struct nvt_machine *machine, struct nvt_output *output, struct nvt_error *err);

/* --- its sources ---------------------------------------------------------------------------------------- */

/* Something that is sampled, as a counter of the trace. The texts are the source's until it is closed. */
struct nvt_machine_series {
    char domain[16];
    const struct nvt_machine_quantity *quantity;
    char about[160]; /* which device: its name; "" for the host */
    char gpu[96];    /* its UUID as nvidia-smi writes it, "" for the host */
};

/* What is sampled of the host or of the devices. Zero-initialise. */
struct nvt_machine_source {
    struct nvt_machine_series *series;
    size_t count;
    char absent[256]; /* why there is nothing, one line, or "" */
    void *state;
    /* values[i] of series[i], NaN where there is none now. */
    void (*read)(struct nvt_machine_source *source, double *values);
    void (*close)(struct nvt_machine_source *source);
};

/* Sources: X(nvt_machine_open_<name>). */
#define NVT_MACHINE_SOURCES(X) X(nvml) X(host)

/* 0 with `read` and `close` set or, where there is nothing to sample, `absent` and count 0; -1 when out of memory. In any
 * case nvt_machine_close_source afterwards. */
#define NVT_DECLARE_SOURCE(name) int nvt_machine_open_##name(struct nvt_machine_source *source);
NVT_MACHINE_SOURCES(NVT_DECLARE_SOURCE)
#undef NVT_DECLARE_SOURCE
void nvt_machine_close_source(struct nvt_machine_source *source);

/* One more series, for those that open a source; NULL when out of memory. Good until the next. */
struct nvt_machine_series *nvt_machine_add_series(struct nvt_machine_source *source,
                                                  const struct nvt_machine_quantity *quantity);

/* The host's with another folder in place of / , for tests. */
int nvt_machine_open_host_at(struct nvt_machine_source *source, const char *root);

#endif
