/*
 * Calls of MPI, which the library in front of it records as ranges (lib/mpi_payload.h): they become rows of
 * mpi_calls, and are no ranges any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/mpi_payload.h"
#include "../../lib/grow.h"
#include "nvt.h"

/* Of a range whose payload is the number of what it says, until it is moved. */
#define IS_CALL 128u

/* Whether a definition is that of the schema: its name is in front. */
static int is_schema(const struct nvt_file_reader *reader, const struct nvt_blob *definition,
                     const char *schema)
{
    struct nvt_cursor cursor = {reader->blobs.data + definition->offset,
                                reader->blobs.data + definition->offset + definition->size};
    uint64_t length = nvt_cursor_number(&cursor, 8);
    const uint8_t *name = nvt_cursor_bytes(&cursor, length);
    return !definition->is_enum && name && length == strlen(schema) &&
           !memcmp(name, schema, (size_t)length);
}

const uint8_t *nvt_file_payload_of(const struct nvt_file_reader *reader,
                                   const struct nvt_pending_payload *pending, const char *schema,
                                   size_t size)
{
    const uint8_t *bytes = reader->blobs.data + pending->blob.offset;
    struct nvt_cursor cursor = {bytes, bytes + pending->blob.size};
    const uint64_t id = nvt_cursor_number(&cursor, 8), length = nvt_cursor_number(&cursor, 8);
    const uint8_t *payload = nvt_cursor_bytes(&cursor, length);
    const uint32_t known = payload && length == size
                               ? nvt_map_get(&reader->processes[pending->process].schemas, id)
                               : NVT_MAP_NONE;
    return known != NVT_MAP_NONE && is_schema(reader, &reader->schemas[known], schema) ? payload
                                                                                       : NULL;
}

int nvt_file_take_mpi(struct nvt_file_reader *reader, const struct nvt_pending_payload *pending)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    struct nvt_file_mpi *mpi = &reader->mpi;
    const uint8_t *payload = pending->is_mark ? NULL
                                              : nvt_file_payload_of(reader, pending, NVT_MPI_SCHEMA,
                                                                    sizeof(struct nvt_mpi_said));
    if (pending->is_mark)
        return 0;
    /* Whatever else is said of a call is not taken: its payload is a number. */
    if (!payload || ranges->style[pending->row] != NVT_PUSH_POP)
        return (ranges->flags[pending->row] & IS_CALL) != 0;
    if (ranges->flags[pending->row] & IS_CALL) { /* its end, which has the bytes */
        struct nvt_mpi_said end, *said = &mpi->items[ranges->payload[pending->row]];
        memcpy(&end, payload, sizeof(end));
        said->sent = end.sent;
        said->received = end.received;
        return 1;
    }
    if (nvt_grow(&mpi->items, mpi->count, sizeof(*mpi->items)))
        return -1;
    memcpy(&mpi->items[mpi->count], payload, sizeof(*mpi->items));
    ranges->payload[pending->row] = (uint32_t)mpi->count++;
    ranges->flags[pending->row] |= IS_CALL;
    return 1;
}

static int add_call(struct nvt_file_reader *reader, uint32_t range)
{
    const struct nvt_ranges *ranges = &reader->trace->ranges;
    const struct nvt_mpi_said *said = &reader->mpi.items[ranges->payload[range]];
    uint32_t thread = ranges->thread[range];
    uint32_t *rank = &reader->trace->processes.rank[reader->trace->threads.process[thread]];
    struct nvt_mpi_call row = {
        .start = ranges->start[range],
        .end = ranges->end[range],
        .thread = thread,
        .name = ranges->name[range],
        .communicator = said->communicator,
        .sent = said->sent,
        .received = said->received,
        .peer = said->peer,
        .tag = said->tag,
        .kind = (uint8_t)(said->kind < NVT_MPI_KINDS ? said->kind : NVT_MPI_OTHER),
        .flags = ranges->flags[range] & (NVT_RANGE_UNCLOSED | NVT_RANGE_CARRIED)};
    if (said->rank >= 0 && *rank == NVT_NONE)
        *rank = (uint32_t)said->rank;
    return nvt_mpi_call_add(reader->trace, &row) == NVT_NONE ? -1 : 0;
}

/* --- communicators --- */

/* Whose a handle of a process is from a moment on. */
struct communicator {
    int64_t time;
    uint64_t handle, number; /* a number of 0: it is not known */
    uint32_t process, ranks, group;
};

struct communicators {
    struct communicator *items; /* by process, handle and time */
    size_t count;
};

/* What a mark says. 0, or -1 when out of memory; what is malformed says nothing. */
static int take_communicator(struct nvt_trace *trace, uint32_t mark, struct communicators *all)
{
    const char *text = nvt_name(trace, trace->marks.name[mark]) + sizeof(NVT_MPI_COMMUNICATOR) - 1;
    char *end = NULL;
    struct communicator item = {.time = trace->marks.time[mark],
                                .process = trace->threads.process[trace->marks.thread[mark]]};
    item.handle = strtoull(text, &end, 10);
    const unsigned long long ranks = strtoull(end, &end, 10);
    if (ranks && ranks < NVT_NONE) {
        char group[256];
        item.number = strtoull(end, &end, 10);
        item.ranks = (uint32_t)ranks;
        snprintf(group, sizeof(group), "ranks%.240s", end);
        item.group = nvt_strings_add_text(trace->strings, group);
    }
    if (item.group == NVT_NO_STRING || nvt_grow(&all->items, all->count, sizeof(*all->items)))
        return -1;
    all->items[all->count++] = item;
    return 0;
}

static int by_handle(const void *left, const void *right)
{
    const struct communicator *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->handle != b->handle)
        return a->handle < b->handle ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

/* The one that a handle is of at a moment; NULL: nothing was said of it. */
static const struct communicator *communicator_at(const struct communicators *all, uint32_t process,
                                                  uint64_t handle, int64_t time)
{
    const struct communicator sought = {.process = process, .handle = handle, .time = time};
    size_t at = 0;
    NVT_BISECT(at, all->count, by_handle(&all->items[at], &sought) <= 0);
    const struct communicator *found = at ? &all->items[at - 1] : NULL;
    return found && found->process == process && found->handle == handle ? found : NULL;
}

/* Collectives of communicators that are known get their group. Messages keep their handles: their peers are ranks of that group. */
static void name_communicators(struct nvt_trace *trace, const struct communicators *all)
{
    struct nvt_mpi_calls *calls = &trace->mpi_calls;
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct communicator *of =
            calls->kind[i] == NVT_MPI_COLLECTIVE && !calls->ranks[i]
                ? communicator_at(all, trace->threads.process[calls->thread[i]],
                                  calls->communicator[i], calls->start[i])
                : NULL;
        if (!of || !of->number)
            continue;
        calls->communicator[i] = of->number;
        calls->ranks[i] = of->ranks;
        calls->group[i] = of->group;
    }
}

/* --- marks --- */

#define MOVE_MARK(type, field) marks->field[to] = marks->field[i];

static int says(const struct nvt_trace *trace, uint32_t mark, const char *what)
{
    return !strncmp(nvt_name(trace, trace->marks.name[mark]), what, strlen(what)) &&
           !strcmp(nvt_domain_name(trace, trace->marks.domain[mark]), NVT_MPI_DOMAIN);
}

/* What was called past the library in front of MPI: a note of each list of names. */
static void note_passed(struct nvt_trace *trace, uint32_t mark, uint32_t *told)
{
    const uint32_t name = trace->marks.name[mark];
    if (name != *told)
        nvt_trace_note(
            trace,
            "MPI calls that are not recorded: %s. Who waits for whom is not known as a whole",
            nvt_name(trace, name) + sizeof(NVT_MPI_PASSED) - 1);
    *told = name;
}

/* What the library in front of MPI says are no marks any more. 0, or -1 when out of memory. */
static int take_marks(struct nvt_trace *trace, struct communicators *all)
{
    struct nvt_marks *marks = &trace->marks;
    uint32_t to = 0, told = 0;
    int failed = 0;
    for (uint32_t i = 0; i < marks->count && !failed; i++) {
        if (says(trace, i, NVT_MPI_PASSED))
            note_passed(trace, i, &told);
        else if (says(trace, i, NVT_MPI_COMMUNICATOR))
            failed = take_communicator(trace, i, all);
        else {
            NVT_MARK_COLUMNS(MOVE_MARK)
            to++;
        }
    }
    if (!failed)
        marks->count = to;
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_handle);
    return failed;
}

#define MOVE_FIELD(type, field) ranges->field[to] = ranges->field[i];

/* 0, or -1 when out of memory. */
static int move_calls(struct nvt_file_reader *reader)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    uint32_t to = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        if (ranges->flags[i] & IS_CALL) {
            if (add_call(reader, i))
                return -1;
            continue;
        }
        NVT_RANGE_COLUMNS(MOVE_FIELD)
        to++;
    }
    ranges->count = to;
    return 0;
}

int nvt_file_complete_mpi(struct nvt_file_reader *reader)
{
    struct communicators all = {0};
    int failed = take_marks(reader->trace, &all) || (reader->mpi.count && move_calls(reader));
    if (!failed)
        name_communicators(reader->trace, &all);
    free(all.items);
    return failed ? -1 : 0;
}
