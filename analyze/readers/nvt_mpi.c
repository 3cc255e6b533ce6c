/*
 * Calls of MPI, which the library in front of it records as ranges (lib/mpi_payload.h): they become rows of
 * mpi_calls, and are no ranges any more.
 */
#include <stdlib.h>
#include <string.h>

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

#define MOVE_MARK(type, field) marks->field[to] = marks->field[i];

/* What was called past the library in front of MPI: a note of each list of names, and no mark any more. */
static void note_passed(struct nvt_trace *trace)
{
    struct nvt_marks *marks = &trace->marks;
    const size_t length = sizeof(NVT_MPI_PASSED) - 1;
    uint32_t to = 0, told = 0;
    for (uint32_t i = 0; i < marks->count; i++) {
        const char *name = nvt_name(trace, marks->name[i]);
        if (strncmp(name, NVT_MPI_PASSED, length) != 0 ||
            strcmp(nvt_domain_name(trace, marks->domain[i]), NVT_MPI_DOMAIN) != 0) {
            NVT_MARK_COLUMNS(MOVE_MARK)
            to++;
            continue;
        }
        if (marks->name[i] != told)
            nvt_trace_note(
                trace,
                "MPI calls that are not recorded: %s. Who waits for whom is not known as a whole",
                name + length);
        told = marks->name[i];
    }
    marks->count = to;
}

#define MOVE_FIELD(type, field) ranges->field[to] = ranges->field[i];

int nvt_file_complete_mpi(struct nvt_file_reader *reader)
{
    struct nvt_ranges *ranges = &reader->trace->ranges;
    uint32_t to = 0;
    note_passed(reader->trace);
    if (!reader->mpi.count)
        return 0;
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
