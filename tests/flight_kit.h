/* Dumps of PyTorch's flight recorder that are made up, in the form in which it writes them. */
#ifndef NVT_TESTS_FLIGHT_KIT_H
#define NVT_TESTS_FLIGHT_KIT_H

#include <stdint.h>

/* What PyTorch 2.15 wrote with gloo. */
extern const char *const flight_by_pytorch[];

/* ns: when jobs begin; a second. */
#define BEGIN INT64_C(1700000000000000000)
#define S     INT64_C(1000000000)

enum { RANKS = 16, ENTRIES = 400 };

/* A call of a rank. */
struct entry {
    const char *group, *purpose, *name, *state, *size, *line;
    int64_t sequence, at; /* s behind BEGIN */
    int is_message, is_retired;
};

/* What a job's ranks dump; `groups` is JSON. */
struct job {
    const char *groups[RANKS];
    struct entry entries[RANKS][ENTRIES];
    int counts[RANKS];
    int64_t written; /* s behind BEGIN */
};

extern struct job flight_job;

/* A job without entries, written so long behind its beginning; an entry of a rank. */
void flight_begin(int64_t written);
void flight_put(int rank, struct entry entry);

/* A collective of the group of all. */
void flight_call(int rank, int64_t sequence, const char *state);

/* The dump of a rank as a file of the test's folder: its path. */
const char *flight_write_dump(int rank);

#endif
