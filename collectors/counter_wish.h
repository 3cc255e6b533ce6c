/*
 * Which hardware counters `record --trace counters=NAME,…` counts: those that have names of their own in a trace, and up to four others
 * (lib/counts.h, lib/counter_names.h). "topdown" stands for the four of top-down analysis (lib/topdown.h), with cycles and instructions.
 */
#ifndef NVT_COUNTER_WISH_H
#define NVT_COUNTER_WISH_H

#include "../lib/counter_names.h"
#include "../lib/counts.h"

struct nvt_control;
struct nvt_output;

struct nvt_topdown_set;

/* Begin with zeros. */
struct nvt_counter_wish {
    uint32_t usual; /* bit i: NVT_COUNT_CYCLES + i */
    uint32_t chosen;
    const struct nvt_topdown_set *topdown; /* of which the chosen ones are; NULL: none */
    struct nvt_counter_choice items[NVT_CHOSEN_MOST];
};

/* Add the counter of a name (not ended by a NUL). 0, or -1 with err: there is none of that name, it is there already, or there are too
 * many. */
int nvt_counter_wish_add(struct nvt_counter_wish *wish, const char *name, size_t size,
                         struct nvt_error *err);

/* Tell the session's page. NULL: the usual ones. */
void nvt_counter_wish_put(const struct nvt_counter_wish *wish, struct nvt_control *control);

/* Tell the file the names on the page that a trace has no columns for. 0, or -1 when out of memory. */
int nvt_counter_wish_facts(const struct nvt_control *control, struct nvt_output *output);

#endif
