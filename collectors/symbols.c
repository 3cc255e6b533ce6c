#include "symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/grow.h"

#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct function {
    uint64_t from, to;
    uint32_t name; /* offset in `names` */
    uint32_t rank; /* lower ones are taken first: global ones, then weak, then local */
};

struct nvt_symbols {
    struct function *items;
    size_t count;
    char *names;
    size_t names_size;
};

/* A file in memory. */
struct file {
    const uint8_t *data;
    size_t size;
};

/* `count` things of a size at an offset, if the file has all of them. */
static const void *part(const struct file *file, uint64_t offset, uint64_t count, uint64_t size)
{
    if (offset > file->size || (size && count > (file->size - offset) / size))
        return NULL;
    return file->data + offset;
}

static int open_file(const char *path, struct file *file)
{
    struct stat status;
    void *data = MAP_FAILED;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return -1;
    if (!fstat(descriptor, &status) && S_ISREG(status.st_mode) &&
        status.st_size > (off_t)sizeof(Elf64_Ehdr))
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    if (data == MAP_FAILED)
        return -1;
    *file = (struct file){data, (size_t)status.st_size};
    return 0;
}

static void close_file(struct file *file)
{
    munmap((void *)(uintptr_t)file->data, file->size);
}

/* Sections and how many; NULL: none, or no file of ours. */
static const Elf64_Shdr *sections_of(const struct file *file, uint32_t *count)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->data;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shoff % 8)
        return NULL;
    *count = header->e_shnum;
    return part(file, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr));
}

static uint32_t rank_of(const Elf64_Sym *symbol)
{
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    return binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

static int is_function(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size && symbol->st_value <= UINT64_MAX - symbol->st_size;
}

/* Room for what one table may add. */
static int reserve(struct nvt_symbols *symbols, size_t functions, size_t bytes)
{
    if (symbols->names_size + bytes > UINT32_MAX)
        return -1;
    return nvt_resize(&symbols->items, symbols->count + functions, sizeof(*symbols->items)) ||
                   nvt_resize(&symbols->names, symbols->names_size + bytes + 1, 1)
               ? -1
               : 0;
}

/* The functions of a table of symbols, with all of its names. 0, or -1 when out of memory; what is malformed adds nothing. */
static int add_table(struct nvt_symbols *symbols, const struct file *file,
                     const Elf64_Shdr *sections, uint32_t section_count, const Elf64_Shdr *table)
{
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *items = part(file, table->sh_offset, count, sizeof(*items));
    if (table->sh_entsize != sizeof(*items) || table->sh_link >= section_count || !items ||
        table->sh_offset % 8)
        return 0;
    const Elf64_Shdr *texts = &sections[table->sh_link];
    const char *names = part(file, texts->sh_offset, texts->sh_size, 1);
    if (texts->sh_type != SHT_STRTAB || !names || !texts->sh_size)
        return 0;
    size_t functions = 0;
    for (uint64_t i = 0; i < count; i++)
        functions += (size_t)is_function(&items[i]);
    if (!functions)
        return 0;
    if (reserve(symbols, functions, texts->sh_size))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (is_function(&items[i]) && items[i].st_name < texts->sh_size)
            symbols->items[symbols->count++] =
                (struct function){.from = items[i].st_value,
                                  .to = items[i].st_value + items[i].st_size,
                                  .name = (uint32_t)symbols->names_size + items[i].st_name,
                                  .rank = rank_of(&items[i])};
    memcpy(symbols->names + symbols->names_size, names, texts->sh_size);
    symbols->names_size += texts->sh_size;
    symbols->names[symbols->names_size] = 0;
    return 0;
}

/* All tables of a type. */
static int add_tables(struct nvt_symbols *symbols, const struct file *file, uint32_t type)
{
    uint32_t count = 0;
    const Elf64_Shdr *sections = sections_of(file, &count);
    int status = 0;
    for (uint32_t i = 0; sections && i < count && !status; i++)
        if (sections[i].sh_type == type)
            status = add_table(symbols, file, sections, count, &sections[i]);
    return status;
}

/* Where the symbols of a file lie that were taken out of it. 0, or -1: it does not say. */
static int find_debug_file(const struct file *file, char *path, size_t size)
{
    uint32_t count = 0;
    const Elf64_Shdr *sections = sections_of(file, &count);
    for (uint32_t i = 0; sections && i < count; i++) {
        const Elf64_Nhdr *note = part(file, sections[i].sh_offset, sections[i].sh_size, 1);
        if (sections[i].sh_type != SHT_NOTE || !note || sections[i].sh_offset % 4 ||
            sections[i].sh_size < sizeof(*note) + 4 + 2 || note->n_type != NT_GNU_BUILD_ID ||
            note->n_namesz != 4 || note->n_descsz < 2 || note->n_descsz > 64 ||
            note->n_descsz > sections[i].sh_size - sizeof(*note) - 4)
            continue;
        const uint8_t *id = (const uint8_t *)(note + 1) + 4;
        int used = snprintf(path, size, DEBUG_FOLDER "/%02x/", id[0]);
        for (uint32_t at = 1; at < note->n_descsz; at++)
            used += snprintf(path + used, size - (size_t)used, "%02x", id[at]);
        snprintf(path + used, size - (size_t)used, ".debug");
        return 0;
    }
    return -1;
}

static int by_place(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* The file's own table; where that was taken out, another file's; and what is left for the linker. */
static int add_all(struct nvt_symbols *symbols, const struct file *file)
{
    char path[256];
    struct file debug;
    if (add_tables(symbols, file, SHT_SYMTAB))
        return -1;
    if (!symbols->count && !find_debug_file(file, path, sizeof(path)) && !open_file(path, &debug)) {
        int status = add_tables(symbols, &debug, SHT_SYMTAB);
        close_file(&debug);
        if (status)
            return -1;
    }
    return symbols->count ? 0 : add_tables(symbols, file, SHT_DYNSYM);
}

struct nvt_symbols *nvt_symbols_read(const char *path)
{
    struct file file;
    struct nvt_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols || open_file(path, &file))
        return symbols;
    int status = add_all(symbols, &file);
    close_file(&file);
    if (status) {
        nvt_symbols_free(symbols);
        return NULL;
    }
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_place);
    return symbols;
}

void nvt_symbols_free(struct nvt_symbols *symbols)
{
    if (!symbols)
        return;
    free(symbols->items);
    free(symbols->names);
    free(symbols);
}

const char *nvt_symbols_find(const struct nvt_symbols *symbols, uint64_t place)
{
    size_t low = 0, high = symbols->count;
    while (low < high) { /* the first behind the place */
        size_t middle = low + (high - low) / 2;
        if (symbols->items[middle].from <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || symbols->items[low - 1].to <= place)
        return NULL;
    /* Of several names of one function the first. */
    size_t at = low - 1;
    while (at && symbols->items[at - 1].from == symbols->items[at].from &&
           symbols->items[at - 1].to > place)
        at--;
    return symbols->names + symbols->items[at].name;
}
