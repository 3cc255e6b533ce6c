/*
 * Names of the functions in programs and libraries, by the places that samples have: from the symbol tables of ELF files
 * (System V ABI, chapter 4), of the file itself or of what belongs to it below /usr/lib/debug by its build id.
 *
 * A place is what the symbols count from: an address less what the linker has added to all of the file's.
 */
#ifndef NVT_SYMBOLS_H
#define NVT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct nvt_symbols;

/* What a file knows; memory is taken for the symbols that are functions. An empty set when it cannot be read or is no ELF file
 * of this machine's word size; NULL when out of memory. */
struct nvt_symbols *nvt_symbols_read(const char *path);
void nvt_symbols_free(struct nvt_symbols *symbols);

/* The name of the function around a place, as the file has it (C++'s are mangled); NULL: none that the file has. Good
 * until the set is freed. */
const char *nvt_symbols_find(const struct nvt_symbols *symbols, uint64_t place);

#endif
