/*
 * Tables for exceptions: how a function's caller had its registers, at one place in it (.eh_frame_hdr and .eh_frame: LSB Core
 * 5.0, 10.6; DWARF 5, 6.4 and 2.5). Nothing outside of the object is read, however wrong the tables are.
 */
#ifndef NVT_CPU_DWARF_H
#define NVT_CPU_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "cpu_unwind.h"

/* Of an object that is loaded. */
struct nvt_dwarf_tables {
    const void *header;    /* .eh_frame_hdr */
    const void *from, *to; /* the object in memory */
};

enum nvt_rule_kind {
    NVT_RULE_SAME = 0,
    NVT_RULE_UNDEFINED,
    NVT_RULE_OFFSET, /* it lies there from the CFA on, */
    NVT_RULE_VALUE,  /* or is that address */
    NVT_RULE_REGISTER,
    NVT_RULE_EXPRESSION, /* it lies where that says, */
    NVT_RULE_VALUE_EXPRESSION,
};

struct nvt_dwarf_rule {
    uint32_t kind; /* enum nvt_rule_kind */
    uint32_t size; /* of the expression */
    int64_t offset;
    const uint8_t *expression;
};

struct nvt_dwarf_rules {
    struct nvt_dwarf_rule cfa; /* an expression, or an offset to a register */
    uint64_t cfa_register;
    struct nvt_dwarf_rule columns[NVT_REGISTERS];
    uint64_t return_column;
    int is_signal; /* the caller was interrupted, and made no call */
};

/* 0, or -1: the tables say nothing of the address, or nothing that we understand. */
int nvt_dwarf_find(const struct nvt_dwarf_tables *tables, uintptr_t address,
                   struct nvt_dwarf_rules *rules);

/* What an expression says, with the CFA (NULL: none) on its stack. 0 or -1. */
int nvt_dwarf_evaluate(const uint8_t *expression, uint32_t size, const uintptr_t *registers,
                       const uintptr_t *cfa, uintptr_t *result, void *reader);

/* A word of memory. 0, or -1: there is none, or it is not aligned. `reader` is a struct nvt_unwind. */
int nvt_dwarf_read(void *reader, uintptr_t address, uintptr_t *value);

#endif
