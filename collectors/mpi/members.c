#include "members.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks of a communicator that is looked at, and communicators. */
#define RANKS_MOST (1 << 20)
#define MADE_MOST  1024

uint64_t nvt_mpi_handle_at(enum nvt_mpi_handles handles, const void *at)
{
    uint64_t handle = 0;
    memcpy(&handle, at, handles == NVT_MPI_MPICH ? sizeof(uint32_t) : sizeof(handle));
    return handle;
}

/* A variable of MPI: that of the program, where the linker has put a copy of it there, which MPI itself uses then. */
static uint64_t variable(const char *name, void *(*find)(const char *name))
{
    const void *found = dlsym(RTLD_DEFAULT, name);
    return (uint64_t)(uintptr_t)(found ? found : find(name));
}

/* MPI_COMM_NULL, MPI_COMM_WORLD. 0: not known. */
static uint64_t constant(enum nvt_mpi_handles handles, int is_world,
                         void *(*find)(const char *name))
{
    if (handles == NVT_MPI_MPICH)
        return is_world ? 0x44000000 : 0x04000000;
    if (handles == NVT_MPI_ABI)
        return is_world ? 0x101 : 0x100;
    return variable(is_world ? "ompi_mpi_comm_world" : "ompi_mpi_comm_null", find);
}

typedef int ask_one(uint64_t object, void *answer);
typedef int translate(uint64_t from, int count, const int *ranks, uint64_t to, int *out);

struct questions {
    ask_one *size, *is_between, *group;
    translate *translate;
    int (*is_begun)(int *flag);
    int (*group_free)(uint64_t *group);
};

static int find_all(struct questions *ask, void *(*find)(const char *name))
{
    *(void **)&ask->size = find("PMPI_Comm_size");
    *(void **)&ask->is_between = find("PMPI_Comm_test_inter");
    *(void **)&ask->group = find("PMPI_Comm_group");
    *(void **)&ask->translate = find("PMPI_Group_translate_ranks");
    *(void **)&ask->is_begun = find("PMPI_Initialized");
    *(void **)&ask->group_free = find("PMPI_Group_free");
    return ask->size && ask->is_between && ask->group && ask->translate && ask->is_begun &&
           ask->group_free;
}

int nvt_mpi_has_members(void *(*find)(const char *name))
{
    struct questions ask = {0};
    return find_all(&ask, find);
}

/* Numbers of a communicator's ranks in that of all, ascending; malloc'ed. NULL: they are not, or are not known. */
static int *ranks_of(const struct questions *ask, uint64_t communicator, uint64_t world, int count)
{
    uint64_t own = 0, all = 0;
    int *own_ranks = malloc((size_t)count * sizeof(*own_ranks)),
        *ranks = malloc((size_t)count * sizeof(*ranks));
    int is_known = own_ranks && ranks && !ask->group(communicator, &own);
    if (is_known && ask->group(world, &all)) {
        ask->group_free(&own);
        is_known = 0;
    }
    for (int i = 0; i < count && is_known; i++)
        own_ranks[i] = i;
    if (is_known) {
        is_known = !ask->translate(own, count, own_ranks, all, ranks);
        ask->group_free(&own);
        ask->group_free(&all);
    }
    for (int i = 0; i < count && is_known; i++)
        is_known = ranks[i] >= 0 && (!i || ranks[i] > ranks[i - 1]);
    free(own_ranks);
    if (is_known)
        return ranks;
    free(ranks);
    return NULL;
}

/* The same on all ranks that are in it, which make their communicators in one order: of the list, and how often it was made. */
static uint64_t number_of(const int *ranks, int count)
{
    static _Atomic uint64_t made[MADE_MOST];
    static _Atomic size_t made_count;
    uint64_t hash = UINT64_C(0xcbf29ce484222325), before = 0;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)ranks[i]) * UINT64_C(0x100000001b3);
    const size_t at = atomic_fetch_add(&made_count, 1);
    if (at >= MADE_MOST)
        return 0;
    for (size_t i = 0; i < at; i++)
        before += atomic_load(&made[i]) == hash;
    atomic_store(&made[at], hash);
    hash = (hash ^ before) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

/* "0-3,8": ranges of numbers, as many as there is room for. */
static void write_list(const int *ranks, int count, char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0, end; i < count && used + 32 < size; i = end) {
        for (end = i + 1; end < count && ranks[end] == ranks[end - 1] + 1;)
            end++;
        used += (size_t)snprintf(out + used, size - used, "%s%d", i ? "," : "", ranks[i]);
        if (end - i > 1)
            used += (size_t)snprintf(out + used, size - used, "%s%d", end - i > 2 ? "-" : ",",
                                     ranks[end - 1]);
        if (end < count && used + 32 >= size)
            snprintf(out + used, size - used, ",...");
    }
}

void nvt_mpi_write_members(enum nvt_mpi_handles handles, uint64_t communicator,
                           void *(*find)(const char *name), char *out, size_t size)
{
    const uint64_t nobody = constant(handles, 0, find), world = constant(handles, 1, find);
    struct questions ask = {0};
    int count = 0, all = 0, is_between = 1, is_begun = 0;
    snprintf(out, size, "%" PRIu64 " 0", communicator);
    if (!nobody || !world || communicator == nobody || !find_all(&ask, find) ||
        ask.is_begun(&is_begun) || !is_begun || ask.is_between(communicator, &is_between) ||
        is_between || ask.size(communicator, &count) || ask.size(world, &all) || count < 1 ||
        count >= all || count > RANKS_MOST)
        return;
    int *ranks = ranks_of(&ask, communicator, world, count);
    const uint64_t number = ranks ? number_of(ranks, count) : 0;
    if (number) {
        const int used =
            snprintf(out, size, "%" PRIu64 " %d %" PRIu64 " ", communicator, count, number);
        write_list(ranks, count, out + used, size - (size_t)used);
    }
    free(ranks);
}
