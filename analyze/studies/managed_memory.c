#include "managed_memory.h"

#include <stdlib.h>

#include "../../lib/map.h"
#include "../model/cuda_names.h"

static int is_to_host(const struct nvt_ops *ops, uint32_t op)
{
    return ops->copy_kind[op] == NVT_COPY_UNIFIED_DTOH;
}

int nvt_is_page_move(const struct nvt_ops *ops, uint32_t op)
{
    return ops->kind[op] == NVT_OP_MEMCPY &&
           (ops->copy_kind[op] == NVT_COPY_UNIFIED_HTOD || is_to_host(ops, op));
}

/* 0: it was not recorded. */
static uint64_t address_of(const struct nvt_trace *trace, uint32_t op)
{
    uint32_t row = trace->ops.detail[op];
    return row == NVT_NONE ? 0 : trace->migrations.address[row];
}

static void add_copy(struct nvt_managed_pages *pages, const struct nvt_ops *ops, uint32_t op)
{
    *(is_to_host(ops, op) ? &pages->to_host : &pages->to_device) += ops->bytes[op];
    ++*(is_to_host(ops, op) ? &pages->copies_to_host : &pages->copies_to_device);
    pages->ns += (double)(ops->end[op] - ops->start[op]);
}

static void add_fault(struct nvt_managed_pages *pages, const struct nvt_um_events *events,
                      uint32_t i)
{
    if (events->kind[i] == NVT_UM_CPU_FAULT)
        pages->host_faults++;
    else {
        pages->device_faults += events->faults[i];
        pages->fault_rows++;
    }
}

static int is_fault(const struct nvt_um_events *events, uint32_t i)
{
    return events->kind[i] == NVT_UM_CPU_FAULT || events->kind[i] == NVT_UM_GPU_FAULT;
}

struct addresses {
    struct nvt_managed_pages *items;
    uint32_t count;
    struct nvt_map rows; /* address -> item */
};

/* NULL when out of memory. */
static struct nvt_managed_pages *pages_at(struct addresses *addresses, uint64_t address)
{
    struct nvt_managed_pages *pages = nvt_map_item(&addresses->rows, address, &addresses->items,
                                                   &addresses->count, sizeof(*pages));
    if (pages)
        pages->address = address;
    return pages;
}

static int collect(struct addresses *addresses, const struct nvt_trace *trace)
{
    for (uint32_t i = 0; i < trace->ops.count; i++) {
        if (!nvt_is_page_move(&trace->ops, i))
            continue;
        struct nvt_managed_pages *pages = pages_at(addresses, address_of(trace, i));
        if (!pages)
            return -1;
        add_copy(pages, &trace->ops, i);
    }
    for (uint32_t i = 0; i < trace->um_events.count; i++) {
        if (!is_fault(&trace->um_events, i))
            continue;
        struct nvt_managed_pages *pages = pages_at(addresses, trace->um_events.address[i]);
        if (!pages)
            return -1;
        add_fault(pages, &trace->um_events, i);
    }
    return 0;
}

static int by_address(const void *left, const void *right)
{
    const struct nvt_managed_pages *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

struct nvt_managed_pages *nvt_managed_by_address(const struct nvt_trace *trace, uint32_t *count)
{
    struct addresses addresses = {0};
    const int failed = collect(&addresses, trace);
    nvt_map_free(&addresses.rows);
    if (failed) {
        free(addresses.items);
        return NULL;
    }
    *count = addresses.count;
    if (!addresses.count)
        return malloc(1);
    qsort(addresses.items, addresses.count, sizeof(*addresses.items), by_address);
    return addresses.items;
}

static void widen(struct nvt_managed_total *total, uint64_t address)
{
    if (!address)
        return;
    total->lowest = total->highest && total->lowest < address ? total->lowest : address;
    total->highest = total->highest > address ? total->highest : address;
}

void nvt_managed_total_add(struct nvt_managed_total *total, const struct nvt_trace *trace)
{
    total->has_faults |= trace->um_events.count || !trace->lacks_page_faults;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        if (nvt_is_page_move(&trace->ops, i)) {
            add_copy(&total->pages, &trace->ops, i);
            widen(total, address_of(trace, i));
        }
    for (uint32_t i = 0; i < trace->um_events.count; i++)
        if (is_fault(&trace->um_events, i)) {
            add_fault(&total->pages, &trace->um_events, i);
            widen(total, trace->um_events.address[i]);
        }
}
