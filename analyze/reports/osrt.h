/*
 * What the reports of the operating system's calls have in common.
 */
#ifndef NVT_REPORT_OSRT_H
#define NVT_REPORT_OSRT_H

#include "report.h"

/* The note where the input has no OS calls. */
#define NVT_NO_OS_CALLS "no OS calls (record --trace osrt, nsys profile --trace=osrt) in the input"

/* The note of reports that show more of such calls than a sum. */
#define NVT_OS_CALLS_MISSING                                                                       \
    .is_in = nvt_input_has_os_calls,                                                               \
    .missing = "no OS calls in the input (record --trace osrt, nsys profile --trace=osrt)"

/* The address of a lock as a text, which is written to `text`; NULL where it is not known. */
#define NVT_ADDRESS_TEXT 24
const char *nvt_osrt_address(uint64_t address, char text[NVT_ADDRESS_TEXT]);

#endif
