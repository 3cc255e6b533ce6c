/*
 * Inside the reader of our own format: what nvt.c, nvt_events.c and nvtx_payload.c share.
 * docs/trace-format.md describes what they read.
 */
#ifndef NVT_READ_NVT_H
#define NVT_READ_NVT_H

#include "../../lib/buffer.h"
#include "../../lib/clock.h"
#include "../../lib/cursor.h"
#include "../../lib/trace_file.h"
#include "../model/lanes.h"
#include "../../lib/map.h"
#include "nvt_counters.h"
#include "nvt_deferred.h"
#include "nvt_device.h"
#include "nvt_heaps.h"
#include "nvt_pace.h"
#include "frames.h"
#include "nvt_strings.h"
#include "../../lib/collective_payload.h"
#include "../../lib/counts.h"
struct nvt_mpi_said; /* lib/mpi_payload.h */
#include "../model/layout.h"

/* An open push/pop range of a thread. */
struct nvt_open_range {
    uint32_t row;
    uint32_t domain; /* number in the file */
};

struct nvt_file_thread {
    uint32_t row; /* in the model */
    uint32_t process;
    struct nvt_open_range *open;
    uint32_t depth;
    size_t capacity;
    uint64_t last;      /* ticks of its last event, */
    uint64_t last_call; /* and of the last end of an OS call, or sample */
    uint64_t first;     /* and of its first behind a cut, */
    int has_first;      /* if there is one */
    /* its last OS call that has not ended, if that was its last; else NULL */
    struct nvt_os_call *open_call;
    uint64_t ended; /* when its end was noticed, 0 unknown */
    uint32_t turn;  /* its latest in struct nvt_file_tasks and 1, 0: it has had none */
};

/* Tasks of Python that take turns on a thread: each has a row of threads, as if it were one. */
struct nvt_file_tasks {
    struct nvt_map names;   /* thread of the file << 32 | task -> string of the model */
    struct nvt_map threads; /* threads of the file of which there are such -> 1 */
    /* thread << 32 | task -> lane, for a nameless one while it has ranges open */
    struct nvt_map known;
    struct nvt_file_task_lane {
        struct nvt_file_thread thread;
        uint32_t base; /* thread of the file */
        uint32_t task;
        int is_shared; /* by tasks without names, one at a time */
    } * *lanes;
    uint32_t count;
    int are_too_many;
    /* From an event of a task on to a later one, without one of another task of the thread between. */
    struct nvt_file_turn {
        int64_t from, to; /* ticks, then ns */
        uint32_t base;    /* row of the thread; */
        uint32_t row;     /* and of the task */
    } * turns;
    uint32_t turn_count;
};

struct nvt_file_process {
    uint32_t row;
    uint64_t image;            /* ticks at which its image joined; 0: unknown */
    struct nvt_map domains;    /* number in the file -> row of the model */
    struct nvt_map since;      /* number of a domain -> that of the chunk that defined it */
    struct nvt_map categories; /* model domain << 32 | category -> string */
    struct nvt_map ranges;     /* id of a start/end range -> row */
    struct nvt_map early; /* id of a range whose start has not been read yet -> place in `ends` */
    struct nvt_early_end {
        uint64_t ticks;
        uint32_t thread; /* row */
    } * ends;
    uint32_t end_count;
    struct nvt_map files;    /* id of what calls work with -> string of the model */
    struct nvt_map schemas;  /* schema id -> index in `schemas` */
    struct nvt_map counters; /* a counter, see nvt_file_define_counter -> index in `counters` */
};

/* A definition's bytes in `blobs`. */
struct nvt_blob {
    size_t offset, size;
    int is_enum;
};

/* A chunk that is read when those that it depends on have been. */
struct nvt_file_later {
    struct nvt_chunk header;
    int64_t offset;
    uint32_t number;  /* among all chunks */
    uint32_t strings; /* that came before it */
};

struct nvt_file_laters {
    struct nvt_file_later *items;
    size_t count;
    uint64_t rows; /* of all of them, as their headers have it */
};

/* Times of device rows beyond this (73 years), and axes that start there, are not for lanes. */
#define NVT_LANES_TIME (INT64_C(1) << 61)

/* A trace that is read into lanes (analyze/model/lanes.h). What events fill and what device rows fill is
 * not the same, so that both can be read at once. */
struct nvt_file_lanes {
    struct nvt_lanes *lanes;
    /* Of every thread in the file. */
    struct nvt_file_lane {
        struct nvt_lane_ranges ranges;
        struct nvt_clock_line line; /* for times near the last */
        int unsure;                 /* as in struct nvt_lane */
    } * threads;
    struct nvt_map kinds; /* domain of the model << 32 | name -> kind */
    /* Of every calling thread, as device rows know them. */
    struct nvt_file_calls {
        struct nvt_lane_calls calls;
        uint64_t last;
        int unsure;
    } * callers;
    size_t caller_count;
    int64_t origin; /* of the axis */
    /* There is something that lanes do not hold. */
    int complex_events, complex_rows;
};

/* What was sampled of the machine and of processes, kept until all threads are known: samples are of none of them. */
struct nvt_file_machine {
    struct nvt_file_machine_series {
        uint32_t domain, name, unit, about, gpu; /* strings of the model */
        uint32_t process;                        /* of the model, NVT_NONE: the machine's */
        uint32_t row;                            /* of counters, when complete */
    } * items;
    uint32_t count;
    struct nvt_map places;       /* domain << 32 | name -> place in `items`, of the machine; */
    struct nvt_map of_processes; /* process << 32 | name -> place, of processes */
    struct nvt_file_machine_sample {
        uint64_t ticks;
        double value;
        uint32_t series;
    } * samples;
    size_t sample_count;
};

/* Samples of devices' counters, kept until all threads are known (nvt_metrics.c). */
struct nvt_file_metrics {
    struct nvt_file_metric {
        uint32_t process, device;   /* of the model; of the process */
        int is_of_ranges;           /* counted over ranges (--counters-of) */
        uint32_t name, unit, about; /* strings of the model */
        uint32_t row;               /* of counters, when complete; NVT_NONE: it has no sample */
    } * items;
    uint32_t count;
    struct nvt_map places; /* process << 32 | device << 8 | number -> place in `items` */
    struct nvt_file_metric_sample {
        int64_t end; /* ns of CLOCK_MONOTONIC */
        uint32_t process, device, count;
        uint32_t number; /* of the first metric */
        size_t first;    /* of its values */
    } * samples;
    size_t sample_count;
    double *values;
    size_t value_count;
};

/* What MPI calls say, until their ranges are moved (nvt_mpi.c). */
struct nvt_file_mpi {
    struct nvt_mpi_said *items;
    size_t count;
};

/* What collectives of torch.distributed say, with the rows of their ranges (nvt_collectives.c). */
struct nvt_file_collectives {
    struct nvt_file_collective {
        uint32_t row;
        struct nvt_collective_said said;
    } * items;
    size_t count;
};

/* CPU counts of ranges, in the order of the ranges' rows, until all is read (nvt_counts.c). */
struct nvt_file_counts {
    struct nvt_file_count {
        uint32_t row;       /* of the range */
        uint32_t is_closed; /* `values` are those of the range, else those of its begin */
        uint64_t values[NVT_COUNT_COUNT]; /* UINT64_MAX: unknown */
    } * items;
    size_t count;
};

/* Names of threads, until all threads are known. */
struct nvt_file_thread_names {
    struct nvt_file_thread_name {
        int64_t tid;
        uint64_t time;          /* when it got it, in ticks */
        size_t number;          /* in the file */
        uint32_t process, name; /* of the model */
    } * items;
    size_t count;
};

/* Where threads were in OS calls, until all of these are known. */
struct nvt_file_waits {
    struct nvt_file_wait {
        uint32_t thread, frame; /* of the model; frame: row and 1 */
        int64_t ticks;
    } * items;
    size_t count;
};

struct nvt_file_reader {
    struct nvt_trace *trace;
    struct nvt_file_waits waits;
    struct nvt_file_looks looks;
    struct nvt_file_lanes *lanes; /* NULL: the tables of the trace are filled */
    struct nvt_file_laters events, device_rows;
    struct nvt_strings *texts; /* of payloads, until all is read: `payload` of rows has its ids */
    uint32_t number;           /* of the chunk being read */
    int64_t most;              /* chunks begin below it: the beginning of a file; 0: all */
    struct nvt_file_strings strings;
    struct nvt_file_process *processes;
    uint32_t process_count;
    struct nvt_file_thread *threads;
    uint32_t thread_count;
    struct nvt_clock_sample *samples;
    size_t sample_count;
    struct nvt_buffer blobs; /* schemas, and payloads until all schemas are known */
    struct nvt_blob *schemas;
    uint32_t schema_count;
    /* Payloads to be decoded at the end: which range or mark, and its blob. */
    struct nvt_pending_payload {
        uint32_t row;
        uint32_t process;
        int is_mark;
        struct nvt_blob blob;
    } * payloads;
    size_t payload_count;
    struct nvt_file_counters counters;
    struct nvt_file_heaps heaps;
    uint64_t out_of_time; /* deferred events that were left out */
    struct nvt_file_machine machine;
    struct nvt_file_metrics metrics;
    struct nvt_file_mpi mpi;
    struct nvt_file_collectives collectives;
    struct nvt_file_counts counts;
    struct nvt_frame_tree frames;
    struct nvt_file_thread_names thread_names;
    struct nvt_file_tasks tasks;
    struct nvt_file_devices devices;
    int ended;     /* the END chunk was there */
    uint64_t left; /* ticks of the first end of a thread that lived on, 0: of none */
    int is_cut;    /* what ended before that was cut off: */
    uint64_t cut;  /* ticks */
};

/* Read an events chunk. 0, or -1 with err (what is wrong, without file and offset). nvt_file_device_chunk may run at
 * the same time: the two change different data. */
int nvt_file_events(struct nvt_file_reader *reader, const struct nvt_file_later *later,
                    const uint8_t *payload, struct nvt_error *err);

/* Keep extended payloads of a row of ranges or marks until all schemas are known. 0, or -1 when out of memory. */
int nvt_file_keep_payload(struct nvt_file_reader *reader, uint32_t process, uint32_t row,
                          int is_mark, const uint8_t *bytes, uint64_t size);

/* Take note of a task that a thread of the file has had. 0, or -1 when out of memory. */
int nvt_file_define_task(struct nvt_file_reader *reader, uint64_t thread, uint64_t task,
                         uint32_t name);

/* Whether the events of a thread of the file are told apart by task. */
int nvt_file_has_tasks(const struct nvt_file_reader *reader, uint32_t thread);

/* Where the events of a task of that thread go, 0: of none. It stays where it is. NULL when out of memory. */
struct nvt_file_thread *nvt_file_task(struct nvt_file_reader *reader, uint32_t thread,
                                      uint32_t task);

/* The events of a thread of the file from `from` on are of this task, to be called for each change, and at last for `to`. 0, or -1
 * when out of memory. */
int nvt_file_begin_turn(struct nvt_file_reader *reader, uint32_t thread, uint32_t row,
                        uint64_t from);
void nvt_file_end_turn(struct nvt_file_reader *reader, uint32_t thread, uint64_t to);

/* When all times are those of the trace: calls of CUDA in a task's turn are the task's. */
void nvt_file_take_turns(struct nvt_file_reader *reader);

/* Threads of the file, and behind them the tasks. */
uint32_t nvt_file_thread_count(const struct nvt_file_reader *reader);
struct nvt_file_thread *nvt_file_thread_at(const struct nvt_file_reader *reader, uint32_t i);

/* Note in the trace that there are such. */
void nvt_file_note_tasks(const struct nvt_file_reader *reader);
void nvt_file_tasks_free(struct nvt_file_tasks *tasks);

/* A chunk of samples of the machine. 0, or -1: it is malformed, or there is no memory. */
int nvt_file_read_machine(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                          struct nvt_cursor cursor);

/* Fill the trace's counters with them, whose times start at `origin`. 0, or -1 when out of memory. */
int nvt_file_complete_machine(struct nvt_file_reader *reader, int64_t origin);
/* Fill the trace's counters with samples of devices' counters, whose times start at `origin`. 0, or -1 when out of memory. */
int nvt_file_complete_metrics(struct nvt_file_reader *reader, int64_t origin);
void nvt_file_metrics_free(struct nvt_file_metrics *metrics);
void nvt_file_machine_free(struct nvt_file_machine *machine);

/* A chunk of OS calls, whose times are ticks until all is read. 0, or -1: it is malformed, or there is no memory. */
int nvt_file_read_os(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                     struct nvt_cursor cursor);

/* Behind all chunks, before times are converted: the calls that never ended. 0, or -1 when out of memory. */
int nvt_file_complete_os(struct nvt_file_reader *reader);

/* A chunk of samples of what a thread runs. 0, or -1: it is malformed, or there is no memory. */
int nvt_file_read_cpu(struct nvt_file_reader *reader, const struct nvt_chunk *chunk,
                      struct nvt_cursor cursor);

/* Whether a payload is of a schema of ours, by its name, and so large: then its bytes, else NULL. */
const uint8_t *nvt_file_payload_of(const struct nvt_file_reader *reader,
                                   const struct nvt_pending_payload *pending, const char *schema,
                                   size_t size);

/* Take note of a payload that is a collective's of torch.distributed. 0, or -1 when out of memory. */
int nvt_file_take_collective(struct nvt_file_reader *reader,
                             const struct nvt_pending_payload *pending);

/* When the times of ranges are those of the trace, and before any of them goes: what collectives' threads wait in are calls
 * of the table mpi_calls. 0, or -1 when out of memory. */
int nvt_file_complete_collectives(struct nvt_file_reader *reader);

/* Take the counts of the thread off the payloads of an event, the begin or the end of a range of this row. 0, or -1 when out of
 * memory. */
int nvt_file_take_counts(struct nvt_file_reader *reader, uint32_t row, const uint8_t **payloads,
                         uint64_t *size);

/* When all events are read, in whose ticks ranges still are: fill the trace's range_counts. 0, or -1 when out of memory. */
int nvt_file_complete_counts(struct nvt_file_reader *reader);

/* Whether a payload is a call's of MPI: 1, and it is kept; 0; -1 when out of memory. */
int nvt_file_take_mpi(struct nvt_file_reader *reader, const struct nvt_pending_payload *pending);

/* When the times of ranges are those of the trace: those that are MPI calls become such. 0, or -1 when out of
 * memory. */
int nvt_file_complete_mpi(struct nvt_file_reader *reader);

/* End the last iterations of loops whose end `record --pytorch` has not seen, when times are known. 0, or -1 when out of memory. */
int nvt_file_end_loops(struct nvt_trace *trace);

/* The first chunk that could not be read. */
struct nvt_file_damage {
    uint32_t number; /* NVT_NONE: all were read */
    struct nvt_error err;
    int no_memory; /* it is sound, but there was no room */
};

/* Read the chunks that were left for later, on several threads if there are many. */
void nvt_file_read_later(struct nvt_file_reader *reader, const struct nvt_trace_file *file,
                         struct nvt_file_damage *damage);

/* Whether times of a table's rows are ticks until all is read: what threads do, but for the calls that CUPTI has the times of. */
static inline int nvt_file_has_host_times(const struct nvt_layout_table *table)
{
    return nvt_layout_is_owned_by(table, NVT_TABLE_threads) &&
           table != &nvt_layout()[NVT_TABLE_apis];
}

/* A moment of the file's clock on the trace's axis. The file has a sample of it. */
static inline int64_t nvt_file_time(const struct nvt_file_reader *reader, uint64_t ticks)
{
    return nvt_clock_since(nvt_clock_convert(reader->samples, reader->sample_count, ticks),
                           reader->samples[0].monotonic_ns);
}

/* When all chunks are read: end what is open, give names to categories and texts to payloads, and
 * bring all times on the trace's axis. 0, or -1 when out of memory. */
int nvt_file_complete(struct nvt_file_reader *reader);

/* When all chunks of a trace of launches are read: make its lanes whole. 0; other than that, the file is to be read again. */
int nvt_file_complete_lanes(struct nvt_file_reader *reader);

/* What lanes were filled with, unless it was taken by nvt_file_complete_lanes. */
void nvt_file_lanes_free(struct nvt_file_lanes *lanes, uint32_t threads);

/* The text of a number given with NVTX's payloadType, into out. */
void nvt_payload_number(uint32_t type, uint64_t bits, char *out, size_t size);

/*
 * Append the text of extended payloads: one JSON object, or several joined by blanks. Every value
 * and every byte of a name or text takes one off *left; where nothing is left the text ends, and is
 * no whole object. It has at most 32 bytes for each that was taken off.
 */
void nvt_payload_text(const struct nvt_file_reader *reader, const struct nvt_file_process *process,
                      const struct nvt_blob *blob, uint64_t *left, struct nvt_buffer *out);
#define NVT_PAYLOAD_GRACE 65536 /* of a file with few payloads, */
#define NVT_PAYLOAD_RATIO 16    /* and so much for each byte of payloads and schemas */

#endif
