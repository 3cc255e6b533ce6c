/*
 * The prompt of `nvtally sql`: a person's statements, one after the other, whatever becomes of each, and commands that begin with a
 * dot. Ctrl-C ends a statement or what has been typed of it, a second one during a statement the program.
 */
#ifndef NVT_SQL_PROMPT_H
#define NVT_SQL_PROMPT_H

#include <signal.h>

#include "../lib/error.h"

/* Who answers. */
struct nvt_sql_prompt {
    /* Run statements and print what they give. 0, or -1 with err, which the prompt prints. */
    int (*answer)(void *context, const char *text, struct nvt_error *err);
    void *context;
};

/* Not 0 from Ctrl-C on until the next statement: for struct nvt_sql_limits. */
const volatile sig_atomic_t *nvt_sql_prompt_stop(void);

/* Until the input ends, or .quit. 0, or -1 with err (out of memory). */
int nvt_sql_prompt_run(const struct nvt_sql_prompt *prompt, struct nvt_error *err);

#endif
