#include "outsiders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/clock.h"
#include "../lib/keyed_number.h"
#include "../lib/process_stat.h"
#include "../lib/program.h"
#include "../lib/read_file.h"
#include "program_file.h"

#define FIRST_EVERY_NS 100000000
#define MOST_EVERY_NS  2000000000

/* Looked at in one round, and how deep. */
enum { MOST_PROCESSES = 256, MOST_DEPTH = 16 };

static void note(struct nvt_outsiders_kind *kind, pid_t process, const char *loader)
{
    char path[64], name[32];
    for (int i = 0; i < kind->count; i++)
        if (kind->pids[i] == process)
            return;
    if (kind->count == NVT_OUTSIDERS_MOST)
        return;
    kind->pids[kind->count++] = process;
    if (kind->count > 1)
        return;
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)process);
    const int is_known = nvt_read_line(path, name, sizeof(name));
    snprintf(kind->first, sizeof(kind->first), "%s (%d%s%.100s)", is_known ? name : "?",
             (int)process, loader ? ", " : "", loader ? loader : "");
}

static int is_elsewhere(pid_t process)
{
    char path[64], root[8];
    struct stat its, ours;
    snprintf(path, sizeof(path), "/proc/%d/root", (int)process);
    const ssize_t length = readlink(path, root, sizeof(root));
    if (length > 1)
        return 1;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)process);
    return length == 1 && !stat(path, &its) && !stat("/proc/self/ns/mnt", &ours) &&
           its.st_ino != ours.st_ino;
}

/* Whether the collector is not in the root folder of a process, as far as that can be seen. */
static int lacks_library(const struct nvt_outsiders *outsiders, pid_t process)
{
    char path[PATH_MAX + 32];
    if (!*outsiders->library || !is_elsewhere(process))
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process, outsiders->library);
    return access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether a process has an environment, if an empty one: in the midst of exec, and at its end, it has none. */
static int has_environment(pid_t process)
{
    struct nvt_process_stat stat;
    return !nvt_process_stat(process, &stat) && stat.environment;
}

/* "NAME=", as every entry of an environment begins. */
static int is_assignment(const char *entry)
{
    const size_t length =
        strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return length && entry[length] == '=' && (*entry < '0' || *entry > '9');
}

/* Whether what can be read is none of ours: empty, or one that has a PATH, or nothing but variables, and not the session. Who writes
 * over its own, as for a title, leaves empty entries, or its title. */
static int reads_foreign(pid_t process)
{
    static const char session[] = "NVTALLY_SESSION=";
    char path[64], *entry = NULL;
    size_t size = 0, entries = 0;
    int has_path = 0, has_session = 0, is_all = 1;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)process);
    FILE *list = fopen(path, "re");
    if (!list)
        return 0;
    for (; getdelim(&entry, &size, 0, list) > 0; entries++) {
        has_path |= !strncmp(entry, "PATH=", 5);
        is_all &= is_assignment(entry);
        has_session |= !strncmp(entry, session, sizeof(session) - 1);
    }
    const int is_whole = !ferror(list);
    free(entry);
    fclose(list);
    return is_whole && !has_session && (has_path || is_all);
}

/* Whether a process began without our environment. While it begins or ends there is nothing to read, for a moment: it is looked at twice,
 * and must have one before and after. */
static int is_unaware(pid_t process)
{
    for (int i = 0; i < 2; i++)
        if (!has_environment(process) || !reads_foreign(process))
            return 0;
    return has_environment(process);
}

/* How much address space a process has had at most, bytes; 0: not known. */
static uint64_t most_space(pid_t process)
{
    char path[64];
    uint64_t kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
    (void)nvt_keyed_number(path, "VmPeak:", 10, &kib);
    return kib << 10;
}

/* What the collector takes at first, and threads that follow. */
#define ROOM (UINT64_C(16) << 20)

static void look_at_space(struct nvt_outsiders *outsiders, pid_t process)
{
    struct rlimit limit;
    if (prlimit(process, RLIMIT_AS, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return;
    const uint64_t most = most_space(process);
    if (!most || most + ROOM < limit.rlim_cur)
        return;
    if (!outsiders->crowded.count)
        outsiders->address_space = limit.rlim_cur;
    note(&outsiders->crowded, process, NULL);
}

static void look_at(struct nvt_outsiders *outsiders, pid_t process)
{
    char path[64], loader[128];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
    if (nvt_program_is_foreign(path, loader, sizeof(loader)))
        note(&outsiders->of_another_libc, process, loader);
    else if (is_unaware(process))
        note(&outsiders->unaware, process, NULL);
    else if (lacks_library(outsiders, process))
        note(&outsiders->without_us, process, NULL);
    look_at_space(outsiders, process);
}

/* Those that the main threads of a process and of its children have started. */
static void walk(struct nvt_outsiders *outsiders, pid_t process, int depth, int *left)
{
    char path[64], text[32];
    if (--*left < 0 || depth > MOST_DEPTH)
        return;
    look_at(outsiders, process);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *list = fopen(path, "re");
    while (list && *left > 0 && fscanf(list, "%31s", text) == 1)
        walk(outsiders, (pid_t)strtol(text, NULL, 10), depth + 1, left);
    if (list)
        fclose(list);
}

void nvt_outsiders_look(struct nvt_outsiders *outsiders, pid_t process)
{
    char found[PATH_MAX];
    int left = MOST_PROCESSES;
    const int64_t now = nvt_monotonic_ns();
    if (now < outsiders->next)
        return;
    if (!outsiders->every &&
        (nvt_find_library("libnvtally-inject.so", found, sizeof(found), NULL) ||
         !realpath(found, outsiders->library)))
        *outsiders->library = 0;
    outsiders->every = outsiders->every ? 2 * outsiders->every : FIRST_EVERY_NS;
    outsiders->every = outsiders->every > MOST_EVERY_NS ? MOST_EVERY_NS : outsiders->every;
    outsiders->next = now + outsiders->every;
    walk(outsiders, process, 0, &left);
}

const char *nvt_outsiders_text(const struct nvt_outsiders_kind *kind, char *text, size_t size)
{
    *text = 0;
    if (kind->count == 1)
        snprintf(text, size, "%s", kind->first);
    else if (kind->count)
        snprintf(text, size, "%s and %d%s more", kind->first, kind->count - 1,
                 kind->count == NVT_OUTSIDERS_MOST ? " or" : "");
    return text;
}
