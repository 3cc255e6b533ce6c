/*
 * Inside the reader of dumps of PyTorch's flight recorder: the collectives that a rank's process groups were asked for, as it
 * writes them when one times out (TORCH_NCCL_DUMP_ON_TIMEOUT, TORCH_FR_DUMP_TEMP_FILE), or _dump_nccl_trace, _dump_fr_trace and
 * their _json forms do.
 *
 * Source: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (versions 2.0 to 2.10 of the dump), and
 * torch/distributed/flight_recorder, which reads them.
 *
 * An entry becomes a start/end range of the domain NVT_COLLECTIVE_DOMAIN (studies/flight_calls.h has its payload), from its call
 * to the moment at which its end was noticed; one whose end is unknown has NVT_RANGE_UNCLOSED. Its group is a row of `collectives`
 * without a name. A dump does not say which rank wrote it: the name of the file does.
 */
#ifndef NVT_READ_FLIGHT_H
#define NVT_READ_FLIGHT_H

#include "../../lib/buffer.h"
#include "../model/trace.h"
#include "pickle.h"

struct nvt_flight {
    struct nvt_trace *trace;
    const char *path;
    struct nvt_error *err;
    struct nvt_pickle pickle;
    uint64_t room; /* entries and frames that a file of its size may yet have */
    uint32_t process, domain;
    int64_t first; /* ns since 1970: the first call */
    int64_t last;  /* ns on the trace's axis: whatever was noticed last */
    uint64_t unended;
};

/* A JSON document as the pickle that it would be, behind what is in `out`. 0, or -1 with err. */
int nvt_json_as_pickle(const char *path, struct nvt_buffer *out, struct nvt_error *err);

/* -1, and err says so. */
static inline int nvt_flight_no_memory(const struct nvt_flight *flight)
{
    return nvt_fail_at(flight->err, flight->path, -1, "out of memory");
}

/* One more of what a file of its size may hold. 0, or -1 with err. */
static inline int nvt_flight_take_room(struct nvt_flight *flight)
{
    if (!flight->room)
        return nvt_fail_at(flight->err, flight->path, -1,
                           "is a damaged dump: it claims more than it has bytes for");
    flight->room--;
    return 0;
}

/* The ranges of a list of entries. 0, or -1 with err. */
int nvt_flight_entries(struct nvt_flight *flight, uint32_t entries);

/* A value that is a text, as a string of the trace; 0: it is none, or empty. NVT_NO_STRING when out of memory. */
uint32_t nvt_flight_text(const struct nvt_flight *flight, uint32_t value);

#endif
