/*
 * record --budget, the recorder's side: the parts that a process has decided on (inject/spending.h) become facts of the trace, and what it
 * came to.
 */
#ifndef NVT_BUDGET_FOLLOW_H
#define NVT_BUDGET_FOLLOW_H

#include "recorder.h"

/* "1%", "0.5%": above 0, at most 50. 0 with the share, or -1 with err. */
int nvt_budget_parse(const char *text, double *share, struct nvt_error *err);

/* Zero-initialise. */
struct nvt_budget_follow {
    uint32_t parts;    /* that are facts */
    uint32_t level;    /* of the last one */
    uint64_t recorded; /* ticks of them */
    int64_t next_look; /* whether the process that decides still lives, CLOCK_MONOTONIC */
};

/* Before any process joins: what the page says. Ticks are known by then. */
void nvt_budget_prepare(struct nvt_recorder *recorder, double share);

/* Take what is new; `ends`: the recording ends, and the last part with it. Facts that find no memory are missing. */
void nvt_budget_look(struct nvt_budget_follow *follow, struct nvt_recorder *recorder, int ends);

/* "recorded 120 of 4000 iterations; recording cost 0.62 % (0.41 % to 0.83 %), by bare iterations alone 0.9 % (-0.2 % to 2 %); from part 3 on
 * without osrt", or that none began. Returns `text`, of NVT_BUDGET_TEXT bytes at least. */
const char *nvt_budget_text(const struct nvt_control *control, char *text, size_t size);

#endif
