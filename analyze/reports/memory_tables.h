/* What the reports of memory events share: a table for each trace that has some. */
#ifndef NVT_MEMORY_TABLES_H
#define NVT_MEMORY_TABLES_H

#include "report.h"

/* Whether a trace has memory events: levels of different processes and times are never added up. */
int nvt_has_memory(const struct nvt_trace *trace);

/* Notes which traces have none. */
void nvt_memory_note_missing(struct nvt_input *input);

/* The tables of a report whose each_trace is about them, and that note: its `make`. */
int nvt_memory_make(const struct nvt_report *report, struct nvt_input *input,
                    struct nvt_tables *tables, struct nvt_error *err);

#endif
