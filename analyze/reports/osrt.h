/*
 * What the reports of the operating system's calls have in common.
 */
#ifndef NVT_REPORT_OSRT_H
#define NVT_REPORT_OSRT_H

#include "report.h"

/* What they are called, and how they get on record. */
#define NVT_OSRT_CALLS "OS runtime calls (record --trace osrt, nsys profile --trace=osrt)"

/* A note where there are none. */
static inline void nvt_osrt_note_nothing(struct nvt_input *input)
{
    if (!nvt_input_has_os_calls(input))
        nvt_note(input, "note: no OS runtime calls in the input (record --trace osrt, nsys profile "
                        "--trace=osrt)");
}

/* The address of a lock as a text, into a cell; none where it is not known. */
void nvt_osrt_put_address(struct nvt_table *table, size_t row, size_t column, uint64_t address);

#endif
