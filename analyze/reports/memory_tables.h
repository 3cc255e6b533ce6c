/* What the reports of memory events share: a table for each trace that has some. */
#ifndef NVT_MEMORY_TABLES_H
#define NVT_MEMORY_TABLES_H

#include "report.h"

/* Fill the table of a trace. 0, or -1 with err. */
typedef int nvt_memory_fill(struct nvt_table *table, const struct nvt_input *input,
                            const struct nvt_trace *trace, struct nvt_error *err);

/*
 * Append a table with this title for each trace, of several and of a run those that have memory events: levels of different
 * processes and times are never added up. A note says which have none, but for `is_of_runs`, where runs are there: they
 * have peaks of their own. 0, or -1 with err.
 */
int nvt_memory_tables(const struct nvt_report *report, const char *title, nvt_memory_fill *fill,
                      int is_of_runs, struct nvt_input *input, struct nvt_tables *tables,
                      struct nvt_error *err);

#endif
