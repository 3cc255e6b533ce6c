/*
 * Rows about devices, as they travel from the traced process to the trace file and stand in its
 * DEVICE chunks (docs/trace-format.md): kernels, copies, API calls, memory, and what a reader must
 * know about how they were recorded. Both directions; nothing here knows CUPTI.
 *
 * A row is a varint kind, a varint length, and that many bytes of varints, its fields in the order
 * below. A reader skips kinds and trailing fields that it does not know, and takes 0 for those that
 * are not there. Of rows with times (kinds below NVT_DEVICE_TIMED) field 0 is the start, written as
 * the zigzag difference to the start of the timed row before, and field 1 the end, as the zigzag
 * difference to the start. Names are numbers into the batch's own list of names. Numbers are
 * CUPTI's own.
 */
#ifndef NVT_DEVICE_ROWS_H
#define NVT_DEVICE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum nvt_device_kind {
    NVT_DEVICE_KERNEL = 1,
    NVT_DEVICE_MEMCPY,
    NVT_DEVICE_MEMSET,
    NVT_DEVICE_GRAPH, /* a whole graph, where its nodes were not asked for */
    NVT_DEVICE_API,
    NVT_DEVICE_SYNC,
    NVT_DEVICE_MEMORY,
    NVT_DEVICE_POOL,
    NVT_DEVICE_OVERHEAD,
    NVT_DEVICE_UM,         /* managed memory other than migrations: faults, thrashing … */
    NVT_DEVICE_SAMPLE,     /* what counters of a device were over an interval */
    NVT_DEVICE_COUNTED,    /* what counters of a device were over a range, exactly */
    NVT_DEVICE_TIMED = 32, /* from here on rows have no times */
    NVT_DEVICE_EXTERNAL = 32,
    NVT_DEVICE_DEVICE,
    NVT_DEVICE_CONTEXT,
    NVT_DEVICE_STREAM,
    NVT_DEVICE_NAME,
    NVT_DEVICE_CLOCK,     /* the same moment on CUPTI's clock and on CLOCK_MONOTONIC */
    NVT_DEVICE_LOST,      /* records that are missing */
    NVT_DEVICE_DELIVERED, /* whatever had been complete before that moment is in the file */
    NVT_DEVICE_CAPTURE,   /* capturing begins or ends at the chunk's time */
    NVT_DEVICE_PROBLEM,   /* something that could not be recorded, in words */
    NVT_DEVICE_EVENT,     /* a call that recorded an event on a stream */
    NVT_DEVICE_METRIC,    /* which counter a value of NVT_DEVICE_SAMPLE is of */
};

/* Fields by kind. START and END of every timed row, CORRELATION of most. */
enum { NVT_ROW_START, NVT_ROW_END, NVT_ROW_CORRELATION };
/* Kernels, copies, memsets, graphs. */
enum {
    NVT_OP_NAME = 3, /* of a kernel, as the compiler mangled it */
    NVT_OP_DEVICE,
    NVT_OP_CONTEXT,
    NVT_OP_STREAM,
    NVT_OP_GRAPH,
    NVT_OP_NODE,
    NVT_OP_FIELDS
};
enum {
    NVT_KERNEL_GRID = NVT_OP_FIELDS, /* x, y, z */
    NVT_KERNEL_BLOCK = NVT_KERNEL_GRID + 3,
    NVT_KERNEL_REGISTERS = NVT_KERNEL_BLOCK + 3,
    NVT_KERNEL_STATIC_SHARED,
    NVT_KERNEL_DYNAMIC_SHARED,
    NVT_KERNEL_LOCAL, /* bytes in all */
    NVT_KERNEL_FIELDS
};
enum {
    NVT_COPY_BYTES = NVT_OP_FIELDS,
    NVT_COPY_KIND,   /* CUpti_ActivityMemcpyKind */
    NVT_COPY_SOURCE, /* CUpti_ActivityMemoryKind */
    NVT_COPY_TARGET,
    NVT_COPY_SOURCE_DEVICE, /* of copies between devices */
    NVT_COPY_TARGET_DEVICE,
    NVT_COPY_FIELDS,
    /* Of pages of managed memory that move: */
    NVT_COPY_ADDRESS = NVT_COPY_FIELDS, /* of the first */
    NVT_COPY_CAUSE,                     /* CUpti_ActivityUnifiedMemoryMigrationCause */
    NVT_MIGRATION_FIELDS
};
enum {
    NVT_SET_BYTES = NVT_OP_FIELDS,
    NVT_SET_VALUE,
    NVT_SET_KIND, /* CUpti_ActivityMemoryKind */
    NVT_SET_FIELDS
};
enum {
    NVT_CALL_CLASS = 3, /* enum nvt_device_call */
    NVT_CALL_NAME,
    NVT_CALL_THREAD, /* tid */
    NVT_CALL_RESULT,
    NVT_CALL_FIELDS
};
enum nvt_device_call { NVT_CALL_RUNTIME, NVT_CALL_DRIVER };
enum {
    NVT_WAIT_TYPE = 3, /* CUpti_ActivitySynchronizationType */
    NVT_WAIT_CONTEXT,
    NVT_WAIT_STREAM,
    NVT_WAIT_EVENT,
    NVT_WAIT_FIELDS
};
/* Of memory and of pools; START is when. */
enum {
    NVT_MEM_OPERATION = 3, /* CUpti_ActivityMemoryOperationType, …PoolOperationType of a pool */
    NVT_MEM_DEVICE,
    NVT_MEM_ADDRESS,
    NVT_MEM_BYTES,
    NVT_MEM_POOL,      /* address of the pool, 0 none */
    NVT_MEM_POOL_SIZE, /* bytes that the pool holds after it */
    NVT_MEM_POOL_USED, /* bytes of it in use after it */
    NVT_MEM_KIND,      /* CUpti_ActivityMemoryKind */
    NVT_MEM_NAME,      /* of the variable or the allocator */
    NVT_MEM_CONTEXT,
    NVT_MEM_STREAM,
    NVT_MEM_FIELDS
};
enum {
    NVT_COST_KIND = 3, /* CUpti_ActivityOverheadKind */
    NVT_COST_THREAD,   /* tid, 0 unknown */
    NVT_COST_FIELDS
};
/* Of managed memory. Where only a moment is known, END is START. */
enum {
    NVT_UM_KIND = 3, /* CUpti_ActivityUnifiedMemoryCounterKind, of those that move nothing */
    NVT_UM_DEVICE, /* that faults, waits or maps; UINT32_MAX the host; thrashing: as CUPTI's srcId */
    NVT_UM_TARGET, /* whose memory it maps; UINT32_MAX the host, and of all others */
    NVT_UM_ADDRESS,
    NVT_UM_VALUE, /* bytes; of a fault on a device how many, of one on the host the instruction */
    NVT_UM_FLAGS, /* CUpti_ActivityUnifiedMemoryAccessType, …RemoteMapCause of a map */
    NVT_UM_FIELDS
};
/* Of a device, whose metrics come in the order of their numbers: each the bits of a float. */
enum { NVT_SAMPLE_DEVICE = 2, NVT_SAMPLE_VALUES, NVT_SAMPLE_MOST = 16 /* values */ };
/* The same over a range, each the bits of a double. */
enum { NVT_COUNTED_VALUES = NVT_SAMPLE_VALUES };
enum { NVT_EXT_CORRELATION, NVT_EXT_KIND, NVT_EXT_ID, NVT_EXT_FIELDS };
enum {
    NVT_DEV_ID,
    NVT_DEV_NAME,
    NVT_DEV_MEMORY, /* bytes */
    NVT_DEV_MULTIPROCESSORS,
    NVT_DEV_MAJOR, /* compute capability */
    NVT_DEV_MINOR,
    NVT_DEV_GPU, /* name: "GPU-…" or "MIG-…", its UUID; "" unknown */
    NVT_DEV_FIELDS
};
enum { NVT_CTX_ID, NVT_CTX_DEVICE, NVT_CTX_NULL_STREAM, NVT_CTX_FIELDS };
enum { NVT_STREAM_CONTEXT, NVT_STREAM_ID, NVT_STREAM_FLAG, NVT_STREAM_PRIORITY, NVT_STREAM_FIELDS };
enum {
    NVT_NAME_TYPE,
    NVT_NAME_ID,
    NVT_NAME_TEXT,
    NVT_NAME_FIELDS
}; /* type: CUpti_ActivityObjectKind */
enum { NVT_CLOCK_CUPTI, NVT_CLOCK_MONOTONIC_NS, NVT_CLOCK_FIELDS };
enum {
    NVT_LOST_CUPTI,   /* CUPTI had no room */
    NVT_LOST_RING,    /* at a full ring: of traces before these were counted as events are */
    NVT_LOST_UNKNOWN, /* of kinds that are not decoded */
    NVT_LOST_FIELDS
};
enum {
    NVT_DELIVERED_FINAL,    /* 1: the process ended, and this was all */
    NVT_DELIVERED_UNTIL_NS, /* the moment, of CLOCK_MONOTONIC; 0: the chunk's time */
    NVT_DELIVERED_FIELDS
};
enum { NVT_CAPTURE_BEGIN, NVT_CAPTURE_FIELDS }; /* 1: begins, 0: ends */
enum { NVT_PROBLEM_TEXT, NVT_PROBLEM_FIELDS };
enum { NVT_EVENT_CORRELATION, NVT_EVENT_CONTEXT, NVT_EVENT_STREAM, NVT_EVENT_ID, NVT_EVENT_FIELDS };

enum {
    NVT_METRIC_DEVICE,
    NVT_METRIC_NUMBER, /* from 0; of ranges from NVT_METRIC_OF_RANGES */
    NVT_METRIC_NAME,   /* as reports have it */
    NVT_METRIC_UNIT,
    NVT_METRIC_ABOUT, /* as CUPTI has it */
    NVT_METRIC_INTERVAL_NS,
    NVT_METRIC_FIELDS
};
enum { NVT_METRIC_OF_RANGES = NVT_SAMPLE_MOST };

#define NVT_DEVICE_FIELDS_MAX 24

struct nvt_device_row {
    uint32_t kind;  /* enum nvt_device_kind, or one that is not known here */
    uint32_t count; /* fields that were there; the others are 0 */
    uint64_t fields[NVT_DEVICE_FIELDS_MAX];
};

/* --- writing --- */

/* Names found again by their address; what does not fit is written twice. */
#define NVT_DEVICE_NAMES 256u

/*
 * Rows in the making, in memory that the caller owns (nothing is allocated here: it is used inside
 * traced programs). Names grow from the front of `data`, rows from its middle.
 */
struct nvt_device_batch {
    uint8_t *data;
    size_t capacity;
    size_t names_size, rows_size;
    uint32_t names, rows;
    uint32_t records; /* rows with times: what a device or the host did */
    uint64_t last_start;
    struct {
        const char *text; /* the caller's */
        uint32_t number;
        uint32_t offset, length; /* of its copy in `data` */
    } known[NVT_DEVICE_NAMES];
};

/* An empty batch in this memory, of at least 4096 bytes. */
void nvt_device_batch_init(struct nvt_device_batch *batch, void *memory, size_t capacity);
void nvt_device_batch_clear(struct nvt_device_batch *batch);

/* The number of a name, NULL being the empty one; cut to a quarter of the batch. UINT32_MAX: the
 * batch is full. */
uint32_t nvt_device_batch_name(struct nvt_device_batch *batch, const char *text);

/* Append a row with its first `count` fields. 0, or -1: the batch is full (and unchanged). */
int nvt_device_batch_add(struct nvt_device_batch *batch, uint32_t kind, const uint64_t *fields,
                         uint32_t count);

/* The two pieces that make the batch's bytes, names and rows; what nvt_device_reader reads. */
const uint8_t *nvt_device_batch_names(const struct nvt_device_batch *batch, size_t *size);
const uint8_t *nvt_device_batch_rows(const struct nvt_device_batch *batch, size_t *size);

/* --- reading --- */

struct nvt_device_reader {
    const uint8_t *at, *end;
    uint64_t last_start;
};

/* The next row: 1, 0 behind the last, -1 where the bytes are no rows. */
int nvt_device_reader_next(struct nvt_device_reader *reader, struct nvt_device_row *row);

#endif
