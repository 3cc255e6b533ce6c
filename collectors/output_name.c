#include "output_name.h"

#include <inttypes.h>
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

/* A batch script of Slurm's has the number of a task, but is in no step, as all that srun starts is (or in one with a number that is
 * none). */
static int is_batch_script(size_t launcher)
{
    const char *step = getenv("SLURM_STEP_ID");
    return !strcmp(launchers[launcher].rank, "SLURM_PROCID") && getenv("SLURM_JOB_ID") &&
           (!step || strtoll(step, NULL, 10) > 4294967000);
}

/* Where a launcher has said which rank we are; NVT_COUNT_OF(launchers): nowhere. */
static size_t find_launcher(void)
{
    size_t i = 0;
    while (i < NVT_COUNT_OF(launchers) &&
           (!is_rank(getenv(launchers[i].rank), getenv(launchers[i].size)) || is_batch_script(i)))
        i++;
    return i;
}

int64_t nvt_output_rank(int64_t *ranks)
{
    const size_t launcher = find_launcher();
    const int is_said = launcher < NVT_COUNT_OF(launchers);
    const char *rank = is_said ? getenv(launchers[launcher].rank) : NULL;
    const char *size = is_said ? getenv(launchers[launcher].size) : NULL;
    if (ranks)
        *ranks = size ? strtoll(size, NULL, 10) : 0;
    return rank ? strtoll(rank, NULL, 10) : -1;
}

const char *nvt_output_default(void)
{
    const size_t launcher = find_launcher();
    return launcher < NVT_COUNT_OF(launchers) ? launchers[launcher].name : "trace.nvt";
}

int nvt_output_stem(const char *output)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    const char *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? dot - output : (ptrdiff_t)strlen(output));
}

char *nvt_output_with_rank(const char *output, int64_t rank)
{
    char *name = NULL;
    const int stem = nvt_output_stem(output);
    if (asprintf(&name, "%.*s-rank%" PRId64 "%s", stem, output, rank, output + stem) < 0)
        return NULL;
    return name;
}

char *nvt_output_of_rank(const char *output)
{
    const int64_t rank = nvt_output_rank(NULL);
    return rank < 0 ? NULL : nvt_output_with_rank(output, rank);
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
