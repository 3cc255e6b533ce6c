#include "output_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/count_of.h"

struct name {
    char *out;
    size_t size, used;
};

/* Beyond the room only the length grows, which is how it is told. */
static void put(struct name *name, const char *text, int is_value)
{
    for (; *text; text++, name->used++)
        if (name->used + 1 < name->size)
            name->out[name->used] = is_value && *text == '/' ? '_' : *text;
}

/* The %q{NAME} at `at`. Returns what follows it, or NULL with err. */
static const char *put_variable(struct name *name, const char *at, struct nvt_error *err)
{
    char variable[256];
    const char *end = strchr(at, '}');
    size_t length = end ? (size_t)(end - at) - 3 : sizeof(variable);
    if (length >= sizeof(variable) || !length) {
        nvt_fail(err, "-o: '%s' needs a name: %%q{NAME}", at);
        return NULL;
    }
    snprintf(variable, sizeof(variable), "%.*s", (int)length, at + 3);
    const char *value = getenv(variable);
    if (!value) {
        nvt_fail(err, "-o: %%q{%s}: there is no %s in the environment", variable, variable);
        return NULL;
    }
    put(name, value, 1);
    return end + 1;
}

static void put_host(struct name *name)
{
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    put(name, host, 1);
}

/* Of launchers that start ranks: the one that is nearest to the command first. */
static const struct {
    const char *rank, *size, *name;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "trace-rank%q{OMPI_COMM_WORLD_RANK}.nvt"},
    {"PMI_RANK", "PMI_SIZE", "trace-rank%q{PMI_RANK}.nvt"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "trace-rank%q{MV2_COMM_WORLD_RANK}.nvt"},
    {"RANK", "WORLD_SIZE", "trace-rank%q{RANK}.nvt"},
    {"SLURM_PROCID", "SLURM_NTASKS", "trace-rank%q{SLURM_PROCID}.nvt"},
};

/* A number; and no size, or several: the only one of its job needs no name of its own. */
static int is_rank(const char *rank, const char *size)
{
    return rank && *rank && !rank[strspn(rank, "0123456789")] &&
           (!size || strtol(size, NULL, 10) > 1);
}

/* Where a launcher has said which rank we are; NVT_COUNT_OF(launchers): nowhere. */
static size_t find_launcher(void)
{
    size_t i = 0;
    while (i < NVT_COUNT_OF(launchers) &&
           !is_rank(getenv(launchers[i].rank), getenv(launchers[i].size)))
        i++;
    return i;
}

const char *nvt_output_default(void)
{
    const size_t launcher = find_launcher();
    return launcher < NVT_COUNT_OF(launchers) ? launchers[launcher].name : "trace.nvt";
}

char *nvt_output_of_rank(const char *output)
{
    const size_t launcher = find_launcher();
    const char *slash = strrchr(output, '/'), *dot = strrchr(slash ? slash + 1 : output, '.');
    char *name = NULL;
    if (launcher == NVT_COUNT_OF(launchers))
        return NULL;
    const int length =
        (int)(dot && dot > (slash ? slash + 1 : output) ? dot - output : (ptrdiff_t)strlen(output));
    if (asprintf(&name, "%.*s-rank%s%s", length, output, getenv(launchers[launcher].rank),
                 output + length) < 0)
        return NULL;
    return name;
}

void nvt_output_add_hint(struct nvt_error *err)
{
    size_t i = 0, used = strlen(err->message);
    while (i < NVT_COUNT_OF(launchers) && !getenv(launchers[i].rank))
        i++;
    if (i < NVT_COUNT_OF(launchers))
        snprintf(err->message + used, sizeof(err->message) - used,
                 "; each rank needs a file of its own: -o '%s'", launchers[i].name);
}

int nvt_output_name(const char *pattern, char *out, size_t size, struct nvt_error *err)
{
    struct name name = {out, size, 0};
    while (*pattern) {
        char text[32] = {*pattern, 0};
        size_t length = 2;
        if (!strncmp(pattern, "%q{", 3)) {
            pattern = put_variable(&name, pattern, err);
            if (!pattern)
                return -1;
            continue;
        }
        if (!strncmp(pattern, "%h", 2))
            put_host(&name);
        else if (!strncmp(pattern, "%p", 2) && snprintf(text, sizeof(text), "%ld", (long)getpid()))
            put(&name, text, 0);
        else if (!strncmp(pattern, "%%", 2))
            put(&name, "%", 0);
        else
            put(&name, text, 0), length = 1;
        pattern += length;
    }
    if (name.used >= size)
        return nvt_fail(err, "-o: the name of the trace is too long");
    out[name.used] = 0;
    return 0;
}
