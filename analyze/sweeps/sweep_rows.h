/*
 * The rows of a trace that a sweep counts: ranges, calls and device operations, read alike.
 */
#ifndef NVT_SWEEP_ROWS_H
#define NVT_SWEEP_ROWS_H

#include "sweeps.h"

/* What it is called, when it was launched or entered, whose it is, and its own time. */
struct nvt_sweep_row {
    uint32_t name, domain, thread, process;
    int64_t moment, start, end;
};

/* How many rows a trace has of a kind. */
uint32_t nvt_sweep_row_count(const struct nvt_trace *trace, enum nvt_sweep_kind kind);
/* Read row `i`. Whether it counts: ranges that were cut do not, nor operations whose launch was not recorded. */
int nvt_sweep_row_read(const struct nvt_trace *trace, enum nvt_sweep_kind kind, uint32_t i,
                       struct nvt_sweep_row *row);

/* The name of an item behind its domain's. */
const char *nvt_sweep_bare_name(const struct nvt_sweep_item *item);
/* The trace's id of that, NVT_NO_STRING: it has none. */
uint32_t nvt_sweep_find_name(const struct nvt_sweep_item *item, const struct nvt_trace *trace);
/* Whether a row of the item's kind is one of it. `name`: what nvt_sweep_find_name says. */
int nvt_sweep_row_is_of(const struct nvt_sweep_item *item, const struct nvt_trace *trace,
                        uint32_t name, const struct nvt_sweep_row *row);

#endif
