/* Traces that are random in every column, and written as tables. */
#ifndef NVT_TESTS_TABLES_KIT_H
#define NVT_TESTS_TABLES_KIT_H

#include <stdint.h>

#include "../analyze/model/layout.h"

/* An error that nothing has filled yet. */
extern const struct nvt_error tables_no_error;

/* A number below another one, at random. */
uint64_t tables_below(uint64_t count);

/* Set a value of a column. */
void tables_set_value(const struct nvt_trace *trace, const struct nvt_layout_table *table,
                      uint32_t column, uint32_t row, uint64_t value);

/* A trace with something in every column, finished; the caller owns it. */
struct nvt_trace *tables_random_trace(uint32_t rows_most);

/* A trace as tables, in a file. */
void tables_write_trace(const struct nvt_trace *trace, const char *path);

#endif
