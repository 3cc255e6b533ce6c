#include "exists.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../lib/count_of.h"

/* The tables of an object by which its symbols are found. */
struct symbols {
    const Elf64_Sym *symbols;
    const char *strings;
    const uint32_t *gnu, *old; /* hash tables, NULL: it has none of that kind */
    const Elf64_Rela *calls;   /* of functions that it calls, */
    size_t call_bytes;
    int is_bound; /* which were bound when it was loaded */
};

/* glibc has put the object's place into its addresses, unless they cannot be written. */
static const void *at(const struct dl_phdr_info *info, Elf64_Addr address)
{
    return (const void *)(address < info->dlpi_addr ? address + info->dlpi_addr : address);
}

static int binds_at_once(const Elf64_Dyn *dynamic)
{
    return dynamic->d_tag == DT_BIND_NOW ||
           (dynamic->d_tag == DT_FLAGS && dynamic->d_un.d_val & DF_BIND_NOW) ||
           (dynamic->d_tag == DT_FLAGS_1 && dynamic->d_un.d_val & DF_1_NOW);
}

static int find_tables(const struct dl_phdr_info *info, struct symbols *out)
{
    const Elf64_Dyn *dynamic = NULL;
    *out = (struct symbols){0};
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
        else if (dynamic->d_tag == DT_JMPREL)
            out->calls = at(info, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_PLTRELSZ)
            out->call_bytes = dynamic->d_un.d_val;
        else
            out->is_bound |= binds_at_once(dynamic);
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

/* --- what was called past us --------------------------------------------------------------------- */

/* What is in the names of functions that ask, define and test, and do neither communicate nor wait. */
static const char *const harmless[] = {
    "_get_",        "_set_",    "_rank",      "_size",     "Type_",    "Group_",    "Info_",
    "rrhandler",    "Error_",   "Op_",        "Attr_",     "keyval",   "_attr",     "Wtime",
    "Wtick",        "Test",     "_test",      "robe",      "Status_",  "Pack",      "Unpack",
    "ddress",       "Aint_",    "nitialized", "Finalized", "Query_",   "Is_thread", "Pcontrol",
    "_mem",         "Request_", "Cancel",     "Dims_",     "Topo_",    "Cart_",     "Cartdim",
    "Graph",        "graph_",   "_compare",   "2f",        "f2",       "_name",     "_port",
    "Add_",         "Remove_",  "_group",     "_remote",   "ttach",    "_sync",     "Grequest",
    "Register_",    "Get_",     "Abi_",       "_toint",    "_fromint", "seek",      "MPI_T_",
    "Reduce_local", "iflush",   "Win_detach", "Abort",     "Parrived", "_query",    "_support",
};

/* "MPI_Send", "PMPI_Send", "MPIX_Send", but for those. */
static int counts(const char *name)
{
    const char *rest = name + (name[0] == 'P');
    if (strncmp(rest, "MPI_", 4) != 0 && strncmp(rest, "MPIX_", 5) != 0)
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(harmless); i++)
        if (strstr(rest, harmless[i]))
            return 0;
    return 1;
}

struct passed {
    uintptr_t own;
    const struct dl_phdr_info *object; /* that holds it, as far as `found` */
    struct dl_phdr_info found;
    char *out;
    size_t size, length;
};

/* Once each. */
static void put(struct passed *passed, const char *name)
{
    size_t length = strlen(name), before = passed->length ? 2 : 0;
    const char *at = passed->out;
    while ((at = strstr(at, name)) && at[length] && at[length] != ',')
        at += length;
    if (at || passed->length + before + length >= passed->size)
        return;
    memcpy(passed->out + passed->length, ", ", before);
    memcpy(passed->out + passed->length + before, name, length + 1);
    passed->length += before + length;
}

static int find_own(struct dl_phdr_info *info, size_t size, void *context)
{
    struct passed *passed = context;
    (void)size;
    if (!is_part(info, passed->own))
        return 0;
    passed->found = *info;
    passed->object = &passed->found;
    return 1;
}

/* Libraries of an MPI, some of which call it by PMPI_…: libmpi_usempif08, libmpifort, Open MPI's mca_io_romio321. */
static int is_of_mpi(const char *path, const struct symbols *in)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return !strncmp(name, "libmpi", 6) || !strncmp(name, "mca_", 4) || has(in, "MPI_Init") ||
           has(in, "PMPI_Init") || has(in, "mpi_init_");
}

/* Where a function that an object calls leads; where it has not been called, into the object itself, to what looks for it. */
static uintptr_t place_of(const struct dl_phdr_info *info, const Elf64_Rela *call)
{
    return *(const uintptr_t *)(info->dlpi_addr + call->r_offset);
}

/* Whether some function has not been looked for yet. An object that was loaded with RTLD_NOW, as Python loads its modules, has none
 * such, whatever its own flags say. */
static int is_lazy(const struct dl_phdr_info *info, const struct symbols *in)
{
    for (size_t i = 0; i < in->call_bytes / sizeof(*in->calls); i++)
        if (is_part(info, place_of(info, &in->calls[i])))
            return 1;
    return 0;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct passed *passed = context;
    struct symbols in;
    (void)size;
    if (is_part(info, passed->own) || !find_tables(info, &in) || !in.calls || in.is_bound ||
        is_of_mpi(info->dlpi_name, &in) || !is_lazy(info, &in))
        return 0;
    for (size_t i = 0; i < in.call_bytes / sizeof(*in.calls); i++) {
        const Elf64_Sym *symbol = &in.symbols[ELF64_R_SYM(in.calls[i].r_info)];
        const char *name = in.strings + symbol->st_name;
        uintptr_t place = place_of(info, &in.calls[i]);
        if (place && counts(name) && !is_part(info, place) && !is_part(passed->object, place))
            put(passed, name);
    }
    return 0;
}

void nvt_mpi_passed(const void *own, char *out, size_t size)
{
    struct passed passed = {.own = (uintptr_t)own, .out = out, .size = size};
    out[0] = 0;
    if (dl_iterate_phdr(find_own, &passed))
        dl_iterate_phdr(look_at_object, &passed);
}
