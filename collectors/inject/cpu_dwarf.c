#include "cpu_dwarf.h"

#include <string.h>

/* --- reading ---------------------------------------------------------------------------------------- */

/* A part of the tables; `at` is NULL once it was too short. */
struct cursor {
    const uint8_t *at, *end;
};

static uint64_t take_bytes(struct cursor *cursor, size_t size)
{
    uint64_t value = 0;
    if (!cursor->at || (size_t)(cursor->end - cursor->at) < size) {
        cursor->at = NULL;
        return 0;
    }
    memcpy(&value, cursor->at, size); /* the machine's order */
    cursor->at += size;
    return value;
}

static int64_t take_signed(struct cursor *cursor, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(take_bytes(cursor, size) << unused) >> unused;
}

static uint64_t take_uleb(struct cursor *cursor)
{
    uint64_t value = 0, byte = 0x80;
    for (unsigned shift = 0; byte & 0x80 && cursor->at; shift += 7) {
        byte = take_bytes(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
    }
    return value;
}

static int64_t take_sleb(struct cursor *cursor)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    for (; byte & 0x80 && cursor->at; shift += 7) {
        byte = take_bytes(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
    }
    if (byte & 0x40 && shift < 64)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

/* Forms and bases of addresses. */
enum { FORM_SIGNED = 8, BASE_HERE = 0x10, BASE_NONE = 0, INDIRECT = 0x80, OMITTED = 0xff };

/* An address in one of the ways that compilers use. */
static uint64_t take_address(struct cursor *cursor, unsigned encoding)
{
    static const uint8_t sizes[8] = {8, 0, 2, 4, 8, 0, 0, 0};
    uintptr_t here = (uintptr_t)cursor->at;
    size_t size = sizes[encoding & 7];
    unsigned base = encoding & 0x70;
    if (!size || encoding & INDIRECT || (base != BASE_HERE && base != BASE_NONE)) {
        cursor->at = NULL;
        return 0;
    }
    uint64_t value =
        encoding & FORM_SIGNED ? (uint64_t)take_signed(cursor, size) : take_bytes(cursor, size);
    return base == BASE_HERE ? here + value : value;
}

static struct cursor behind(struct cursor cursor, uint64_t size)
{
    if (cursor.at && size <= (uint64_t)(cursor.end - cursor.at))
        cursor.at += size;
    else
        cursor.at = NULL;
    return cursor;
}

/* --- expressions ------------------------------------------------------------------------------------- */

#define DEPTH 16u

struct machine {
    uintptr_t values[DEPTH];
    unsigned count;
    int failed;
};

static void push(struct machine *machine, uintptr_t value)
{
    if (machine->count == DEPTH)
        machine->failed = 1;
    else
        machine->values[machine->count++] = value;
}

static uintptr_t pop(struct machine *machine)
{
    if (!machine->count) {
        machine->failed = 1;
        return 0;
    }
    return machine->values[--machine->count];
}

/* Constants and registers. 0, or -1: it is something else. */
static int push_operand(struct machine *machine, unsigned operation, struct cursor *cursor,
                        const uintptr_t *registers)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
    if (operation >= 0x30 && operation <= 0x4f) { /* lit */
        push(machine, operation - 0x30);
    } else if (operation >= 0x70 && operation <= 0x8f) { /* breg */
        uintptr_t offset = (uintptr_t)take_sleb(cursor);
        machine->failed |= operation - 0x70 >= NVT_REGISTERS;
        push(machine, machine->failed ? 0 : registers[operation - 0x70] + offset);
    } else if (operation >= 0x08 && operation <= 0x0f) { /* const1u to const8s */
        size_t size = sizes[operation - 0x08];
        push(machine, operation & 1 ? (uintptr_t)take_signed(cursor, size)
                                    : (uintptr_t)take_bytes(cursor, size));
    } else if (operation == 0x10) { /* constu */
        push(machine, take_uleb(cursor));
    } else if (operation == 0x11) { /* consts */
        push(machine, (uintptr_t)take_sleb(cursor));
    } else if (operation == 0x23) { /* plus_uconst */
        uintptr_t more = take_uleb(cursor);
        push(machine, pop(machine) + more);
    } else {
        return -1;
    }
    return 0;
}

static uint64_t compute(unsigned operation, uint64_t first, uint64_t second)
{
    int64_t left = (int64_t)first, right = (int64_t)second;
    switch (operation) {
    case 0x1a:
        return first & second;
    case 0x1c:
        return first - second;
    case 0x1e:
        return first * second;
    case 0x21:
        return first | second;
    case 0x22:
        return first + second;
    case 0x24:
        return second < 64 ? first << second : 0;
    case 0x25:
        return second < 64 ? first >> second : 0;
    case 0x26:
        return (uint64_t)(left >> (second < 63 ? second : 63));
    case 0x27:
        return first ^ second;
    case 0x29:
        return left == right;
    case 0x2a:
        return left >= right;
    case 0x2b:
        return left > right;
    case 0x2c:
        return left <= right;
    case 0x2d:
        return left < right;
    default:
        return left != right; /* 0x2e */
    }
}

/* Of two values, the upper one second. 0, or -1: it is something else. */
static int combine(struct machine *machine, unsigned operation)
{
    static const uint8_t known[] = {0x1a, 0x1c, 0x1e, 0x21, 0x22, 0x24, 0x25, 0x26,
                                    0x27, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e};
    if (!memchr(known, (int)operation, sizeof(known)))
        return -1;
    uint64_t second = pop(machine), first = pop(machine);
    push(machine, (uintptr_t)compute(operation, first, second));
    return 0;
}

int nvt_dwarf_evaluate(const uint8_t *expression, uint32_t size, const uintptr_t *registers,
                       const uintptr_t *cfa, uintptr_t *result, void *reader)
{
    struct machine machine = {.count = 0};
    struct cursor cursor = {expression, expression + size};
    if (cfa)
        push(&machine, *cfa);
    while (cursor.at && cursor.at < cursor.end && !machine.failed) {
        unsigned operation = (unsigned)take_bytes(&cursor, 1);
        uintptr_t value = 0;
        if (!push_operand(&machine, operation, &cursor, registers) || !combine(&machine, operation))
            continue;
        if (operation == 0x06) { /* deref */
            machine.failed |= nvt_dwarf_read(reader, pop(&machine), &value) != 0;
            push(&machine, value);
        } else if (operation == 0x12) { /* dup */
            value = pop(&machine);
            push(&machine, value);
            push(&machine, value);
        } else if (operation == 0x13) { /* drop */
            pop(&machine);
        } else if (operation != 0x96) { /* nop */
            return -1;
        }
    }
    *result = pop(&machine);
    return machine.failed || !cursor.at ? -1 : 0;
}

/* --- rules ------------------------------------------------------------------------------------------- */

/* What is common to functions. */
struct common {
    uint64_t code_unit;
    int64_t data_unit;
    unsigned encoding; /* of addresses */
    int has_sizes;     /* of what else there is of a function */
    struct cursor instructions;
};

#define REMEMBERED 6u

struct run {
    struct nvt_dwarf_rules *now;
    const struct common *common;
    struct nvt_dwarf_rules first, kept[REMEMBERED];
    unsigned kept_count;
    uint64_t place, wanted;
    int failed;
};

static void set_rule(struct run *run, uint64_t column, enum nvt_rule_kind kind, int64_t offset)
{
    if (column < NVT_REGISTERS) /* others are nobody's that we need */
        run->now->columns[column] = (struct nvt_dwarf_rule){.kind = kind, .offset = offset};
}

static void set_expression(struct cursor *cursor, struct nvt_dwarf_rule *rule,
                           enum nvt_rule_kind kind)
{
    uint64_t size = take_uleb(cursor);
    const uint8_t *from = cursor->at;
    *cursor = behind(*cursor, size);
    if (cursor->at && rule)
        *rule = (struct nvt_dwarf_rule){.kind = kind, .size = (uint32_t)size, .expression = from};
}

static void give_back(struct run *run, uint64_t column)
{
    if (column < NVT_REGISTERS)
        run->now->columns[column] = run->first.columns[column];
}

/* Those that say where the CFA is. 0, or -1: it is another one. */
static int run_cfa(struct run *run, unsigned operation, struct cursor *cursor)
{
    struct nvt_dwarf_rules *now = run->now;
    int64_t unit = run->common->data_unit;
    if (operation == 0x0c || operation == 0x12) /* def_cfa, _sf */
        now->cfa_register = take_uleb(cursor);
    if (operation == 0x0d) { /* def_cfa_register */
        now->cfa_register = take_uleb(cursor);
        now->cfa.kind = NVT_RULE_OFFSET;
    } else if (operation == 0x0c || operation == 0x0e) {
        now->cfa =
            (struct nvt_dwarf_rule){.kind = NVT_RULE_OFFSET, .offset = (int64_t)take_uleb(cursor)};
    } else if (operation == 0x12 || operation == 0x13) {
        int64_t offset = take_sleb(cursor);
        now->cfa = (struct nvt_dwarf_rule){.kind = NVT_RULE_OFFSET,
                                           .offset = (int64_t)((uint64_t)offset * (uint64_t)unit)};
    } else if (operation == 0x0f) {
        set_expression(cursor, &now->cfa, NVT_RULE_EXPRESSION);
    } else {
        return -1;
    }
    return 0;
}

/* Those of one column. 0, or -1: it is another one. */
static int run_column(struct run *run, unsigned operation, struct cursor *cursor)
{
    static const uint8_t of_column[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x10,
                                        0x11, 0x14, 0x15, 0x16, 0x2f};
    uint64_t unit = (uint64_t)run->common->data_unit;
    if (!memchr(of_column, (int)operation, sizeof(of_column)))
        return -1;
    uint64_t column = take_uleb(cursor);
    if (operation == 0x05)
        set_rule(run, column, NVT_RULE_OFFSET, (int64_t)(take_uleb(cursor) * unit));
    else if (operation == 0x06)
        give_back(run, column);
    else if (operation == 0x07)
        set_rule(run, column, NVT_RULE_UNDEFINED, 0);
    else if (operation == 0x08)
        set_rule(run, column, NVT_RULE_SAME, 0);
    else if (operation == 0x09)
        set_rule(run, column, NVT_RULE_REGISTER, (int64_t)take_uleb(cursor));
    else if (operation == 0x11)
        set_rule(run, column, NVT_RULE_OFFSET, (int64_t)((uint64_t)take_sleb(cursor) * unit));
    else if (operation == 0x14)
        set_rule(run, column, NVT_RULE_VALUE, (int64_t)(take_uleb(cursor) * unit));
    else if (operation == 0x15)
        set_rule(run, column, NVT_RULE_VALUE, (int64_t)((uint64_t)take_sleb(cursor) * unit));
    else if (operation == 0x2f)
        set_rule(run, column, NVT_RULE_OFFSET, -(int64_t)(take_uleb(cursor) * unit));
    else
        set_expression(cursor, column < NVT_REGISTERS ? &run->now->columns[column] : NULL,
                       operation == 0x10 ? NVT_RULE_EXPRESSION : NVT_RULE_VALUE_EXPRESSION);
    return 0;
}

static void run_rest(struct run *run, unsigned operation, struct cursor *cursor)
{
    uint64_t unit = run->common->code_unit;
    if (operation >= 0x02 && operation <= 0x04) { /* advance_loc1, 2, 4 */
        run->place += take_bytes(cursor, (size_t)1 << (operation - 2)) * unit;
    } else if (operation == 0x0a && run->kept_count < REMEMBERED) {
        run->kept[run->kept_count++] = *run->now;
    } else if (operation == 0x0b && run->kept_count) {
        *run->now = run->kept[--run->kept_count];
    } else if (operation == 0x2e) { /* args_size */
        take_uleb(cursor);
    } else if (operation && operation != 0x2d) { /* nop; a signature of return addresses */
        run->failed = 1;
    }
}

/* Up to the place that is asked for. */
static void run_all(struct run *run, struct cursor cursor)
{
    while (cursor.at && cursor.at < cursor.end && !run->failed && run->place <= run->wanted) {
        unsigned operation = (unsigned)take_bytes(&cursor, 1), low = operation & 0x3f;
        if (operation >> 6 == 1)
            run->place += low * run->common->code_unit;
        else if (operation >> 6 == 2)
            set_rule(run, low, NVT_RULE_OFFSET,
                     (int64_t)(take_uleb(&cursor) * (uint64_t)run->common->data_unit));
        else if (operation >> 6 == 3)
            give_back(run, low);
        else if (run_cfa(run, operation, &cursor) && run_column(run, operation, &cursor))
            run_rest(run, operation, &cursor);
    }
    run->failed |= !cursor.at;
}

/* --- tables ------------------------------------------------------------------------------------------ */

/* An entry of .eh_frame; its length stands first. */
static struct cursor entry_at(const struct nvt_dwarf_tables *tables, const uint8_t *at)
{
    struct cursor cursor = {at, tables->to};
    if (at < (const uint8_t *)tables->from || at >= cursor.end)
        return (struct cursor){NULL, NULL};
    uint64_t length = take_bytes(&cursor, 4);
    if (!cursor.at || length < 4 || length > (uint64_t)(cursor.end - cursor.at))
        return (struct cursor){NULL, NULL};
    cursor.end = cursor.at + length;
    return cursor;
}

/* The letters of what else there is. 0, or -1: one is unknown. */
static int read_letters(struct cursor *cursor, const char *letters, struct common *common,
                        struct nvt_dwarf_rules *rules)
{
    if (*letters != 'z')
        return *letters ? -1 : 0;
    uint64_t size = take_uleb(cursor);
    struct cursor rest = *cursor, end = behind(*cursor, size);
    common->has_sizes = 1;
    while (*++letters && rest.at) {
        if (*letters == 'R')
            common->encoding = (unsigned)take_bytes(&rest, 1);
        else if (*letters == 'S')
            rules->is_signal = 1;
        else if (*letters == 'L')
            take_bytes(&rest, 1);
        else if (*letters == 'P')
            /* Whose it is says nothing here: only its size counts. */
            take_address(&rest, (unsigned)take_bytes(&rest, 1) & 0x0f);
        else if (*letters != 'B')
            return -1;
    }
    *cursor = end;
    return rest.at && end.at ? 0 : -1;
}

static int read_common(const struct nvt_dwarf_tables *tables, const uint8_t *at,
                       struct common *common, struct nvt_dwarf_rules *rules)
{
    struct cursor cursor = entry_at(tables, at);
    if (take_bytes(&cursor, 4) || !cursor.at) /* it is no function's */
        return -1;
    unsigned version = (unsigned)take_bytes(&cursor, 1);
    const char *letters = (const char *)cursor.at;
    const uint8_t *end = cursor.at ? memchr(cursor.at, 0, (size_t)(cursor.end - cursor.at)) : NULL;
    if (!end || (version != 1 && version != 3))
        return -1;
    cursor.at = end + 1;
    common->code_unit = take_uleb(&cursor);
    common->data_unit = take_sleb(&cursor);
    rules->return_column = version == 1 ? take_bytes(&cursor, 1) : take_uleb(&cursor);
    if (read_letters(&cursor, letters, common, rules) || !cursor.at ||
        rules->return_column >= NVT_REGISTERS)
        return -1;
    common->instructions = cursor;
    return 0;
}

/* The entry of the last function that begins at the address or before; NULL: none. */
static const uint8_t *find_entry(const struct nvt_dwarf_tables *tables, uintptr_t address)
{
    const uint8_t *header = tables->header;
    struct cursor cursor = {header, tables->to};
    if (header < (const uint8_t *)tables->from || header >= cursor.end)
        return NULL;
    uint64_t kind = take_bytes(&cursor, 4);
    /* Version 1; the way that all linkers write the table: 4 bytes each, from the header on. */
    if ((kind & 0xff) != 1 || kind >> 16 != 0x3b03 || (kind >> 8 & 0x0f) != 0x0b)
        return NULL;
    cursor = behind(cursor, 4);
    uint64_t count = take_bytes(&cursor, 4), low = 0;
    if (!cursor.at || count > (uint64_t)(cursor.end - cursor.at) / 8)
        return NULL;
    int64_t wanted = (int64_t)(address - (uintptr_t)header);
    for (uint64_t high = count; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        int32_t begin;
        memcpy(&begin, cursor.at + middle * 8, sizeof(begin));
        if (begin <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    int32_t entry;
    if (!low)
        return NULL;
    memcpy(&entry, cursor.at + (low - 1) * 8 + 4, sizeof(entry));
    return (const uint8_t *)((uintptr_t)header + (uintptr_t)(intptr_t)entry);
}

int nvt_dwarf_find(const struct nvt_dwarf_tables *tables, uintptr_t address,
                   struct nvt_dwarf_rules *rules)
{
    struct common common = {.encoding = 0};
    struct run run; /* most of it is written where it is needed, if at all */
    const uint8_t *entry = find_entry(tables, address);
    struct cursor cursor = entry ? entry_at(tables, entry) : (struct cursor){NULL, NULL};
    const uint8_t *here = cursor.at;
    uint64_t back = take_bytes(&cursor, 4);
    memset(rules, 0, sizeof(*rules));
    if (!cursor.at || !back || back > (uintptr_t)here ||
        read_common(tables, (const uint8_t *)((uintptr_t)here - back), &common, rules))
        return -1;
    uint64_t from = take_address(&cursor, common.encoding);
    uint64_t size = take_address(&cursor, common.encoding & 0x07);
    if (!cursor.at || address - from >= size)
        return -1;
    if (common.has_sizes) {
        uint64_t more = take_uleb(&cursor);
        cursor = behind(cursor, more);
    }
    run.now = rules;
    run.common = &common;
    run.kept_count = 0;
    run.failed = 0;
    run.place = 0;
    run.wanted = UINT64_MAX;
    memset(&run.first, 0, sizeof(run.first));
    run_all(&run, common.instructions);
    run.first = *rules;
    run.place = from;
    run.wanted = address;
    run_all(&run, cursor);
    return run.failed ? -1 : 0;
}
