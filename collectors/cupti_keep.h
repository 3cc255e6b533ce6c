/*
 * Buffers of CUPTI's activity records as files: what a device has filled, to be decoded on a machine that has none. What
 * the decoder's tests read (tests/cupti/recorded), and what to send along with a report of a fault in it.
 *
 * With NVTALLY_KEEP_BUFFERS=FOLDER, an absolute path, the collector leaves the first NVT_CUPTI_KEPT_MOST buffers of each process
 * there, as cupti-PID-NUMBER.buffer. A file is a struct nvt_cupti_kept, the buffer's bytes as they were, and then the texts that
 * records point at, each as a struct nvt_cupti_kept_text and its bytes, without a 0. Of the machine's byte order.
 */
#ifndef NVT_CUPTI_KEEP_H
#define NVT_CUPTI_KEEP_H

#ifdef HAVE_CUPTI

#include <cupti.h>

#define NVT_CUPTI_KEEP_ENV  "NVTALLY_KEEP_BUFFERS"
#define NVT_CUPTI_KEPT_MOST 32u

struct nvt_cupti_kept {
    char magic[8];    /* NVT_CUPTI_KEPT_MAGIC, without its 0 */
    uint32_t version; /* cuptiGetVersion of the libcupti that filled it */
    uint32_t texts;
    uint64_t size; /* bytes of the buffer */
};
#define NVT_CUPTI_KEPT_MAGIC "NVTCUPT1"

struct nvt_cupti_kept_text {
    uint64_t offset; /* of the pointer to it, in the buffer */
    uint64_t length;
};

/* The cuptiActivityGetNextRecord of the libcupti that filled a buffer. */
typedef CUptiResult nvt_cupti_next(uint8_t *buffer, size_t size, CUpti_Activity **record);

/* Write a filled buffer to the file, which must not be there yet. 0, or -1 with errno, and no file. */
int nvt_cupti_keep(const char *path, uint32_t version, nvt_cupti_next *next, uint8_t *buffer,
                   size_t size);

/* What a process keeps. */
struct nvt_cupti_keeper {
    char *folder; /* NULL: nothing is kept, or no more */
    uint32_t kept;
};

/* As NVTALLY_KEEP_BUFFERS says. */
void nvt_cupti_keeper_init(struct nvt_cupti_keeper *keeper);

/* Keep the buffer, if this process still keeps any. 0, or -1 with errno: it was not written, and no later one will be. */
int nvt_cupti_keeper_take(struct nvt_cupti_keeper *keeper, uint32_t version, nvt_cupti_next *next,
                          uint8_t *buffer, size_t size);

/*
 * A kept buffer, in a piece of memory that the caller frees: its head, which *kept gets too, and behind it the kept->size
 * bytes of the buffer, at a multiple of 8. Its pointers lead to its texts, and those that led elsewhere are NULL. NULL with
 * errno; EINVAL: it is none, or cut.
 */
uint8_t *nvt_cupti_kept_read(const char *path, nvt_cupti_next *next, struct nvt_cupti_kept *kept);

#endif
#endif
