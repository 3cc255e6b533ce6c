#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../input/rows.h"

/* Open at once, at most: who opens more closes none. */
#define OPENED_MOST 64

static void close_one(struct nvt_opened *opened)
{
    nvt_sql_free(opened->sql);
    nvt_input_free(&opened->input);
    free(opened->path);
    free(opened->range);
    free(opened->time);
    free(opened->iteration);
    free(opened);
}

void nvt_agent_free(struct nvt_agent *agent)
{
    for (size_t i = 0; i < agent->count; i++)
        close_one(agent->opened[i]);
    free(agent->opened);
    *agent = (struct nvt_agent){0};
}

/* A copy of a text, NULL of NULL. */
static int keep(char **out, const char *text)
{
    *out = text ? strdup(text) : NULL;
    return text && !*out ? -1 : 0;
}

static int read_one(struct nvt_opened *opened, struct nvt_error *err)
{
    if ((opened->range && nvt_window_set_range(&opened->window, opened->range, err)) ||
        (opened->time && nvt_window_set_time(&opened->window, opened->time, err)))
        return -1;
    opened->input.window = &opened->window;
    opened->input.iteration = opened->iteration;
    opened->input.plain_names = 1;
    return nvt_input_add(&opened->input, opened->path, err) ||
                   nvt_input_rows(&opened->input, err) || nvt_input_traces(&opened->input, err)
               ? -1
               : 0;
}

struct nvt_opened *nvt_agent_open(struct nvt_agent *agent, const char *path, const char *range,
                                  const char *time, const char *iteration, struct nvt_error *err)
{
    struct nvt_opened *opened =
        agent->count < OPENED_MOST &&
                !nvt_grow(&agent->opened, agent->count, sizeof(*agent->opened))
            ? calloc(1, sizeof(*opened))
            : NULL;
    if (!opened) {
        nvt_fail(err, agent->count < OPENED_MOST ? "out of memory" : "64 traces are open already");
        return NULL;
    }
    if (keep(&opened->path, path) || keep(&opened->range, range) || keep(&opened->time, time) ||
        keep(&opened->iteration, iteration))
        nvt_fail(err, "out of memory");
    else if (!read_one(opened, err)) {
        snprintf(opened->name, sizeof(opened->name), "t%zu", agent->count + 1);
        opened->opening = opened->input.notes.size;
        agent->opened[agent->count++] = opened;
        return opened;
    }
    close_one(opened);
    return NULL;
}

struct nvt_opened *nvt_agent_find(const struct nvt_agent *agent, const char *name,
                                  struct nvt_error *err)
{
    for (size_t i = agent->count; i-- > 0;)
        if (!name || !strcmp(agent->opened[i]->name, name))
            return agent->opened[i];
    if (name)
        nvt_fail(err, "no trace '%.40s' is open: the tool list has those that are", name);
    else
        nvt_fail(err, "no trace is open: call the tool open with a path");
    return NULL;
}

struct nvt_sql *nvt_opened_sql(struct nvt_opened *opened, struct nvt_error *err)
{
    if (!opened->sql)
        opened->sql = nvt_sql_open(&opened->input, err);
    return opened->sql;
}
