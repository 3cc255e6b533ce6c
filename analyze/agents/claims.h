/*
 * Claims about traces, and whether they hold: what `nvtally check` reads and the tool of nvtally mcp takes.
 *
 * A claim is a JSON object:
 *
 *     {"claim": "kernel X takes 31 % of iteration 5", "query": "SELECT …", "equals": 31, "tolerance": 1}
 *     {"claim": "the loop is launch-bound", "finding": "launch-bound", "at_least": 40}
 *
 * query      SQL (analyze/sql/sql.h) whose result is one number, that of its first row and column; of what was not recorded,
 *            nothing is claimed: it is unknown
 * finding    in its place: a cause of diagnose; the number is its share in percent
 * equals     what it is, give or take `tolerance` percent of it (default 0.5)
 * at_least, at_most   bounds, both included. Of a finding, none means that it is found
 * id, claim  for who reads the answer
 */
#ifndef NVT_CLAIMS_H
#define NVT_CLAIMS_H

#include "../input/runs.h"
#include "../sql/sql.h"

/* A list that owns its records. Zero-initialise; release with nvt_claims_free. */
struct nvt_claims {
    struct nvt_record *items;
    size_t count;
};

/* Read a file: an array of claims, or one a line. 0, or -1 with err filled: no such file, no JSON, no claim. */
int nvt_claims_read(const char *path, struct nvt_claims *claims, struct nvt_error *err);
void nvt_claims_free(struct nvt_claims *claims);

enum nvt_claim_verdict { NVT_CLAIM_HOLDS, NVT_CLAIM_FAILS, NVT_CLAIM_UNKNOWN };

/* An empty table of claims: NULL when out of memory. */
struct nvt_table *nvt_claims_table(void);

/*
 * Check one, whose members have this before their names ("" or "params.arguments."), and put a row into such a table:
 * the claim, "yes", "no" or "unknown", the number, what was claimed, and why it is unknown. Which of the three it is, or -1
 * with err filled where it is no claim.
 */
int nvt_claim_check(struct nvt_sql *sql, const struct nvt_record *claim, const char *before,
                    const struct nvt_sql_limits *limits, struct nvt_table *table,
                    struct nvt_error *err);

#endif
