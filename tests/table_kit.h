/* A table as reports have them, to be filled and written. */
#ifndef NVT_TESTS_TABLE_KIT_H
#define NVT_TESTS_TABLE_KIT_H

#include <stdint.h>

#include "../lib/table.h"

enum { NAME, TOTAL, MEAN, RATIO, STEADY, PID, COLUMNS };

/* A table of the columns NAME to PID, without rows. */
struct nvt_table *table_new(void);

/* A row of it. */
void table_add(struct nvt_table *table, const char *name, int64_t total, double mean);

/* What a format makes of tables, of one (which stays the caller's); owned. */
char *table_render_list(const char *format, const struct nvt_tables *tables);
char *table_render(const char *format, struct nvt_table *table);

#endif
