#include "drain_device.h"

#include <string.h>

#include "../lib/device_columns.h"

/* Number of 8 bytes at `at`. */
static uint64_t number_at(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* A batch's names as the file's ids of them, then its rows as columns; as they are where that cannot
 * be. *kind gets that of the chunk. */
static int pack_batch(struct nvt_output *output, uint64_t names, const uint8_t *at,
                      size_t names_size, size_t size, struct nvt_buffer *out, uint16_t *kind)
{
    const uint8_t *end = at + names_size;
    if (nvt_buffer_varint(out, names))
        return -1;
    for (uint64_t i = 0; i < names; i++) {
        uint64_t length = 0;
        at = nvt_varint_get(at, end, &length);
        if (!at || length > (uint64_t)(end - at))
            return -1;
        uint32_t id = nvt_output_string(output, (const char *)at, (size_t)length);
        if (nvt_buffer_varint(out, id == NVT_NO_STRING ? 0 : id))
            return -1;
        at += length;
    }
    *kind = NVT_CHUNK_DEVICE_COLUMNS;
    if (!nvt_device_columns_put(out, end, size - names_size))
        return 0;
    *kind = NVT_CHUNK_DEVICE;
    return nvt_buffer_append(out, end, size - names_size);
}

void nvt_drain_device_take(struct nvt_output *output, uint32_t process, uint32_t thread,
                           uint64_t ticks, const uint8_t *data, size_t size,
                           struct nvt_drain_totals *totals)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer out = {0};
    if (size < 32)
        return;
    uint64_t rows = number_at(data) & UINT32_MAX, records = number_at(data) >> 32;
    uint64_t length = number_at(data + 8);
    uint64_t names = number_at(data + 16), names_size = number_at(data + 24);
    if (length < 16 || length > size - 16 || names_size > length - 16 || rows > length)
        return;
    struct nvt_chunk chunk = {.process = process,
                              .thread = thread,
                              .count = (uint32_t)rows,
                              .first = ticks,
                              .last = ticks};
    int status = pack_batch(output, names, data + 32, (size_t)names_size, (size_t)length - 16, &out,
                            &chunk.kind);
    if (!status)
        status = nvt_output_chunk(output, &chunk, out.data, out.size, &err);
    nvt_buffer_free(&out);
    *(status ? &totals->unwritten : &totals->device_records) += records;
    totals->batches++;
    if (status && !totals->error.message[0])
        totals->error = err;
}
