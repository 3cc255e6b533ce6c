/*
 * The trace file `.nvt` as chunks: writing, and reading back whole ones. docs/trace-format.md has
 * the format byte by byte; what is inside a chunk is the business of collectors/ (which fills
 * them) and analyze/readers/nvt*.c (which reads them).
 */
#ifndef NVT_TRACE_FILE_H
#define NVT_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "error.h"

#define NVT_FILE_MAGIC    "\x89NVT\r\n\x1a\n" /* 8 bytes: shows text-mode damage at once */
#define NVT_FILE_VERSION  1u                  /* a recording */
#define NVT_FILE_TABLES   2u          /* the tables of a trace that was read, `export --to nvt` */
#define NVT_FILE_HEADER   16          /* magic, version, zero */
#define NVT_CHUNK_MAGIC   0x4b4e4843u /* "CHNK" */
#define NVT_CHUNK_HEADER  64
#define NVT_CHUNK_MAX     (16u << 20) /* bytes of a chunk before compression, at most */
#define NVT_CHUNK_ZSTD    1u          /* flag: the stored bytes are one zstd frame */
#define NVT_CHUNK_CARRIED 2u /* flag: what was left of chunks that were cut off the front */
/* A file unpacks to at most so many times its size (recorded loops with nothing in them: 20 to 30
 * times), and this much more: against files made to fill memory. */
#define NVT_FILE_RATIO 200
#define NVT_FILE_GRACE (4u << 20)
#define NVT_NO_INDEX   UINT32_MAX /* a chunk that belongs to no process or thread */

/* What handles that programs name are of. */
enum nvt_resource_type {
    NVT_RESOURCE_DEVICE = 1,
    NVT_RESOURCE_CONTEXT,
    NVT_RESOURCE_STREAM,
    NVT_RESOURCE_EVENT,
    NVT_RESOURCE_OPENCL,
    NVT_RESOURCE_OTHER,
};

enum nvt_chunk_kind {
    NVT_CHUNK_STRINGS = 1,
    NVT_CHUNK_META,
    NVT_CHUNK_CLOCK,
    NVT_CHUNK_PROCESS,
    NVT_CHUNK_THREAD,
    NVT_CHUNK_DEFINITIONS,
    NVT_CHUNK_EVENTS,
    NVT_CHUNK_THREAD_END,
    NVT_CHUNK_DEVICE, /* decoded CUPTI records, one after the other (device_rows.h) */
    NVT_CHUNK_END,
    NVT_CHUNK_DEVICE_COLUMNS, /* decoded CUPTI records as columns (device_columns.h) */
    NVT_CHUNK_CUT,            /* what ended before `first` was cut off, as it was too old */
    NVT_CHUNK_MACHINE,        /* the state of the machine over time (machine_quantities.h) */
    NVT_CHUNK_TABLES,         /* which tables and columns there are */
    NVT_CHUNK_ROWS,           /* some rows of one */
    NVT_CHUNK_OS_CALLS,       /* OS calls of one thread */
    NVT_CHUNK_CPU_SAMPLES,    /* samples of what one thread runs */
    NVT_CHUNK_PACE,           /* how fast a process was before the front was cut off */
    NVT_CHUNK_LOOK,           /* what the threads of a process were in at one moment */
};

/* A chunk's header, in the machine's order. */
struct nvt_chunk {
    uint16_t kind;
    uint16_t flags;
    uint32_t process; /* index, or NVT_NO_INDEX */
    uint32_t thread;  /* index, or NVT_NO_INDEX */
    uint32_t count;   /* rows */
    uint64_t first;   /* ticks of the first and last row, 0 where rows have no time */
    uint64_t last;
    uint32_t raw_size;
    uint32_t stored_size;
};

/* Column numbers inside a chunk: (id, size in bytes) as varints, then the bytes. Readers skip
 * columns they do not know. */
enum nvt_event_column {
    NVT_COLUMN_TOKENS = 1,
    NVT_COLUMN_TIMES,
    NVT_COLUMN_DOMAINS,
    NVT_COLUMN_ATTRIBUTES,
    NVT_COLUMN_RANGE_IDS,
    NVT_COLUMN_SAMPLES,
    NVT_COLUMN_TASKS,
};

/* A token is kind in the low three bits, the name's string id above them. */
enum nvt_token {
    NVT_TOKEN_PUSH = 0,
    NVT_TOKEN_POP = 1,
    NVT_TOKEN_MARK = 2,
    NVT_TOKEN_START = 3,
    NVT_TOKEN_END = 4,
};

/* What the attributes of an event have, in this order. */
enum nvt_attribute_flags {
    NVT_ATTRIBUTE_COLOR = 1,
    NVT_ATTRIBUTE_CATEGORY = 2,
    NVT_ATTRIBUTE_PAYLOAD = 4, /* a number of type payload_type */
    NVT_ATTRIBUTE_SCHEMA = 8,  /* extended payloads follow */
};

/* Rows of a definitions chunk. */
enum nvt_definition {
    NVT_DEFINITION_DOMAIN = 1,
    NVT_DEFINITION_CATEGORY,
    NVT_DEFINITION_THREAD,
    NVT_DEFINITION_RESOURCE, /* value: enum nvt_resource_type of collectors/ring.h */
    NVT_DEFINITION_SCHEMA,
    NVT_DEFINITION_ENUM,
    NVT_DEFINITION_COUNTER,
    NVT_DEFINITION_FILE, /* what OS calls operate on */
    NVT_DEFINITION_TASK, /* of Python; value: index of its thread, the tasks of which interleave */
};

/* Fields of a row of OS_CALLS, of variable length each. */
enum nvt_os_field {
    NVT_OS_ROW_NAME,  /* string */
    NVT_OS_ROW_START, /* ticks, zigzag of the difference to the row before; the first: to `first` */
    NVT_OS_ROW_LENGTH,  /* ticks */
    NVT_OS_ROW_FLAGS,   /* 1: it has not ended */
    NVT_OS_ROW_RESULT,  /* zigzag */
    NVT_OS_ROW_FILE,    /* id, 0 none */
    NVT_OS_ROW_ADDRESS, /* zigzag of the difference to the row before */
    NVT_OS_ROW_BYTES,
    NVT_OS_ROW_CALLER, /* id of a file: the library or program that called, 0 unknown */
    NVT_OS_ROW_HOLDER, /* tid of who held the lock, 0 unknown */
    NVT_OS_ROW_FIELDS
};

/* Fields of a frame and of a row of CPU_SAMPLES, a varint each. */
enum nvt_cpu_frame_field {
    NVT_CPU_FRAME_PARENT, /* number of the caller's frame in the chunk, from 1; 0 none; a lower one */
    NVT_CPU_FRAME_NAME,   /* string */
    NVT_CPU_FRAME_MODULE, /* string */
    NVT_CPU_FRAME_FIELDS
};
enum nvt_cpu_row_field {
    NVT_CPU_ROW_TIME,  /* ticks since the row before, the first: since `first` */
    NVT_CPU_ROW_CPU,   /* ns of CPU time */
    NVT_CPU_ROW_FRAME, /* number of the innermost function's, 0 unknown */
    NVT_CPU_ROW_FLAGS, /* enum nvt_cpu_row_flags */
    NVT_CPU_ROW_FIELDS
};
enum nvt_cpu_row_flags {
    NVT_CPU_ROW_ALONE = 1, /* its callers are unknown */
    /* it is no sample, but where the thread is in the call of OS_CALLS at that time */
    NVT_CPU_ROW_WAITS = 2,
    NVT_CPU_ROW_PYTHON = 4, /* times this: enum nvt_python_state, in four bits */
};

/* What the time that a program gives with a sample of a counter is. */
enum nvt_sample_clock {
    NVT_SAMPLE_EVENT,     /* there is none: the sample was taken when it was recorded */
    NVT_SAMPLE_TICKS,     /* as those of events */
    NVT_SAMPLE_MONOTONIC, /* ns of CLOCK_MONOTONIC */
    NVT_SAMPLE_REALTIME,  /* ns of CLOCK_REALTIME */
};

/* Payload type of a sample that has no value; the payload is NVTX's reason (NVTX_COUNTER_SAMPLE_…). */
#define NVT_SAMPLE_NO_VALUE 255u

/*
 * Numbers in place of a counter's that say that the mark is something else. No program gets one.
 * OF_HEAP: what NVTX's memory extension says (lib/heap_payload.h).
 * OF_RANGE: a range that the program hands over when it is past. The time is that of its start, the payload, a number, that of
 * its end on the same clock; OF_MARK: a mark of such a time.
 */
#define NVT_SAMPLE_OF_HEAP  (UINT64_MAX - 1)
#define NVT_SAMPLE_OF_RANGE (UINT64_MAX - 2)
#define NVT_SAMPLE_OF_MARK  (UINT64_MAX - 3)
#define NVT_SAMPLE_COUNTERS (UINT64_MAX - 255) /* numbers of counters are below */

/* --- writing ---------------------------------------------------------------------------------- */

struct nvt_trace_writer;

/* What the message says of a file that somebody else is writing. */
#define NVT_WRITTEN_BY_ANOTHER "is being written by another recorder"

/* Create the file, or cut an existing one, and write its header. NULL with err: it cannot be created; or an existing
 * regular file does not begin like a trace or is open in another writer; it is left unchanged. `level` is zstd's
 * compression level, 0 stores chunks as they are. */
struct nvt_trace_writer *nvt_trace_writer_new(const char *path, int level, struct nvt_error *err);

/* Create a file of tables (NVT_FILE_TABLES), or cut an existing one, as nvt_trace_writer_new does a trace. */
struct nvt_trace_writer *nvt_trace_writer_new_tables(const char *path, int level,
                                                     struct nvt_error *err);

/*
 * nvt_trace_writer_open creates a writer that leaves an existing file unchanged and keeps chunks in memory until
 * nvt_trace_writer_begin, for callers that may end up with nothing to write. nvt_trace_writer_begin: 0, or -1 with err;
 * each later chunk then tries again. nvt_trace_writer_discard, instead of nvt_trace_writer_close, restores the former
 * state if nothing has begun: a file that did not exist before is removed.
 */
struct nvt_trace_writer *nvt_trace_writer_open(const char *path, int level, struct nvt_error *err);
int nvt_trace_writer_begin(struct nvt_trace_writer *writer, struct nvt_error *err);
void nvt_trace_writer_discard(struct nvt_trace_writer *writer);

/*
 * Call before nvt_trace_writer_begin: keeps an existing trace (links are followed) under another name instead of
 * overwriting it: "x.old.nvt" next to "x.nvt", replacing a file of that name. 0, also where there is no trace; -1 with
 * err if it cannot be kept, and the writer is to be discarded. nvt_trace_writer_kept: the name that it got, NULL if
 * nothing was kept.
 */
int nvt_trace_writer_keep(struct nvt_trace_writer *writer, struct nvt_error *err);
const char *nvt_trace_writer_kept(const struct nvt_trace_writer *writer);

/*
 * Append a chunk with this header (sizes and flags are filled in) and payload. 0, or -1 when it
 * could not be written: the file then still ends with the last whole chunk, and a later chunk may
 * be tried (the disk may have room again).
 */
int nvt_trace_writer_chunk(struct nvt_trace_writer *writer, const struct nvt_chunk *chunk,
                           const void *payload, size_t size, struct nvt_error *err);

/*
 * Append a chunk of another file without unpacking it: its header and the stored bytes (nvt_trace_file_stored). 0; 1:
 * readers would take it for a decompression bomb in this file, so use nvt_trace_writer_chunk instead; -1 with err where
 * it could not be written.
 */
int nvt_trace_writer_copy(struct nvt_trace_writer *writer, const struct nvt_chunk *chunk,
                          const struct nvt_buffer *stored, struct nvt_error *err);

/*
 * The file that `fresh` writes takes the place of the writer's: it gets its name, and the writer goes on
 * behind what is in it. Whoever has the old one open keeps it. 0 and `fresh` is freed; -1 with err:
 * nothing has changed.
 */
int nvt_trace_writer_replace(struct nvt_trace_writer *writer, struct nvt_trace_writer *fresh,
                             struct nvt_error *err);

/* Whether it is a regular file that has a name; and whether what was written is in it by now. */
int nvt_trace_writer_is_file(const struct nvt_trace_writer *writer);
int nvt_trace_writer_has_begun(const struct nvt_trace_writer *writer);

/* The file's name, as it was given. */
const char *nvt_trace_writer_path(const struct nvt_trace_writer *writer);

/* Bytes in the file so far. */
uint64_t nvt_trace_writer_size(const struct nvt_trace_writer *writer);

/* Close the file. 0, or -1 with err. The writer is freed in any case. */
int nvt_trace_writer_close(struct nvt_trace_writer *writer, struct nvt_error *err);

/* --- reading ---------------------------------------------------------------------------------- */

struct nvt_trace_file;

/* Open a recording, or a file of tables, and check its header. NULL with err: cannot be opened, no trace, or of another
 * version. */
struct nvt_trace_file *nvt_trace_file_open(const char *path, struct nvt_error *err);
struct nvt_trace_file *nvt_trace_file_open_tables(const char *path, struct nvt_error *err);
void nvt_trace_file_close(struct nvt_trace_file *file);

/* Whether a writer has the file open. 0 for a copy of such a file, and on file systems without locks. */
int nvt_trace_file_is_written(const struct nvt_trace_file *file);

/*
 * The next chunk: 1 with *chunk and *payload (chunk->raw_size bytes, the file's own, good until the
 * next call); 0 at the file's end; -1 with err where a chunk is cut or damaged (everything before
 * it was whole, or the file unpacks to more than NVT_FILE_RATIO times its size), or out of memory.
 * Allocates no more than the file has bytes for, or NVT_CHUNK_MAX.
 */
int nvt_trace_file_next(struct nvt_trace_file *file, struct nvt_chunk *chunk,
                        const uint8_t **payload, struct nvt_error *err);

/* Where the next chunk starts, in bytes. */
int64_t nvt_trace_file_offset(const struct nvt_trace_file *file);

/* Back to the first chunk. */
void nvt_trace_file_rewind(struct nvt_trace_file *file);

/* Bytes of the file when it was opened, or grew. */
int64_t nvt_trace_file_size(const struct nvt_trace_file *file);

/* So many bytes are in the file by now, or shall be read of it: until then what a recorder appends is not read. */
void nvt_trace_file_grow(struct nvt_trace_file *file, int64_t size);

/*
 * Read a chunk in two steps, so that chunks can be unpacked by several threads. The header of the next
 * chunk, which stays the next: 1; 0 at the file's end; -1 with err where it is cut or damaged. The chunk
 * lies in the file as a whole, but nothing of it has been checked except its sizes.
 */
int nvt_trace_file_header(const struct nvt_trace_file *file, struct nvt_chunk *chunk,
                          struct nvt_error *err);

/* Go on to the chunk behind this one. */
void nvt_trace_file_skip(struct nvt_trace_file *file, const struct nvt_chunk *chunk);

/* What a thread needs to read chunks. Zero-initialise; release with nvt_chunk_memory_free. */
struct nvt_chunk_memory {
    struct nvt_buffer stored, raw;
    void *unpacker;
};

void nvt_chunk_memory_free(struct nvt_chunk_memory *memory);

/* Read and check the chunk whose header was at `offset`, and leave it in memory->stored, header first,
 * as the file has it. 0, or -1 with err. */
int nvt_trace_file_stored(const struct nvt_trace_file *file, int64_t offset,
                          const struct nvt_chunk *chunk, struct nvt_chunk_memory *memory,
                          struct nvt_error *err);

/* Read, check and unpack the chunk whose header was at `offset`. *payload is in `memory`. 0, or -1
 * with err. Several threads may do this with a file at once, each with memory of its own. */
int nvt_trace_file_load(const struct nvt_trace_file *file, int64_t offset,
                        const struct nvt_chunk *chunk, struct nvt_chunk_memory *memory,
                        const uint8_t **payload, struct nvt_error *err);

#endif
