/*
 * Kernels and API calls of a DEVICE_COLUMNS chunk, straight into the model's columns: a block of
 * values of each field at a time. Of a kernel's fields the last dozen, its graph and its shape, are
 * mostly the same for a whole chunk, and are looked at where they are not.
 */
#include <string.h>

#include "nvt_device_chunk.h"

/* Names of a kernel. NULL when out of memory. */
static const struct nvt_device_name *kernel_name(struct nvt_device_chunk *chunk, uint64_t number)
{
    struct nvt_device_name *known = nvt_device_known(chunk, number);
    if (known->full == NVT_NO_STRING) {
        known->full = nvt_device_full_name(chunk, nvt_device_name_at(chunk, number));
        if (known->full != NVT_NO_STRING)
            known->part = nvt_device_short_name(chunk, known->full);
    }
    return known->full == NVT_NO_STRING || known->part == NVT_NO_STRING ? NULL : known;
}

/* Values of a block of rows, by field. */
struct block {
    uint64_t of[NVT_KERNEL_FIELDS][NVT_DEVICE_BLOCK];
    uint32_t fields[NVT_KERNEL_FIELDS]; /* of the shape, that are not the same everywhere */
    uint32_t field_count;
    uint32_t shape; /* of the row before: in the model */
    int has_shape;
};

static int is_same(const struct nvt_packed *column)
{
    return column->encoding == NVT_PACKED_ZERO || column->encoding == NVT_PACKED_CONSTANT;
}

static void find_shape_fields(struct block *block, const struct nvt_device_group *group)
{
    block->field_count = 0;
    block->has_shape = 0;
    for (uint32_t i = NVT_OP_GRAPH; i < NVT_KERNEL_FIELDS; i++)
        if (!is_same(&group->column[i]))
            block->fields[block->field_count++] = i;
}

static uint32_t add_shape(const struct nvt_device_chunk *chunk, const struct block *block, size_t i)
{
#define FIELD(field) (uint32_t) block->of[field][i]
    const struct nvt_kernel kernel = {.grid_x = FIELD(NVT_KERNEL_GRID),
                                      .grid_y = FIELD(NVT_KERNEL_GRID + 1),
                                      .grid_z = FIELD(NVT_KERNEL_GRID + 2),
                                      .block_x = FIELD(NVT_KERNEL_BLOCK),
                                      .block_y = FIELD(NVT_KERNEL_BLOCK + 1),
                                      .block_z = FIELD(NVT_KERNEL_BLOCK + 2),
                                      .registers = FIELD(NVT_KERNEL_REGISTERS),
                                      .static_shared = FIELD(NVT_KERNEL_STATIC_SHARED),
                                      .dynamic_shared = FIELD(NVT_KERNEL_DYNAMIC_SHARED),
                                      .local_memory = block->of[NVT_KERNEL_LOCAL][i],
                                      .graph = block->of[NVT_OP_GRAPH][i],
                                      .graph_node = block->of[NVT_OP_NODE][i]};
#undef FIELD
    return nvt_trace_kernel(chunk->trace, &kernel);
}

/* The row of kernels with the shape of row i. NVT_NONE when out of memory. */
static uint32_t shape_of(const struct nvt_device_chunk *chunk, struct block *block, size_t i)
{
    int differs = !block->has_shape || (!i && block->field_count);
    for (uint32_t k = 0; !differs && k < block->field_count; k++)
        differs = block->of[block->fields[k]][i] != block->of[block->fields[k]][i - 1];
    if (differs)
        block->shape = add_shape(chunk, block, i);
    block->has_shape = 1;
    return block->shape;
}

/* A zero is there already, and writing it would take memory for it. */
#define PUT(column, value)                                                                         \
    if (value)                                                                                     \
    (column) = (value)

static int put_kernels(struct nvt_device_chunk *chunk, struct block *block, size_t count)
{
    struct nvt_ops *ops = &chunk->trace->ops;
    if (nvt_op_reserve(chunk->trace, (uint64_t)ops->count + count))
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = block->of[NVT_ROW_START][i];
        uint64_t end = start + (uint64_t)nvt_unzigzag(block->of[NVT_ROW_END][i]);
        uint32_t row = ops->count;
        uint32_t shape = shape_of(chunk, block, i);
        if (!nvt_device_is_timed(start, end)) {
            chunk->devices->untimed++;
            continue;
        }
        const struct nvt_device_name *name = kernel_name(chunk, block->of[NVT_OP_NAME][i]);
        if (!name || shape == NVT_NONE)
            return -1;
        ops->start[row] = (int64_t)start;
        ops->end[row] = (int64_t)end;
        PUT(ops->process[row], chunk->owner);
        PUT(ops->device[row], (uint32_t)block->of[NVT_OP_DEVICE][i]);
        PUT(ops->context[row], (uint32_t)block->of[NVT_OP_CONTEXT][i]);
        PUT(ops->stream[row], (uint32_t)block->of[NVT_OP_STREAM][i]);
        PUT(ops->correlation[row], block->of[NVT_ROW_CORRELATION][i]);
        /* The call, the thread and the launch are found out at the end. */
        ops->name[row] = name->full;
        ops->short_name[row] = name->part;
        PUT(ops->detail[row], shape);
        ops->count++;
    }
    return 0;
}

static int put_calls(struct nvt_device_chunk *chunk, const struct block *block, size_t count)
{
    struct nvt_apis *apis = &chunk->trace->apis;
    if (nvt_api_reserve(chunk->trace, (uint64_t)apis->count + count))
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = block->of[NVT_ROW_START][i], number = block->of[NVT_CALL_NAME][i];
        uint64_t end = start + (uint64_t)nvt_unzigzag(block->of[NVT_ROW_END][i]);
        uint32_t row = apis->count;
        if (!nvt_device_is_timed(start, end)) {
            chunk->devices->untimed++;
            continue;
        }
        struct nvt_device_name *name = nvt_device_known(chunk, number);
        if (name->call == NVT_NO_STRING)
            name->call = nvt_device_call_name(chunk, nvt_device_name_at(chunk, number));
        if (name->call == NVT_NO_STRING ||
            nvt_device_find_caller(chunk, block->of[NVT_CALL_THREAD][i]))
            return -1;
        apis->start[row] = (int64_t)start;
        apis->end[row] = (int64_t)end;
        apis->thread[row] = chunk->caller;
        PUT(apis->correlation[row], block->of[NVT_ROW_CORRELATION][i]);
        apis->name[row] = name->call;
        PUT(apis->result[row], (int32_t)block->of[NVT_CALL_RESULT][i]);
        PUT(apis->class[row],
            block -> of[NVT_CALL_CLASS][i] == NVT_CALL_DRIVER ? NVT_API_DRIVER : NVT_API_RUNTIME);
        apis->count++;
    }
    return 0;
}

int nvt_device_plain_group(struct nvt_device_chunk *chunk, struct nvt_device_group *group)
{
    struct block block;
    uint32_t fields = group->kind == NVT_DEVICE_KERNEL ? NVT_KERNEL_FIELDS : NVT_CALL_FIELDS;
    int status = 0;
    find_shape_fields(&block, group);
    for (uint32_t left = group->rows, count; left && !status; left -= count) {
        count = left < NVT_DEVICE_BLOCK ? left : NVT_DEVICE_BLOCK;
        for (uint32_t i = 0; i < fields; i++)
            if (left == group->rows || !is_same(&group->column[i]))
                nvt_packed_take(&group->column[i], block.of[i], count);
        status = group->kind == NVT_DEVICE_KERNEL ? put_kernels(chunk, &block, count)
                                                  : put_calls(chunk, &block, count);
    }
    return status;
}
