#include "nvt_forks.h"

#include <string.h>

int nvt_file_is_kin(const struct nvt_file_reader *reader, uint32_t a, uint32_t b)
{
    return a != b && reader->processes[a].image &&
           reader->processes[a].image == reader->processes[b].image;
}

/* The model's domain of process `number` that has the name of another one's. NVT_NONE: it has none. */
static uint32_t same_domain(const struct nvt_file_reader *reader, uint32_t number, uint32_t domain)
{
    const struct nvt_domains *domains = &reader->trace->domains;
    if (!domain)
        return 0;
    for (uint32_t i = 1; domain < domains->count && i < domains->count; i++)
        if (domains->process[i] == reader->processes[number].row &&
            domains->name[i] == domains->name[domain])
            return i;
    return NVT_NONE;
}

uint32_t nvt_file_kin_category(const struct nvt_file_reader *reader, uint32_t number,
                               uint32_t domain, uint32_t category)
{
    for (uint32_t i = 0; i < reader->process_count; i++) {
        if (!nvt_file_is_kin(reader, number, i))
            continue;
        const uint64_t key = (uint64_t)same_domain(reader, i, domain) << 32 | category;
        const uint32_t name = nvt_map_get(&reader->processes[i].categories, key);
        if (name != NVT_MAP_NONE)
            return name;
    }
    return NVT_MAP_NONE;
}

const struct nvt_blob *nvt_file_kin_schema(const struct nvt_file_reader *reader, uint32_t number,
                                           uint64_t id)
{
    for (uint32_t i = 0; i < reader->process_count; i++) {
        const uint32_t at = nvt_file_is_kin(reader, number, i)
                                ? nvt_map_get(&reader->processes[i].schemas, id)
                                : NVT_MAP_NONE;
        if (at < reader->schema_count)
            return &reader->schemas[at];
    }
    return NULL;
}

void nvt_file_kin_counter(const struct nvt_file_reader *reader, struct nvt_file_counter *counter)
{
    for (uint32_t i = 0; i < reader->counters.count; i++) {
        const struct nvt_file_counter *from = &reader->counters.items[i];
        if (!from->is_defined || from->id != counter->id ||
            !nvt_file_is_kin(reader, counter->process, from->process) ||
            same_domain(reader, from->process, counter->domain) != from->domain)
            continue;
        counter->name = from->name;
        counter->unit = from->unit;
        counter->description = from->description;
        counter->schema = from->schema;
        counter->flags = from->flags;
        counter->numerator = from->numerator;
        counter->denominator = from->denominator;
        counter->is_defined = 1;
        return;
    }
}
