#include "device.h"

#include "dormant.h"
#include "session.h"
#include "thread.h"

/* A record's header takes two slots of the 65535 that it may have behind it. */
#define BATCH_MOST (256u * 1024)

size_t nvt_device_batch_room(const struct nvt_thread *thread)
{
    size_t slots = thread && thread->slots ? thread->size : nvt_session.control->slots;
    size_t ring = slots * sizeof(struct nvt_slot);
    return ring / 4 < BATCH_MOST ? ring / 4 : BATCH_MOST;
}

int nvt_device_send(struct nvt_device_batch *batch)
{
    if (nvt_dormant_watches && nvt_dormant_is_late())
        nvt_dormant_renew();
    struct nvt_thread *thread = nvt_thread_get();
    int status = -1;
    if (thread && !nvt_thread_busy(thread)) {
        size_t names_size, rows_size;
        const uint8_t *names = nvt_device_batch_names(batch, &names_size);
        const uint8_t *rows = nvt_device_batch_rows(batch, &rows_size);
        uint64_t header[4] = {(uint64_t)batch->records << 32 | batch->rows,
                              16 + names_size + rows_size, batch->names, names_size};
        struct nvt_piece pieces[3] = {
            {header, sizeof(header)}, {names, names_size}, {rows, rows_size}};
        nvt_thread_enter(thread);
        status = nvt_thread_record(thread, NVT_WORD(NVT_DEVICE_RECORDS, 0, 0, 0, 0), pieces, 3);
        nvt_thread_leave(thread);
    }
    if (status && batch->records)
        nvt_thread_drop(thread, batch->records);
    nvt_device_batch_clear(batch);
    return status;
}

int nvt_device_send_row(uint32_t kind, uint64_t *fields, uint32_t count, uint32_t name,
                        const char *text)
{
    struct nvt_device_batch batch;
    uint8_t memory[4096];
    nvt_device_batch_init(&batch, memory, sizeof(memory));
    if (text)
        fields[name] = nvt_device_batch_name(&batch, text);
    nvt_device_batch_add(&batch, kind, fields, count);
    return nvt_device_send(&batch);
}
