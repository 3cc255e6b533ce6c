/*
 * Inside the reader of Perfetto's traces: what the perfetto*.c share.
 *
 * Sources: perfetto.dev/docs (protos/perfetto/trace/perfetto_trace.proto, v53: numbers of fields; "Synthetic TrackEvent";
 * src/trace_processor/importers/proto: which track an event is on, clocks, incremental state). What programs write into it:
 * PyTorch's Kineto (libkineto/src/PerfettoTraceBuilder.cpp), rocprofv3 (rocprofiler-sdk, source/lib/output/generatePerfetto.cpp).
 *
 * A slice becomes one of Chrome's complete events (kineto.h), and goes the same way from there: categories are classes, or domains
 * of ranges; tracks of other profilers are lanes (kineto_dialects.h). It is added where it begins, so that rows stay in that order,
 * and gets its end where that comes. A track below a thread's is one of start/end ranges, unless it is called as that thread: each of
 * Kineto's slices has such a track of its own.
 */
#ifndef NVT_PERFETTO_H
#define NVT_PERFETTO_H

#include "kineto.h"
#include "wire.h"

#define NVT_PERFETTO_REALTIME 1
#define NVT_PERFETTO_BOOTTIME 6
/* From here on clocks are of their sequence. */
#define NVT_PERFETTO_OWN_CLOCKS 64

/* What Kineto's annotations tell of the kind of a slice, which has no category there. */
#define NVT_PERFETTO_SAYS_CALL     1u
#define NVT_PERFETTO_SAYS_OPERATOR 2u
#define NVT_PERFETTO_SAYS_PYTHON   4u

/* What is interned: numbers of fields of InternedData. */
enum nvt_perfetto_interned {
    NVT_PI_CATEGORY = 1,
    NVT_PI_NAME = 2,
    NVT_PI_ANNOTATION = 3,
    NVT_PI_GRAPHICS = 23, /* contexts: process and interface */
    NVT_PI_STAGE = 24,    /* queues and stages of a GPU */
    NVT_PI_TEXT = 29,
};

enum nvt_perfetto_track_kind { NVT_PT_NAMED, NVT_PT_PROCESS, NVT_PT_THREAD, NVT_PT_COUNTER };

/* A track, by its uuid. */
struct nvt_perfetto_track {
    uint64_t uuid, parent;
    int has_descriptor, is_resolved;
    enum nvt_perfetto_track_kind kind;
    int64_t pid, tid; /* as they are told, then of the lane */
    uint32_t name;
    int is_async;   /* its slices are start/end ranges */
    uint32_t open;  /* of `open`, the innermost; NVT_NONE */
    uint32_t early; /* the sequence and 1 of an end that came before its beginning; 0: none */
    int64_t early_ns;
    uint64_t lost;                /* ends without a beginning, besides that */
    int has_slices, is_unordered; /* one of its beginnings and ends is before the one before it */
    int64_t last_ns;              /* time of the last of them */
    uint32_t counter;             /* row of the model, NVT_NONE */
    uint32_t unit;
    double scale, sum; /* of a counter's values; of those so far, where they are differences */
    int is_incremental;
};

/* A slice's beginning, which is a row of a table of the model, or an end. */
struct nvt_perfetto_slice {
    int64_t time;
    uint32_t track, sequence; /* rows */
    uint32_t table;           /* enum nvt_table_number; NVT_NONE: none, it was left out */
    uint32_t row;
    uint8_t begins;
    uint8_t is_unclosed; /* of our export: it never ended */
    uint8_t is_ended;    /* its end was found */
};

/* A slice that has begun. `kept`: of `slices` and 1; 0: they are not kept. */
struct nvt_perfetto_open {
    struct nvt_perfetto_slice slice;
    uint32_t kept, outer;
};

/* A clock's moment, and that of the trace's clock. */
struct nvt_perfetto_clock {
    uint32_t id;
    int is_incremental;
    int64_t unit;     /* ns */
    int64_t last;     /* ns: of one whose values are differences */
    int64_t from, to; /* ns */
    int has_moment;
};

/* Packets of one writer. */
struct nvt_perfetto_sequence {
    uint32_t id;
    uint32_t generation; /* of its incremental state; 0: none yet */
    uint64_t default_track;
    int has_default_track;
    uint64_t default_counters[8]; /* tracks of extra_counter_values */
    unsigned default_counter_count;
    uint32_t clock;   /* 0: the trace's */
    int64_t pid, tid; /* of a ThreadDescriptor, as old traces of Chrome have it, */
    int has_thread;
    int64_t reference_ns; /* and what their differences add up to */
    struct nvt_perfetto_clock *clocks;
    uint32_t clock_count;
};

/* What launched something and what was launched, by an arrow. */
struct nvt_perfetto_arrow {
    uint64_t flow;
    uint32_t op;
};

struct nvt_perfetto {
    struct nvt_kineto kineto;
    struct nvt_map sequence_of, track_of; /* id, uuid -> of those below */
    struct nvt_perfetto_sequence *sequences;
    uint32_t sequence_count;
    struct nvt_perfetto_track *tracks;
    uint32_t track_count;
    /* iid -> number; that and generation and kind -> string, or of graphics */
    struct nvt_map iids, interned;
    uint32_t iid_count, generations;
    struct nvt_perfetto_slice *slices; /* beginnings and ends, as they came, where they are kept */
    uint32_t slice_count;
    int keeps_slices, has_unordered; /* has_unordered: those of a track are not in order */
    struct nvt_perfetto_open *open;
    uint32_t open_count, open_free; /* free: the number and 1 */
    struct nvt_perfetto_clock clock[NVT_PERFETTO_OWN_CLOCKS];
    struct nvt_map flows; /* number -> of launches */
    struct nvt_kineto_launch *launches;
    uint32_t launch_count;
    struct nvt_perfetto_arrow *arrows;
    uint32_t arrow_count;
    int has_origin;
    uint32_t process_count; /* that were described; the last one: */
    int64_t last_pid;
    uint64_t packets, dropped, unnamed, damaged, others, without_end, without_begin, early_count;
    uint64_t lost_chunks;
    uint64_t told_times, untold_times; /* on the trace's clock, or one that is known; on others */
    unsigned says;                     /* NVT_PERFETTO_SAYS_…, of the event that is being read */
    int is_inner;                      /* within compressed packets */
};

/* A packet. `time`: on the trace's clock; INT64_MIN: it has none. */
struct nvt_perfetto_packet {
    struct nvt_perfetto_sequence *sequence;
    uint32_t sequence_row;
    int64_t time;
};

/* The string of an id of the packet's sequence; 0 where it is not known, which is counted. NVT_NO_STRING: out of memory. */
uint32_t nvt_perfetto_interned(struct nvt_perfetto *reader,
                               const struct nvt_perfetto_packet *packet,
                               enum nvt_perfetto_interned kind, uint64_t iid);
/* The string of a field that is a text; 0: it is none. NVT_NO_STRING: out of memory. */
static inline uint32_t nvt_perfetto_text(const struct nvt_perfetto *reader,
                                         const struct nvt_wire_field *field)
{
    return field->type == NVT_WIRE_BYTES ? nvt_strings_add(reader->kineto.trace->strings,
                                                           (const char *)field->data, field->size)
                                         : 0;
}

/* What InternedData says. 0, or -1 with err filled. */
int nvt_perfetto_intern(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                        struct nvt_wire data);

/* perfetto_clocks.c: what ClockSnapshot says; a moment of a clock on the trace's: 0, or -1 where that is none. */
int nvt_perfetto_snapshot(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                          struct nvt_wire snapshot);
int nvt_perfetto_moment(struct nvt_perfetto *reader, struct nvt_perfetto_sequence *sequence,
                        uint32_t clock, uint64_t value, int64_t *out);

/* perfetto_tracks.c. The track of a uuid: NULL when out of memory; good until the next one is asked for. */
struct nvt_perfetto_track *nvt_perfetto_track(struct nvt_perfetto *reader, uint64_t uuid);
/* TrackDescriptor, ProcessDescriptor and ThreadDescriptor of old traces, ProcessTree. 0, or -1 with err filled. */
int nvt_perfetto_describe(struct nvt_perfetto *reader, struct nvt_wire descriptor);
int nvt_perfetto_describe_thread(struct nvt_perfetto *reader,
                                 const struct nvt_perfetto_packet *packet, struct nvt_wire thread);
int nvt_perfetto_describe_tree(struct nvt_perfetto *reader, struct nvt_wire tree);
/* Call a process, or a thread of it, by a name. 0, or -1 with err filled. */
int nvt_perfetto_call(struct nvt_perfetto *reader, const char *what, int64_t pid, int64_t tid,
                      uint32_t name);
/* The event's pid and tid become those of the track. 0, or -1 when out of memory. */
int nvt_perfetto_place(struct nvt_perfetto *reader, struct nvt_perfetto_track *track);

/* perfetto_event.c: TrackEvent. 0, or -1 with err filled. */
int nvt_perfetto_event(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       struct nvt_wire event);
/* What is known at the end: of ranges that did not end, and of arrows. 0, or -1 when out of memory. */
int nvt_perfetto_finish_events(struct nvt_perfetto *reader);

/* perfetto_pairs.c: a slice begins or ends. And at the end: pair those of tracks anew whose slices were not in order of time. 0, or -1
 * when out of memory, or where slices would have to be kept and are not (has_unordered). */
int nvt_perfetto_slice(struct nvt_perfetto *reader, const struct nvt_perfetto_slice *slice);
int nvt_perfetto_pair_anew(struct nvt_perfetto *reader);

/* The number of a process or thread; -1: it is below zero, which is none (ids below zero would name strings, as in Chrome's JSON). */
static inline int64_t nvt_perfetto_id(int64_t value)
{
    return value < 0 ? -1 : value;
}

/* perfetto_args.c: DebugAnnotation, of the event that is being read. 0, or -1 with err filled. */
int nvt_perfetto_annotation(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                            struct nvt_wire annotation);
/* An argument of the event that is being read, of XPlanes too: a number is a text. 0, or -1 when out of memory. */
int nvt_perfetto_arg(struct nvt_perfetto *reader, const char *name, size_t length, const char *text,
                     size_t size);
/* The event's category where it has none or one of another profiler: by what Kineto and rocprofv3 say of it. */
int nvt_perfetto_classify(struct nvt_perfetto *reader);

/* perfetto_gpu.c: GpuRenderStageEvent. 0, or -1 with err filled. */
int nvt_perfetto_stage(struct nvt_perfetto *reader, const struct nvt_perfetto_packet *packet,
                       struct nvt_wire event);

#endif
