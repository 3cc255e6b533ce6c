/*
 * Inside of the reader of our own format: marks that are samples of no counter. Ranges and marks that a program handed over when
 * they were past (collectors/inject/nvtx_deferred.h) become such here: their times are turned into ticks, as those of all ranges are until all
 * is read. What is said of heaps is kept (nvt_heaps.h).
 */
#ifndef NVT_READ_NVT_DEFERRED_H
#define NVT_READ_NVT_DEFERRED_H

#include <stddef.h>
#include <stdint.h>

struct nvt_event_attributes;
struct nvt_event_sample;
struct nvt_file_reader;

/* What was said of no counter, and by whom. */
struct nvt_file_said {
    const struct nvt_event_sample *sample;
    const struct nvt_event_attributes *attributes;
    uint64_t ticks;                /* when it was handed over */
    uint32_t process;              /* in the file */
    uint32_t thread, domain, name; /* in the model */
};

/* A deferred event whose time is outside of the recording, or unknown, is counted and left out. 0, or -1 when out of memory. */
int nvt_file_take_said(struct nvt_file_reader *reader, const struct nvt_file_said *said);

/* When all is read: note in the trace how many were left out. */
void nvt_file_note_deferred(const struct nvt_file_reader *reader);

#endif
