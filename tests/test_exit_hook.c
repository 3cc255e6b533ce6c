/*
 * The hook before _exit changes tables of addresses that the loader has made read-only, and leaves the rights of
 * every page as they were: of a made-up object, whose tables end with a page or in the middle of one.
 */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/inject/exit_hook.h"
#include "../lib/pages.h"

#if defined(__x86_64__)
#define ADDRESS R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define ADDRESS R_AARCH64_GLOB_DAT
#else
#define ADDRESS 0
#endif

/* What its first page holds; tables are on the second, from its start. */
struct described {
    ElfW(Phdr) headers[2];
    ElfW(Dyn) dynamic[5];
    ElfW(Rela) relocations[2];
    ElfW(Sym) symbols[3];
    char strings[16];
};

static struct described *object;
static uintptr_t *tables;

int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *data)
{
    struct dl_phdr_info info = {.dlpi_addr = (ElfW(Addr))object,
                                .dlpi_name = "made-up",
                                .dlpi_phdr = object->headers,
                                .dlpi_phnum = 2};
    return visit(&info, sizeof(info), data);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Two functions' addresses, of which one is _exit's, in tables that are said to be of `size` bytes. */
static void make_object(size_t size)
{
    size_t page = page_size();
    object = nvt_pages_new(2 * page);
    assert_non_null(object);
    tables = (uintptr_t *)((char *)object + page);
    memcpy(object->strings, "\0_exit\0exit", 12);
    object->symbols[1].st_name = 1;
    object->symbols[2].st_name = 7;
    for (unsigned i = 0; i < 2; i++)
        object->relocations[i] = (ElfW(Rela)){.r_offset = page + i * sizeof(*tables),
                                              .r_info = ELF64_R_INFO((ElfW(Xword))i + 1, ADDRESS)};
    object->dynamic[0] = (ElfW(Dyn)){DT_SYMTAB, {.d_ptr = (ElfW(Addr))object->symbols}};
    object->dynamic[1] = (ElfW(Dyn)){DT_STRTAB, {.d_ptr = (ElfW(Addr))object->strings}};
    object->dynamic[2] = (ElfW(Dyn)){DT_RELA, {.d_ptr = (ElfW(Addr))object->relocations}};
    object->dynamic[3] = (ElfW(Dyn)){DT_RELASZ, {.d_val = sizeof(object->relocations)}};
    object->headers[0] =
        (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_vaddr = offsetof(struct described, dynamic)};
    object->headers[1] = (ElfW(Phdr)){.p_type = PT_GNU_RELRO, .p_vaddr = page, .p_memsz = size};
    tables[0] = tables[1] = 1;
}

/* Whether a program may write there: asked of the kernel, which says so instead of a signal. */
static int can_be_written(void *place)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    int can = read(ends[0], place, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return can;
}

static void nothing(void)
{
}

static void is_put_into_read_only_tables(void **state)
{
    (void)state;
    make_object(page_size());
    assert_int_equal(mprotect(tables, page_size(), PROT_READ), 0);
    assert_int_equal(nvt_exit_hook(nothing), 1);
    assert_int_not_equal(tables[0], 1);
    assert_int_equal(tables[1], 1);
    assert_false(can_be_written(tables));
    munmap(object, 2 * page_size());
}

/* Of a page that is theirs in part the loader leaves all as it is, and the program's data is in the rest. */
static void leaves_data_beside_tables_writable(void **state)
{
    (void)state;
    make_object(page_size() / 4);
    assert_int_equal(nvt_exit_hook(nothing), 1);
    assert_int_not_equal(tables[0], 1);
    assert_true(can_be_written((char *)tables + page_size() / 2));
    munmap(object, 2 * page_size());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_put_into_read_only_tables),
        cmocka_unit_test(leaves_data_beside_tables_writable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
