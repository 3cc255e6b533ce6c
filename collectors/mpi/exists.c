#include "exists.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The tables of an object by which its symbols are found. */
struct symbols {
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t *gnu, *old; /* hash tables, NULL: it has none of that kind */
};

/* glibc has put the object's place into its addresses, unless they cannot be written. */
static const void *at(const struct dl_phdr_info *info, Elf64_Addr address)
{
    return (const void *)(address < info->dlpi_addr ? address + info->dlpi_addr : address);
}

static int find_tables(const struct dl_phdr_info *info, struct symbols *out)
{
    const Elf64_Dyn *dynamic = NULL;
    *out = (struct symbols){NULL, NULL, NULL, NULL};
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            out->symbols = at(info, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_STRTAB)
            out->strings = at(info, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_GNU_HASH)
            out->gnu = at(info, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_HASH)
            out->old = at(info, dynamic->d_un.d_ptr);
    }
    return out->symbols && out->strings && (out->gnu || out->old);
}

static int is_defined(const struct symbols *in, uint32_t number, const char *name)
{
    const Elf64_Sym *symbol = &in->symbols[number];
    return symbol->st_shndx != SHN_UNDEF && !strcmp(in->strings + symbol->st_name, name);
}

/* As the ELF specification has it: chains of symbols with the same hash. */
static int has_in_old(const struct symbols *in, const char *name)
{
    uint32_t hash = 0, buckets = in->old[0];
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = (hash << 4) + *c;
        hash ^= (hash & 0xf0000000u) >> 24;
        hash &= 0x0fffffffu;
    }
    const uint32_t *chain = in->old + 2 + buckets;
    for (uint32_t i = buckets ? in->old[2 + hash % buckets] : 0; i; i = chain[i])
        if (is_defined(in, i, name))
            return 1;
    return 0;
}

/* GNU's: symbols of a bucket lie one behind the other, and the last has a hash that is odd. */
static int has_in_gnu(const struct symbols *in, const char *name)
{
    uint32_t hash = 5381;
    const uint32_t buckets = in->gnu[0], first = in->gnu[1], filters = in->gnu[2];
    const Elf64_Addr *filter = (const Elf64_Addr *)(const void *)(in->gnu + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(filter + filters);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    const unsigned bits = 8 * sizeof(*filter);
    Elf64_Addr word = filters ? filter[hash / bits % filters] : 0;
    if (!(word >> (hash % bits) & word >> ((hash >> in->gnu[3]) % bits) & 1) || !buckets)
        return 0;
    uint32_t i = bucket[hash % buckets];
    for (const uint32_t *chain = bucket + buckets; i >= first; i++) {
        if ((chain[i - first] | 1) == (hash | 1) && is_defined(in, i, name))
            return 1;
        if (chain[i - first] & 1)
            break;
    }
    return 0;
}

static int has(const struct symbols *in, const char *name)
{
    return in->gnu ? has_in_gnu(in, name) : has_in_old(in, name);
}

struct question {
    const char *name, *other;
    uintptr_t own;
};

static int is_part(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

static int ask(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct question *question = context;
    struct symbols symbols;
    (void)size;
    return !is_part(info, question->own) && find_tables(info, &symbols) &&
           (has(&symbols, question->name) || has(&symbols, question->other));
}

int nvt_mpi_exists(const char *name, const char *other, const void *own)
{
    struct question question = {name, other, (uintptr_t)own};
    return dl_iterate_phdr(ask, &question);
}
