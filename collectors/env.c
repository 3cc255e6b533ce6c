/*
 * The command `env`: what makes the processes of a job ones that can be recorded later (standing.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/axis.h"
#include "../lib/buffer.h"
#include "../lib/commands.h"
#include "../lib/count_of.h"
#include "../lib/options.h"
#include "../lib/program.h"
#include "../lib/shell.h"
#include "../lib/wrap.h"
#include "env_watch.h"
#include "levels.h"
#include "ring.h"
#include "stale.h"
#include "standing.h"

static const char usage_text[] =
    "usage: nvtally env [OPTIONS] [-- COMMAND [ARGUMENTS…]]\n\n"
    "Prints the variables with which a job can be recorded later, for its script, or\n"
    "runs COMMAND with them. Its processes, on every host, record nothing until\n"
    "nvtally ctl start: an NVTX call then reads one word of memory.\n\n"
    "  -t, --trace LIST       what can be recorded: nvtx, kernel, memory, api, sync,\n"
    "                         overhead, external, graph, um, counters[=NAME,…],\n"
    "                         metrics[=NAME,…][@RATE] (see nvtally record;\n"
    "                         default: nvtx,kernel)\n"
    "      --iteration RANGE  the range of an iteration, for nvtally ctl steps;\n"
    "                         RANGE or RANGE@DOMAIN (default: iteration, with\n"
    "                         --pytorch)\n"
    "      --pytorch          add ranges for what PyTorch does\n"
    "      --ring-size SIZE   buffer of each thread, 64K to 1G (default: 1M)\n"
    "      --watch FILE       with COMMAND: nvtally ctl --watch FILE reaches the\n"
    "                         session from any host (FILE: on a shared file system)\n"
    "      --help             this text\n\n"
    "Example:  eval \"$(nvtally env)\"\n"
    "          srun python3 train.py &\n"
    "          nvtally ctl start          (in the job, or later on its host)\n";

/* What is recorded inside of the processes, without a library in front of others and without timers. */
#define TRACE_POSSIBLE                                                                             \
    (~(uint64_t)(NVT_TRACE_MPI | NVT_TRACE_NCCL | NVT_TRACE_OSRT | NVT_TRACE_CPU |                 \
                 NVT_TRACE_MACHINE | NVT_TRACE_PROCESS))

#define LIBRARY "libnvtally-inject.so"
enum { VARIABLES = 5 };

struct env {
    struct nvt_standing standing;
    uint64_t ring_bytes;
    int pytorch;
    const char *iteration; /* or NULL */
    const char *watch;     /* or NULL */
    char wishes[NVT_STANDING_WISHES];
    char **command; /* or NULL */
    /* The variables, and what leads those that others use, too. */
    struct {
        const char *name;
        char value[PATH_MAX];
        int leads;
    } variables[VARIABLES];
    size_t count;
};

/* --- the session ------------------------------------------------------------------------------- */

/* Who keeps it: a shell that evaluates what we print, or what we become. */
static int make_in(struct env *env, const char *place)
{
    struct nvt_standing *standing = &env->standing;
    const int holder = env->command ? getpid() : getppid();
    nvt_stale_remove(place);
    if (snprintf(standing->folder, sizeof(standing->folder), "%s/" NVT_SESSION_PREFIX "XXXXXX",
                 place) >= 250) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (!mkdtemp(standing->folder))
        return -1;
    if (!nvt_standing_make(standing, holder, nvt_process_start(holder)))
        return 0;
    const int cause = errno;
    rmdir(standing->folder);
    errno = cause;
    return -1;
}

static int make(struct env *env, struct nvt_error *err)
{
    const char *wish = getenv("NVTALLY_TMPDIR");
    const char *places[] = {wish, "/dev/shm", getenv("TMPDIR"), "/tmp"};
    env->standing.slots = nvt_ring_slots_of(env->ring_bytes);
    for (size_t i = 0; i < NVT_COUNT_OF(places); i++) {
        char place[PATH_MAX];
        if (!places[i] || !*places[i] || !realpath(places[i], place))
            continue;
        if (!make_in(env, place))
            return 0;
    }
    return nvt_fail(err, "no private folder can be made in /dev/shm or /tmp: %s", strerror(errno));
}

/* --- the variables ----------------------------------------------------------------------------- */

static int add(struct env *env, const char *name, const char *value, int leads,
               struct nvt_error *err)
{
    const size_t length = strlen(value);
    if (length >= sizeof(env->variables[0].value))
        return nvt_fail(err, "%s: too long", name);
    env->variables[env->count].name = name;
    env->variables[env->count].leads = leads;
    memcpy(env->variables[env->count++].value, value, length + 1);
    return 0;
}

static int find(const char *name, char path[PATH_MAX], struct nvt_error *err)
{
    char found[PATH_MAX];
    if (nvt_find_library(name, found, sizeof(found), err))
        return -1;
    return realpath(found, path) ? 0 : nvt_fail_at(err, found, -1, "%s", strerror(errno));
}

/* The collector, unless somebody else's is there. */
static int add_collector(struct env *env, const char *name, struct nvt_error *err)
{
    char path[PATH_MAX];
    const char *present = getenv(name), *slash = present ? strrchr(present, '/') : NULL;
    if (present && *present && strcmp(slash ? slash + 1 : present, LIBRARY) != 0)
        return nvt_fail(err, "another tool is injected already (%s): unset it first", name);
    return find(LIBRARY, path, err) ? -1 : add(env, name, path, 0, err);
}

static int add_pytorch(struct env *env, struct nvt_error *err)
{
    char path[PATH_MAX];
    if (!env->pytorch)
        return 0;
    if (find("pytorch/sitecustomize.py", path, err))
        return -1;
    *strrchr(path, '/') = 0;
    return add(env, "PYTHONPATH", path, 1, err) || add(env, "NVTALLY_PYTORCH", "1", 0, err) ? -1
                                                                                            : 0;
}

/* All but the value of the first, which is the session's. */
static int add_all(struct env *env, struct nvt_error *err)
{
    const uint64_t device = env->standing.trace & NVT_TRACE_DEVICE;
    return add(env, NVT_SESSION_ENV, "", 0, err) ||
                   add_collector(env, "NVTX_INJECTION64_PATH", err) ||
                   (device && add_collector(env, "CUDA_INJECTION64_PATH", err)) ||
                   add_pytorch(env, err)
               ? -1
               : 0;
}

/* Lines for a POSIX shell. */
static int print(const struct env *env)
{
    for (size_t i = 0; i < env->count; i++) {
        struct nvt_buffer word = {0};
        char *const value[] = {(char *)(uintptr_t)env->variables[i].value, NULL};
        const char *name = env->variables[i].name;
        const int failed = nvt_shell_join(&word, value) || nvt_buffer_append(&word, "", 1);
        if (!failed && env->variables[i].leads)
            printf("export %s=%s\"${%s:+:$%s}\"\n", name, (const char *)word.data, name, name);
        else if (!failed)
            printf("export %s=%s\n", name, (const char *)word.data);
        nvt_buffer_free(&word);
        if (failed)
            return -1;
    }
    return 0;
}

static int put_into_environment(const struct env *env)
{
    for (size_t i = 0; i < env->count; i++) {
        const char *name = env->variables[i].name, *there = getenv(name);
        char value[2 * PATH_MAX];
        const int goes_on = env->variables[i].leads && there && *there;
        if (snprintf(value, sizeof(value), "%s%s%s", env->variables[i].value, goes_on ? ":" : "",
                     goes_on ? there : "") >= (int)sizeof(value) ||
            setenv(name, value, 1))
            return -1;
    }
    return 0;
}

static int run(const struct env *env, struct nvt_error *err)
{
    if (put_into_environment(env))
        return nvt_fail(err, "the environment has no room");
    if (env->watch &&
        nvt_env_watch(env->watch, env->standing.folder, getpid(), nvt_process_start(getpid()), err))
        return -1;
    execvp(env->command[0], env->command);
    return nvt_fail_at(err, env->command[0], -1, "%s",
                       errno == ENOENT ? "command not found" : strerror(errno));
}

/* --- the command line -------------------------------------------------------------------------- */

/* Which counters and metrics, for the variable. 0, or -1 when out of memory. */
static int note_wishes(const struct nvt_levels *levels, struct env *env)
{
    struct nvt_control *page = calloc(1, sizeof(*page));
    if (!page)
        return -1;
    page->trace = env->standing.trace;
    nvt_counter_wish_put(levels->has_counters ? &levels->counters : NULL, page);
    memcpy(page->metrics, levels->metrics.names, sizeof(page->metrics));
    page->metrics_hz = levels->metrics.hz;
    nvt_standing_wishes(page, levels->has_counters, env->wishes);
    free(page);
    env->standing.wishes = env->wishes;
    env->standing.wishes_size = strlen(env->wishes);
    return 0;
}

static int set_levels(const struct nvt_option *option, const char *text, struct nvt_error *err)
{
    struct env *env = option->to;
    struct nvt_levels levels;
    char refused[128];
    if (nvt_levels_parse(text, &levels, err))
        return -1;
    nvt_levels_text(levels.trace & ~TRACE_POSSIBLE, refused, sizeof(refused));
    if (levels.trace & ~TRACE_POSSIBLE && strcmp(text, "full") != 0 && strcmp(text, "all") != 0)
        return nvt_fail(err, "--trace %s: %s cannot be recorded later: nvtally record --dormant",
                        text, refused);
    if (levels.metrics.is_of_ranges)
        return nvt_fail(err,
                        "--trace %s: bf16, tf32, fp8, fp32 and bytes are counted over ranges: "
                        "nvtally record --counters-of RANGE",
                        text);
    env->standing.trace = levels.trace & TRACE_POSSIBLE;
    if (note_wishes(&levels, env))
        return nvt_fail(err, "out of memory");
    return env->standing.trace ? 0 : nvt_fail(err, "--trace none leaves nothing to record");
}

static int set_ring(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    uint64_t *bytes = option->to;
    return nvt_axis_bytes(value, UINT64_C(1) << 30, bytes) || *bytes < 65536
               ? nvt_fail(err, "--ring-size %s: must be from 64K to 1G", value)
               : 0;
}

static int check(struct env *env, struct nvt_error *err)
{
    const char *range = env->iteration;
    const int has_nvtx = (env->standing.trace & NVT_TRACE_NVTX) != 0;
    if ((range || env->pytorch) && !has_nvtx)
        return nvt_fail(err, "%s needs --trace nvtx", range ? "--iteration" : "--pytorch");
    if (!range && env->pytorch)
        range = "iteration@PyTorch";
    if (!range)
        return 0;
    if (!*range || strchr(range, '\n') || strlen(range) + 3 >= sizeof(env->standing.iteration))
        return nvt_fail(err, "--iteration %.40s: must be the name of a range", range);
    snprintf(env->standing.iteration, sizeof(env->standing.iteration), "%s%s", range,
             strchr(range, '@') ? "" : "@*");
    return 0;
}

/* 0 to go on, 1: --help was answered, -1 with err. */
static int parse(int argc, char **argv, struct env *env, struct nvt_error *err)
{
    const struct nvt_option options[] = {{"trace", 't', .set = set_levels, .to = env},
                                         {"iteration", .text = &env->iteration},
                                         {"pytorch", .flag = &env->pytorch},
                                         {"ring-size", .set = set_ring, .to = &env->ring_bytes},
                                         {"watch", .text = &env->watch},
                                         {0}};
    env->standing.is_standing = 1;
    env->standing.trace = NVT_TRACE_NVTX | NVT_TRACE_KERNEL;
    env->ring_bytes = 1u << 20;
    const int status = nvt_options_read(argc, argv, "+:", options, err);
    if (status == 1)
        fputs(usage_text, stdout);
    if (status)
        return status;
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
        return nvt_fail(err, "env: '%s' is one word too many; a command stands behind --",
                        argv[optind]);
    env->command = optind < argc ? argv + optind : NULL;
    if (env->watch && !env->command)
        return nvt_fail(err, "--watch needs a command: srun nvtally env --watch FILE -- COMMAND");
    return check(env, err);
}

/* What is wrong is known before anything is made. */
static int do_it(struct env *env, struct nvt_error *err)
{
    int cause = env->command ? nvt_command_find(env->command[0], NULL, 0) : 0;
    if (cause)
        return nvt_fail_at(err, env->command[0], -1, "%s",
                           cause == ENOENT ? "command not found" : strerror(cause));
    if (add_all(env, err) || make(env, err))
        return -1;
    if (!nvt_standing_text(&env->standing, env->variables[0].value,
                           sizeof(env->variables[0].value)))
        return nvt_fail(err, "--trace, --iteration: too long");
    if (env->command)
        return run(env, err);
    return print(env) ? nvt_fail(err, "out of memory") : 0;
}

int nvt_cmd_env(int argc, char **argv)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct env *env = calloc(1, sizeof(*env));
    int status = env ? parse(argc, argv, env, &err) : nvt_fail(&err, "out of memory");
    if (!status)
        status = do_it(env, &err);
    free(env);
    return status == 1 ? 0 : status ? nvt_message_error(stderr, &err) : 0;
}
