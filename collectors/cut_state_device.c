#include "cut_state_device.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/cursor.h"
#include "../lib/device_columns.h"
#include "../lib/grow.h"

/* Bytes that a row takes in a chunk, at most: its fields, kind and length. */
#define ROW_MOST ((NVT_DEVICE_FIELDS_MAX + 2) * NVT_VARINT_MAX)

/* CUpti_ActivityMemoryOperationType: of a row of memory. */
enum { ALLOCATION = 1, RELEASE = 2 };

void nvt_cut_state_device_free(struct nvt_cut_state_device *device)
{
    free(device->rows);
    nvt_buffer_free(&device->edges);
    nvt_map_free(&device->live);
    nvt_map_free(&device->pools);
}

/* The fields of a row that are names, as bits. */
static uint32_t names_of(uint32_t kind)
{
    switch (kind) {
    case NVT_DEVICE_MEMORY:
        return 1u << NVT_MEM_NAME;
    case NVT_DEVICE_DEVICE:
        return 1u << NVT_DEV_NAME | 1u << NVT_DEV_GPU;
    case NVT_DEVICE_NAME:
        return 1u << NVT_NAME_TEXT;
    case NVT_DEVICE_PROBLEM:
        return 1u << NVT_PROBLEM_TEXT;
    case NVT_DEVICE_METRIC:
        return 1u << NVT_METRIC_NAME | 1u << NVT_METRIC_UNIT | 1u << NVT_METRIC_ABOUT;
    default:
        return 0;
    }
}

static int is_of_use(uint32_t kind)
{
    return kind == NVT_DEVICE_MEMORY || kind == NVT_DEVICE_POOL ||
           (kind > NVT_DEVICE_EXTERNAL && kind != NVT_DEVICE_EVENT);
}

/* --- taking ----------------------------------------------------------------------------------------- */

static uint32_t keep(struct nvt_cut_state_device *device, const struct nvt_device_row *row)
{
    if (nvt_grow(&device->rows, device->count, sizeof(*device->rows)))
        return NVT_MAP_NONE;
    device->rows[device->count] = (struct nvt_carried_row){.row = *row};
    return device->count++;
}

/* What stays of the rows, where most are of no use any more. Their places in the maps are new ones. */
static int sweep(struct nvt_cut_state_device *device)
{
    uint32_t kept = 0;
    if (device->unused < 1024 || device->unused < device->count / 2)
        return 0;
    nvt_map_free(&device->live);
    nvt_map_free(&device->pools);
    for (uint32_t i = 0; i < device->count; i++) {
        struct nvt_carried_row *row = &device->rows[kept];
        if (!device->rows[i].row.kind)
            continue;
        *row = device->rows[i];
        uint32_t *live =
            row->is_live ? nvt_map_at(&device->live, row->row.fields[NVT_MEM_ADDRESS]) : &kept;
        uint32_t *pool =
            row->is_of_pool ? nvt_map_at(&device->pools, row->row.fields[NVT_MEM_POOL]) : &kept;
        if (!live || !pool)
            return -1;
        *live = kept;
        *pool = kept;
        kept++;
    }
    device->count = kept;
    device->unused = 0;
    return 0;
}

static void drop_unless_used(struct nvt_cut_state_device *device, struct nvt_carried_row *row)
{
    if (row->is_live || row->is_of_pool || !row->row.kind)
        return;
    row->row.kind = 0;
    device->unused++;
}

/* Forget that the row at a place of a map is what it is kept for. */
static void release(struct nvt_cut_state_device *device, struct nvt_map *map, uint64_t key,
                    int is_pool)
{
    uint32_t *place = nvt_map_get(map, key) == NVT_MAP_NONE ? NULL : nvt_map_at(map, key);
    if (!place)
        return;
    struct nvt_carried_row *row = &device->rows[*place];
    *place = NVT_MAP_NONE;
    if (is_pool)
        row->is_of_pool = 0;
    else
        row->is_live = 0;
    drop_unless_used(device, row);
}

/* An allocation stays until it is released; of a pool the last record of what it holds. */
static int take_memory(struct nvt_cut_state_device *device, const struct nvt_device_row *row)
{
    uint64_t pool = row->fields[NVT_MEM_POOL], address = row->fields[NVT_MEM_ADDRESS];
    int is_memory = row->kind == NVT_DEVICE_MEMORY;
    int is_allocation = is_memory && row->fields[NVT_MEM_OPERATION] == ALLOCATION;
    if (is_memory)
        release(device, &device->live, address, 0);
    if (!is_memory)
        pool = pool ? pool : address;
    if (pool)
        release(device, &device->pools, pool, 1);
    if (!is_allocation && !pool)
        return 0;
    uint32_t at = keep(device, row);
    uint32_t *live = is_allocation ? nvt_map_at(&device->live, address) : &at;
    uint32_t *last = pool ? nvt_map_at(&device->pools, pool) : &at;
    if (at == NVT_MAP_NONE || !live || !last)
        return -1;
    *live = *last = at;
    device->rows[at].is_live = is_allocation;
    device->rows[at].is_of_pool = pool != 0;
    return sweep(device);
}

static int is_known_problem(const struct nvt_cut_state_device *device, uint64_t text)
{
    for (uint32_t i = 0; i < device->count; i++)
        if (device->rows[i].row.kind == NVT_DEVICE_PROBLEM &&
            device->rows[i].row.fields[NVT_PROBLEM_TEXT] == text)
            return 1;
    return 0;
}

/* A row whose names are the file's. */
static int take_row(struct nvt_cut_state_device *device, const struct nvt_chunk *chunk,
                    const struct nvt_device_row *row)
{
    switch (row->kind) {
    case NVT_DEVICE_MEMORY:
    case NVT_DEVICE_POOL:
        return take_memory(device, row);
    case NVT_DEVICE_CLOCK:
        device->clock = *row;
        return 0;
    case NVT_DEVICE_DELIVERED:
        device->delivered = *row;
        device->delivered_at = chunk->last;
        return 0;
    case NVT_DEVICE_CAPTURE:
        return nvt_buffer_append(
            &device->edges,
            &(struct nvt_carried_edge){chunk->first, row->fields[NVT_CAPTURE_BEGIN] != 0},
            sizeof(struct nvt_carried_edge));
    case NVT_DEVICE_LOST:
        for (int i = 0; i < NVT_LOST_FIELDS; i++)
            device->lost.fields[i] += row->fields[i];
        device->lost.kind = row->kind;
        device->lost.count = NVT_LOST_FIELDS;
        return 0;
    case NVT_DEVICE_PROBLEM:
        if (is_known_problem(device, row->fields[NVT_PROBLEM_TEXT]))
            return 0;
        break;
    default:
        break;
    }
    return keep(device, row) == NVT_MAP_NONE ? -1 : 0;
}

/* Names of the chunk, by their numbers in it. */
struct names {
    struct nvt_buffer ids; /* 4 bytes each */
    uint64_t count;
};

static int read_names(struct nvt_cursor *cursor, struct names *names)
{
    names->count = nvt_cursor_varint(cursor);
    for (uint64_t i = 0; i < names->count; i++) {
        uint32_t id = (uint32_t)nvt_cursor_varint(cursor);
        if (!cursor->at || nvt_buffer_append(&names->ids, &id, sizeof(id)))
            return -1;
    }
    return cursor->at ? 0 : -1;
}

static int take_named(struct nvt_cut_state_device *device, const struct nvt_chunk *chunk,
                      const struct names *names, struct nvt_device_row *row)
{
    uint32_t bits = names_of(row->kind);
    for (uint32_t i = 0; i < NVT_DEVICE_FIELDS_MAX && bits >> i; i++) {
        uint32_t id = 0;
        if (!(bits >> i & 1))
            continue;
        if (row->fields[i] < names->count)
            memcpy(&id, names->ids.data + row->fields[i] * sizeof(id), sizeof(id));
        row->fields[i] = id;
    }
    return take_row(device, chunk, row);
}

static int is_operation(unsigned kind)
{
    return kind >= NVT_DEVICE_KERNEL && kind <= NVT_DEVICE_GRAPH;
}

static int take_columns(struct nvt_cut_state_device *device, const struct nvt_chunk *chunk,
                        const struct names *names, const struct nvt_cursor *cursor)
{
    struct nvt_device_columns *columns = malloc(sizeof(*columns));
    struct nvt_device_row row;
    int status = !columns || nvt_device_columns_open(columns, cursor->at, cursor->end) ? -1 : 0;
    int memory = 0;
    /* Where rows of two kinds stand in an order of their own, it is that order which counts. */
    for (uint32_t i = 0; !status && i < columns->groups; i++)
        device->has_operations |= is_operation(columns->group[i].kind);
    for (uint32_t i = 0; !status && i < columns->groups; i++)
        memory += columns->group[i].kind == NVT_DEVICE_MEMORY ||
                  columns->group[i].kind == NVT_DEVICE_POOL;
    while (!status && memory > 1 && nvt_device_columns_next(columns, &row))
        if (is_of_use(row.kind))
            status = take_named(device, chunk, names, &row);
    for (uint32_t i = 0; !status && memory < 2 && i < columns->groups; i++)
        while (!status && is_of_use(columns->group[i].kind) &&
               nvt_device_group_row(&columns->group[i], &row))
            status = take_named(device, chunk, names, &row);
    free(columns);
    return status;
}

int nvt_cut_state_device_take(struct nvt_cut_state_device *device, const struct nvt_chunk *chunk,
                              const uint8_t *payload)
{
    struct nvt_cursor cursor = {payload, payload + chunk->raw_size};
    struct names names = {0};
    struct nvt_device_row row;
    int status = read_names(&cursor, &names), next = 0;
    device->thread = chunk->thread;
    device->last = chunk->last;
    device->has_operations = 0;
    if (!status && chunk->kind == NVT_CHUNK_DEVICE_COLUMNS)
        status = take_columns(device, chunk, &names, &cursor);
    struct nvt_device_reader reader = {cursor.at, cursor.end, 0};
    while (!status && chunk->kind == NVT_CHUNK_DEVICE &&
           (next = nvt_device_reader_next(&reader, &row)) > 0) {
        device->has_operations |= is_operation(row.kind);
        if (is_of_use(row.kind))
            status = take_named(device, chunk, &names, &row);
    }
    nvt_buffer_free(&names.ids);
    return status || next < 0 ? -1 : 0;
}

/* --- giving ----------------------------------------------------------------------------------------- */

/* A chunk in the making. */
struct rows {
    struct nvt_device_batch batch;
    struct nvt_buffer names;
    uint32_t name_count;
};

/* The row with its names as numbers into the chunk's. 0, or -1: there is no room. */
static int add_row(struct rows *rows, const struct nvt_device_row *from)
{
    struct nvt_device_row row = *from;
    uint32_t bits = names_of(row.kind);
    if (!row.kind)
        return 0;
    for (uint32_t i = 0; i < NVT_DEVICE_FIELDS_MAX && bits >> i; i++) {
        if (!(bits >> i & 1))
            continue;
        if (nvt_buffer_varint(&rows->names, row.fields[i]))
            return -1;
        row.fields[i] = rows->name_count++;
    }
    return nvt_device_batch_add(&rows->batch, row.kind, row.fields, row.count);
}

static int put_rows(const struct rows *rows, const struct nvt_chunk *chunk, nvt_cut_state_put *put,
                    void *context)
{
    size_t size;
    const uint8_t *bytes = nvt_device_batch_rows(&rows->batch, &size);
    struct nvt_buffer out = {0};
    int status = nvt_buffer_varint(&out, rows->name_count) ||
                 nvt_buffer_append(&out, rows->names.data, rows->names.size) ||
                 nvt_buffer_append(&out, bytes, size) || put(context, chunk, out.data, out.size);
    nvt_buffer_free(&out);
    return status ? -1 : 0;
}

static int give_rows(const struct nvt_cut_state_device *device, struct rows *rows,
                     struct nvt_chunk *chunk, nvt_cut_state_put *put, void *context)
{
    for (uint32_t i = 0; i < device->count; i++)
        if (add_row(rows, &device->rows[i].row))
            return -1;
    if (add_row(rows, &device->clock) || add_row(rows, &device->lost) ||
        add_row(rows, &device->delivered))
        return -1;
    chunk->count = rows->batch.rows;
    chunk->first = chunk->last = device->delivered.kind ? device->delivered_at : device->last;
    return chunk->count ? put_rows(rows, chunk, put, context) : 0;
}

int nvt_cut_state_device_give(const struct nvt_cut_state_device *device, uint32_t process,
                              nvt_cut_state_put *put, void *context)
{
    struct rows rows = {0};
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE,
                              .flags = NVT_CHUNK_CARRIED,
                              .process = process,
                              .thread = device->thread};
    /* Half of a batch's memory is its rows'. */
    size_t size = 2 * ((size_t)device->count + 4) * ROW_MOST;
    void *memory = malloc(size);
    if (!memory)
        return -1;
    nvt_device_batch_init(&rows.batch, memory, size);
    int status = give_rows(device, &rows, &chunk, put, context);
    nvt_buffer_free(&rows.names);
    free(memory);
    return status;
}

static int by_ticks(const void *left, const void *right)
{
    const struct nvt_carried_edge *a = left, *b = right;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return (int)b->begins - (int)a->begins;
}

/* The moment of a capture is that of its chunk. */
static int give_edge(const struct nvt_carried_edge *edge, struct nvt_chunk *chunk,
                     nvt_cut_state_put *put, void *context)
{
    uint8_t memory[4 * ROW_MOST];
    struct rows rows = {0};
    nvt_device_batch_init(&rows.batch, memory, sizeof(memory));
    chunk->first = chunk->last = edge->ticks;
    return nvt_device_batch_add(&rows.batch, NVT_DEVICE_CAPTURE, &edge->begins,
                                NVT_CAPTURE_FIELDS) ||
                   put_rows(&rows, chunk, put, context)
               ? -1
               : 0;
}

int nvt_cut_state_device_give_captures(struct nvt_cut_state_device *device, uint32_t process,
                                       const struct nvt_carried_starts *starts,
                                       nvt_cut_state_put *put, void *context)
{
    struct nvt_carried_edge *edges = (struct nvt_carried_edge *)(void *)device->edges.data;
    size_t edge_count = device->edges.size / sizeof(*edges), at = 0;
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_DEVICE,
                              .flags = NVT_CHUNK_CARRIED,
                              .process = process,
                              .thread = device->thread,
                              .count = 1};
    if (edge_count)
        qsort(edges, edge_count, sizeof(*edges), by_ticks);
    for (size_t i = 0; i < edge_count; i++) {
        const struct nvt_carried_edge *end = i + 1 < edge_count ? &edges[i + 1] : NULL;
        if (!edges[i].begins)
            continue;
        while (at < starts->count && starts->ticks[at] < edges[i].ticks)
            at++;
        if (end && end->ticks < starts->all_from &&
            (at == starts->count || starts->ticks[at] >= end->ticks))
            continue;
        if (give_edge(&edges[i], &chunk, put, context) ||
            (end && give_edge(end, &chunk, put, context)))
            return -1;
    }
    return 0;
}
