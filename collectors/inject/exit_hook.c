#include "exit_hook.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*before_exit)(void);

static _Noreturn void leave(int status)
{
    before_exit();
    for (;;)
        syscall(SYS_exit_group, status);
}

#if defined(__x86_64__)
#define IS_ADDRESS(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ADDRESS(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_ADDRESS(type) 0
#endif

/* What of an object's dynamic section is needed here. */
struct object {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * relocations[2]; /* of calls, and the others */
    size_t counts[2];
    uintptr_t read_only, read_only_end; /* pages that were made so after relocation */
};

static uintptr_t page_of(uintptr_t place)
{
    return place & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* glibc has already turned these into addresses; other loaders leave offsets. */
static uintptr_t address(uintptr_t base, uintptr_t value)
{
    return value < base ? base + value : value;
}

static int read_object(const struct dl_phdr_info *info, struct object *object)
{
    const ElfW(Dyn) *dynamic = NULL;
    memset(object, 0, sizeof(*object));
    object->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)start;
        /* As the loader does: where pages are larger than the linker took them for, data that the program writes
         * lies in the last, which stays as it is. */
        if (header->p_type == PT_GNU_RELRO) {
            object->read_only = page_of(start);
            object->read_only_end = page_of(start + header->p_memsz);
        }
    }
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t value = address(object->base, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            object->symbols = (const ElfW(Sym) *)value;
        else if (dynamic->d_tag == DT_STRTAB)
            object->strings = (const char *)value;
        else if (dynamic->d_tag == DT_JMPREL)
            object->relocations[0] = (const ElfW(Rela) *)value;
        else if (dynamic->d_tag == DT_RELA)
            object->relocations[1] = (const ElfW(Rela) *)value;
        else if (dynamic->d_tag == DT_PLTRELSZ)
            object->counts[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        else if (dynamic->d_tag == DT_RELASZ)
            object->counts[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
    }
    return object->symbols && object->strings ? 0 : -1;
}

static int replace(const struct object *object, uintptr_t place)
{
    void (*hook)(int) = leave;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = page_of(place);
    int hidden = place >= object->read_only && place < object->read_only_end;
    if (hidden && mprotect((void *)start, page, PROT_READ | PROT_WRITE))
        return 0;
    /* One aligned store: another thread calls the old function or the new one. */
    __atomic_store_n((uintptr_t *)place, (uintptr_t)hook, __ATOMIC_RELEASE);
    if (hidden)
        mprotect((void *)start, page, PROT_READ);
    return 1;
}

static unsigned replace_in(const struct object *object)
{
    unsigned replaced = 0;
    for (int list = 0; list < 2; list++) {
        const ElfW(Rela) *relocation = object->relocations[list];
        for (size_t i = 0; relocation && i < object->counts[list]; i++, relocation++) {
            if (!IS_ADDRESS(ELF64_R_TYPE(relocation->r_info)))
                continue;
            const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
            const char *name = object->strings + symbol->st_name;
            if (!strcmp(name, "_exit") || !strcmp(name, "_Exit"))
                replaced += (unsigned)replace(object, object->base + relocation->r_offset);
        }
    }
    return replaced;
}

static int visit(struct dl_phdr_info *info, size_t size, void *total)
{
    struct object object;
    (void)size;
    /* The kernel's own object has no table that could be written. */
    if (strstr(info->dlpi_name, "linux-vdso") || read_object(info, &object))
        return 0;
    *(unsigned *)total += replace_in(&object);
    return 0;
}

unsigned nvt_exit_hook(void (*before)(void))
{
    unsigned total = 0;
    before_exit = before;
    dl_iterate_phdr(visit, &total);
    return total;
}
