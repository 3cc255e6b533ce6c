/*
 * What agents may ask of traces: tools with arguments by name. Answers are the format facts (lib/formats/facts.c). Traces
 * stay open between calls; each has a name, "t1", which tools take as `trace` (default: the one opened last).
 */
#ifndef NVT_TOOLS_H
#define NVT_TOOLS_H

#include "../input/input.h"
#include "../sql/sql.h"

#define NVT_TOOL_ARGUMENTS 6

struct nvt_argument {
    const char *name, *about;
    int is_needed;
    int is_number;
};

/* A trace or directory that is open, or a window of one. */
struct nvt_opened {
    char name[16];
    char *path, *range, *time, *iteration;
    struct nvt_window window;
    struct nvt_input input;
    size_t opening; /* bytes of its notes that are from opening it: they concern every answer */
    struct nvt_sql *sql; /* NULL: not asked for yet */
};

/* Zero-initialise; release with nvt_agent_free. */
struct nvt_agent {
    struct nvt_opened **opened;
    size_t count;
};

void nvt_agent_free(struct nvt_agent *agent);

/* An answer being made. */
struct nvt_answer {
    struct nvt_tables tables;
    char *text;                        /* malloc'ed, or NULL */
    const char *cannot;                /* why there is no answer, whatever tables say; NULL */
    struct nvt_opened *of;             /* NULL: of none */
    size_t notes_from;                 /* of its notes, those from here on are this answer's, too */
    const struct nvt_opened *sides[2]; /* that are compared, of which `of` is none; NULL */
    struct nvt_buffer notes;           /* lines that are of neither's notes */
};

/* Arguments of a call: members of a record whose names begin so. */
struct nvt_arguments {
    const struct nvt_record *record;
    const char *before; /* "params.arguments." */
};

struct nvt_tool {
    const char *name, *about;
    struct nvt_argument arguments[NVT_TOOL_ARGUMENTS]; /* up to one without a name */
    /* 0, or -1 with err filled. */
    int (*call)(struct nvt_agent *agent, const struct nvt_arguments *arguments,
                struct nvt_answer *answer, struct nvt_error *err);
};

/* All of them; *count gets how many. */
const struct nvt_tool *nvt_tools(size_t *count);

/* Bytes of an answer, unless a call says max_bytes. */
#define NVT_ANSWER_MOST 8192

/*
 * Call a tool and write the facts of its answer, one JSON object, into *out, malloc'ed. 0; 1 where it could not be
 * done, which the object says (cannot_answer); -1 when out of memory.
 */
int nvt_tool_call(struct nvt_agent *agent, const char *name, const struct nvt_arguments *arguments,
                  char **out);

#endif
