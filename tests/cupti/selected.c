/*
 * Records of selected fields for the stand-in, by the headers of CUDA 13.5, which are not needed to build it. NO part of it is NVIDIA's.
 * Where a field lies is its own affair: behind the kind they come in reverse, each at a multiple of its size.
 */
#if defined(HAVE_CUPTI) && defined(STAND_IN_SECOND)

#include "selected.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "stand_in_internal.h"

enum { KINDS = 64 };

static int is_on;
static struct nvt_cupti_place places[KINDS][NVT_CUPTI_FIELDS_MOST];
static struct nvt_cupti_layout layouts[KINDS], *given[KINDS];

/* Fields that have 8 bytes where the whole record has 4. */
static const struct {
    uint32_t kind;
    int number;
} wide[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 11},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 12},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 22},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 11},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 15},
    {CUPTI_ACTIVITY_KIND_MEMSET, 8},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 1},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 5},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 6},
    {CUPTI_ACTIVITY_KIND_DRIVER, 5},
    {CUPTI_ACTIVITY_KIND_DRIVER, 6},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 4},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 7},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, 1},
    {CUPTI_ACTIVITY_KIND_CUDA_EVENT, 4},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 3},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, 3},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 3},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 3},
};

void stand_in_select_fields(void)
{
    is_on = 1;
}

int stand_in_selects_fields(void)
{
    return is_on;
}

static const struct nvt_cupti_field *find(uint32_t kind, int number)
{
    size_t count;
    const struct nvt_cupti_field *fields = nvt_cupti_fields((CUpti_ActivityKind)kind, &count);
    for (size_t i = 0; i < count; i++)
        if (fields[i].number == number)
            return &fields[i];
    return NULL;
}

static size_t bytes_of(uint32_t kind, int number)
{
    for (size_t i = 0; i < NVT_COUNT_OF(wide); i++)
        if (wide[i].kind == kind && wide[i].number == number)
            return 8;
    return find(kind, number)->bytes;
}

static void place(uint32_t kind, size_t index, int number)
{
    struct nvt_cupti_layout *layout = &layouts[kind];
    struct nvt_cupti_place *at = &places[kind][index];
    const size_t bytes = bytes_of(kind, number), align = bytes > 8 ? 1 : bytes;
    layout->bytes = (layout->bytes + align - 1) / align * align;
    *at = (struct nvt_cupti_place){sizeof(*at), number, layout->bytes, bytes, align};
    layout->bytes += bytes;
}

CUptiResult stand_in_configure(CUpti_ActivityKind kind, const void *how)
{
    const struct nvt_cupti_config *config = how;
    if (!is_on)
        return how ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
    if (!config || config->size != 40 || config->selection.size != 24 || (unsigned)kind >= KINDS ||
        !config->selection.count || config->selection.count > NVT_CUPTI_FIELDS_MOST ||
        config->selection.fields[0])
        return CUPTI_ERROR_INVALID_PARAMETER;
    const size_t count = config->selection.count;
    for (size_t i = 0; i < count; i++)
        if (!find(kind, config->selection.fields[i]))
            return CUPTI_ERROR_INVALID_PARAMETER;
    layouts[kind] = (struct nvt_cupti_layout){sizeof(layouts[kind]), places[kind], count, 0};
    place(kind, 0, 0);
    for (size_t i = 1; i < count; i++)
        place(kind, i, config->selection.fields[count - i]);
    layouts[kind].bytes = (layouts[kind].bytes + 7) / 8 * 8;
    given[kind] = &layouts[kind];
    return CUPTI_SUCCESS;
}

struct nvt_cupti_completion stand_in_completion(void)
{
    return (struct nvt_cupti_completion){sizeof(struct nvt_cupti_completion),
                                         (uint64_t)syscall(SYS_gettid), is_on ? given : NULL,
                                         is_on ? KINDS : 0};
}

size_t stand_in_selected_size(uint32_t kind)
{
    return is_on && kind < KINDS ? layouts[kind].bytes : 0;
}

const void *stand_in_selected(const void *record, size_t *size, void *room)
{
    const uint32_t kind = ((const CUpti_Activity *)record)->kind;
    if (!stand_in_selected_size(kind))
        return record;
    const struct nvt_cupti_layout *layout = &layouts[kind];
    memset(room, 0, layout->bytes);
    for (size_t i = 0; i < layout->count; i++) {
        const struct nvt_cupti_field *field = find(kind, layout->places[i].field);
        memcpy((char *)room + layout->places[i].offset, (const char *)record + field->offset,
               field->bytes);
    }
    *size = layout->bytes;
    return room;
}

#else
/* Nothing without CUPTI's headers, or in the stand-in for the first interface. */
typedef int nvt_stand_in_selected_is_empty;
#endif
