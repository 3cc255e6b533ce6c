/*
 * Inside the export to Perfetto's binary traces: what the perfetto*.c here share. Numbers of fields are those of perfetto_trace.proto
 * (v53); readers/perfetto.h says how our reader takes it back.
 *
 * Every slice is two packets, its beginning and its end, whose order in the file counts: on one track, what begins there ends before
 * what is around it. Slices come by their starts; the ends of a track are written when something behind them begins. What overlaps
 * another slice of a track without lying inside it goes to a further track of the same name below the same thread.
 */
#ifndef NVT_EXPORT_PERFETTO_H
#define NVT_EXPORT_PERFETTO_H

#include <stdio.h>

#include "../../lib/map.h"
#include "../../lib/proto_put.h"
#include "../model/trace.h"

enum nvt_pf_kind {
    NVT_PF_RANGE,
    NVT_PF_MPI,
    NVT_PF_API,
    NVT_PF_OS,
    NVT_PF_OP,
    NVT_PF_SYNC,
    NVT_PF_UM,
    NVT_PF_OVERHEAD,
    NVT_PF_MARK,
    NVT_PF_MEMORY,
};

/* Something that is written: a row of a table of the model. */
struct nvt_pf_entry {
    int64_t start, end; /* of a moment INT64_MIN */
    uint32_t track;
    uint32_t row;
    enum nvt_pf_kind kind;
};

/* A track of the file; its uuid is its number and 1. */
struct nvt_pf_track {
    uint32_t parent;  /* and 1, 0: none */
    uint32_t further; /* where goes what does not nest here: its number and 1, 0 none */
    uint32_t open;    /* number in `open` of the innermost slice, and 1 */
    uint32_t length;  /* of the chain of further tracks up to here */
    uint32_t thread;  /* row of the model, NVT_NONE: of none */
    char *name;       /* owned; NULL */
};

struct nvt_pf_open {
    int64_t end;
    uint32_t outer;
};

/* What is interned, by the numbers of InternedData's fields. */
enum nvt_pf_interned {
    NVT_PF_CATEGORY,
    NVT_PF_NAME,
    NVT_PF_ANNOTATION,
    NVT_PF_TEXT,
    NVT_PF_INTERNED
};

struct nvt_pf {
    const struct nvt_trace *trace;
    FILE *out;
    int64_t base;                                           /* time 0 of the file */
    struct nvt_buffer packet, event, inner, deep, interned; /* of the packet that is being made */
    struct nvt_buffer fresh, clean; /* an entry of what is interned; a text as UTF-8 */
    struct nvt_strings *strings[NVT_PF_INTERNED];
    uint32_t told[NVT_PF_INTERNED]; /* how many of each were written */
    struct nvt_pf_entry *entries;
    size_t entry_count, entry_room;
    struct nvt_pf_track *tracks;
    uint32_t track_count;
    struct nvt_pf_open *open;
    uint32_t open_count, open_free; /* free: the number and 1 */
    struct nvt_map devices, lanes, launches, sequences;
    uint32_t device_count;
    uint8_t *launched; /* by row of apis: whether an operation is its */
    int failed;        /* out of memory */
};

/* The number of a text in what is interned, which is written with the packet where it is new. */
uint64_t nvt_pf_intern(struct nvt_pf *pf, enum nvt_pf_interned kind, const char *text);
/* The text as UTF-8, until the next call. */
const char *nvt_pf_clean(struct nvt_pf *pf, const char *text);

/* perfetto_args.c: category, name and annotations of an entry, into `event`. */
void nvt_pf_describe(struct nvt_pf *pf, const struct nvt_pf_entry *entry);

/* perfetto_tracks.c. The track of a row of processes, of threads, of a device's stream (or of waits for it), of what has a place
 * of its own; tracks are described in the file when they come up first. A further one of a track. */
void nvt_pf_describe_owners(struct nvt_pf *pf);
uint32_t nvt_pf_process_track(uint32_t process);
uint32_t nvt_pf_thread_track(const struct nvt_pf *pf, uint32_t thread);
uint32_t nvt_pf_stream_track(struct nvt_pf *pf, uint32_t process, uint32_t device, uint32_t stream,
                             const char *what);
uint32_t nvt_pf_async_track(struct nvt_pf *pf, uint32_t thread);
uint32_t nvt_pf_counter_track(struct nvt_pf *pf, uint32_t process, const char *name,
                              const char *unit);
uint32_t nvt_pf_further_track(struct nvt_pf *pf, uint32_t track);

/* Write the packet that was made; it gets the sequence and what was interned for it. */
void nvt_pf_put(struct nvt_pf *pf);

#endif
