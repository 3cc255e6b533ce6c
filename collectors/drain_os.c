#include "drain_os.h"

#include <string.h>

#include "../lib/os_calls.h"

/* Ids of files that the recorder defines itself are above those of programs. */
#define FIRST_OWN_FILE (UINT64_C(1) << 32)

void nvt_drain_os_free(struct nvt_drain_os *os)
{
    nvt_buffer_free(&os->rows);
}

/* `is_open`: its end is not known, and call->end is when that was noticed. */
static void put(struct nvt_drain_os *os, unsigned number, const struct nvt_ring_os_call *call,
                uint64_t file, int is_open)
{
    const char *name = number < NVT_OS_CALLS ? nvt_os_calls[number].name : "";
    uint32_t id = nvt_output_string(os->output, name, strlen(name));
    uint8_t row[NVT_OS_ROW_FIELDS * NVT_VARINT_MAX], *end = row;
    if (!os->count) {
        os->first = os->start = call->start;
        os->last = os->address = 0;
    }
    const uint64_t fields[NVT_OS_ROW_FIELDS] = {
        [NVT_OS_ROW_NAME] = id,
        [NVT_OS_ROW_START] = nvt_zigzag((int64_t)(call->start - os->start)),
        [NVT_OS_ROW_LENGTH] = call->end > call->start ? call->end - call->start : 0,
        [NVT_OS_ROW_FLAGS] = is_open != 0,
        [NVT_OS_ROW_RESULT] = nvt_zigzag(call->result),
        [NVT_OS_ROW_FILE] = file,
        [NVT_OS_ROW_ADDRESS] = nvt_zigzag((int64_t)(call->address - os->address)),
        [NVT_OS_ROW_BYTES] = call->bytes,
        [NVT_OS_ROW_CALLER] = call->caller};
    for (size_t i = 0; i < NVT_OS_ROW_FIELDS; i++)
        end = nvt_varint_put(end, fields[i]);
    size_t size = (size_t)(end - row);
    if (id == NVT_NO_STRING || nvt_buffer_reserve(&os->rows, size + NVT_VARINT_MAX) ||
        nvt_buffer_varint(&os->rows, size) || nvt_buffer_append(&os->rows, row, size)) {
        os->failed = 1;
        return;
    }
    os->start = call->start;
    os->address = call->address;
    os->last = call->end > os->last ? call->end : os->last;
    os->count++;
}

void nvt_drain_os_take(struct nvt_drain_os *os, unsigned number, const uint8_t *data, size_t size)
{
    struct nvt_ring_os_call call;
    if (size < sizeof(call))
        return;
    memcpy(&call, data, sizeof(call));
    put(os, number, &call, call.file, 0);
}

/* The id of a path, which is defined for it; 0 without memory. */
static uint64_t define_path(struct nvt_drain_os *os, const char *path)
{
    uint32_t string = nvt_output_string(os->output, path, strlen(path));
    uint64_t id = FIRST_OWN_FILE + string;
    return string == NVT_NO_STRING ||
                   nvt_output_define(os->output, os->process, NVT_DEFINITION_FILE, 0, id, 0, path,
                                     strlen(path))
               ? 0
               : id;
}

void nvt_drain_os_take_open(struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                            uint64_t now)
{
    char path[sizeof(calling->path)];
    uint32_t number = atomic_load_explicit(&calling->number, memory_order_acquire);
    struct nvt_ring_os_call call = {
        .start = atomic_load_explicit(&calling->since, memory_order_relaxed),
        .end = now,
        .caller = atomic_load_explicit(&calling->caller, memory_order_relaxed),
        .address = atomic_load_explicit(&calling->address, memory_order_relaxed)};
    if (!number || call.start > now)
        return;
    memcpy(path, calling->path, sizeof(path));
    path[sizeof(path) - 1] = 0;
    uint32_t file = atomic_load_explicit(&calling->file, memory_order_relaxed);
    put(os, number - 1, &call, path[0] ? define_path(os, path) : file, 1);
}

void nvt_drain_os_flush(struct nvt_drain_os *os, int force, struct nvt_drain_totals *totals)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_OS_CALLS,
                                    .process = os->process,
                                    .thread = os->thread,
                                    .count = os->count,
                                    .first = os->first,
                                    .last = os->last};
    if ((!os->count && !os->failed) ||
        (os->rows.size < nvt_output_chunk_bytes(os->output) && !force))
        return;
    int status = os->failed
                     ? nvt_fail(&err, "out of memory")
                     : nvt_output_chunk(os->output, &chunk, os->rows.data, os->rows.size, &err);
    *(status ? &totals->unwritten : &totals->os_calls) += os->count;
    if (status && !totals->error.message[0])
        totals->error = err;
    os->rows.size = 0;
    os->count = 0;
    os->failed = 0;
}
