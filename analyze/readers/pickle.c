#include "pickle.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"

/* How an opcode's argument is written. */
enum form {
    PLAIN, /* there is none */
    U1,
    U2,
    U4,
    S4,
    U8,
    REAL8, /* most significant byte first */
    SIZE1, /* a length of so many bytes, and as many bytes */
    SIZE4,
    SIZE8,
    LINE, /* up to a line's end */
    LINES /* two of them */
};

enum action {
    UNKNOWN,
    SKIP,
    STOP,
    MARK,
    POP,
    POP_MARK,
    DUP,
    GET,
    GET_LINE,
    PUT,
    PUT_LINE,
    MEMOIZE,
    NONE,
    FALSE,
    TRUE,
    INTEGER,
    BIG,       /* the bytes of an integer, least significant first */
    IN_DIGITS, /* an integer as a line; "01" and "00" are bools */
    REAL,
    REAL_LINE,
    TEXT,
    TEXT_LINE,
    EMPTY_LIST,
    EMPTY_DICT,
    LIST,   /* of what lies above the mark */
    TUPLES, /* of one to three values, by `count` */
    DICT,
    APPEND,
    APPENDS,
    SETITEM,
    SETITEMS,
    OTHER,      /* in place of the `count` values on top */
    OTHER_MARK, /* in place of what lies above the mark */
    DROP,       /* the `count` values on top, which change the one below them */
    DROP_MARK
};

struct opcode {
    uint8_t form, action, count;
};

static const struct opcode opcodes[256] = {
    [0x80] = {U1, SKIP, 0},       /* PROTO */
    [0x95] = {U8, SKIP, 0},       /* FRAME */
    [0x98] = {PLAIN, SKIP, 0},    /* READONLY_BUFFER */
    ['.'] = {PLAIN, STOP, 0},     /* STOP */
    ['('] = {PLAIN, MARK, 0},     /* MARK */
    ['0'] = {PLAIN, POP, 0},      /* POP */
    ['1'] = {PLAIN, POP_MARK, 0}, /* POP_MARK */
    ['2'] = {PLAIN, DUP, 0},      /* DUP */
    ['h'] = {U1, GET, 0},         /* BINGET */
    ['j'] = {U4, GET, 0},         /* LONG_BINGET */
    ['g'] = {LINE, GET_LINE, 0},  /* GET */
    ['q'] = {U1, PUT, 0},         /* BINPUT */
    ['r'] = {U4, PUT, 0},         /* LONG_BINPUT */
    ['p'] = {LINE, PUT_LINE, 0},  /* PUT */
    [0x94] = {PLAIN, MEMOIZE, 0},
    ['N'] = {PLAIN, NONE, 0},
    [0x88] = {PLAIN, TRUE, 0},  /* NEWTRUE */
    [0x89] = {PLAIN, FALSE, 0}, /* NEWFALSE */
    ['J'] = {S4, INTEGER, 0},   /* BININT */
    ['K'] = {U1, INTEGER, 0},   /* BININT1 */
    ['M'] = {U2, INTEGER, 0},   /* BININT2 */
    ['I'] = {LINE, IN_DIGITS, 0},
    ['L'] = {LINE, IN_DIGITS, 0},
    [0x8a] = {SIZE1, BIG, 0}, /* LONG1 */
    [0x8b] = {SIZE4, BIG, 0}, /* LONG4 */
    ['G'] = {REAL8, REAL, 0}, /* BINFLOAT */
    ['F'] = {LINE, REAL_LINE, 0},
    ['X'] = {SIZE4, TEXT, 0},  /* BINUNICODE */
    [0x8c] = {SIZE1, TEXT, 0}, /* SHORT_BINUNICODE */
    [0x8d] = {SIZE8, TEXT, 0}, /* BINUNICODE8 */
    ['U'] = {SIZE1, TEXT, 0},  /* SHORT_BINSTRING */
    ['T'] = {SIZE4, TEXT, 0},  /* BINSTRING */
    ['B'] = {SIZE4, TEXT, 0},  /* BINBYTES */
    ['C'] = {SIZE1, TEXT, 0},  /* SHORT_BINBYTES */
    [0x8e] = {SIZE8, TEXT, 0}, /* BINBYTES8 */
    [0x96] = {SIZE8, TEXT, 0}, /* BYTEARRAY8 */
    ['V'] = {LINE, TEXT_LINE, 0},
    ['S'] = {LINE, TEXT_LINE, 0},
    [']'] = {PLAIN, EMPTY_LIST, 0},
    [')'] = {PLAIN, EMPTY_LIST, 0}, /* EMPTY_TUPLE */
    ['}'] = {PLAIN, EMPTY_DICT, 0},
    ['l'] = {PLAIN, LIST, 0},
    ['t'] = {PLAIN, LIST, 0}, /* TUPLE */
    [0x85] = {PLAIN, TUPLES, 1},
    [0x86] = {PLAIN, TUPLES, 2},
    [0x87] = {PLAIN, TUPLES, 3},
    ['d'] = {PLAIN, DICT, 0},
    ['a'] = {PLAIN, APPEND, 0},
    ['e'] = {PLAIN, APPENDS, 0},
    ['s'] = {PLAIN, SETITEM, 0},
    ['u'] = {PLAIN, SETITEMS, 0},
    [0x8f] = {PLAIN, OTHER, 0},      /* EMPTY_SET */
    [0x90] = {PLAIN, DROP_MARK, 0},  /* ADDITEMS */
    [0x91] = {PLAIN, OTHER_MARK, 0}, /* FROZENSET */
    ['c'] = {LINES, OTHER, 0},       /* GLOBAL */
    [0x93] = {PLAIN, OTHER, 2},      /* STACK_GLOBAL */
    ['R'] = {PLAIN, OTHER, 2},       /* REDUCE */
    [0x81] = {PLAIN, OTHER, 2},      /* NEWOBJ */
    [0x92] = {PLAIN, OTHER, 3},      /* NEWOBJ_EX */
    ['b'] = {PLAIN, DROP, 1},        /* BUILD */
    ['i'] = {LINES, OTHER_MARK, 0},  /* INST */
    ['o'] = {PLAIN, OTHER_MARK, 0},  /* OBJ */
    ['P'] = {LINE, OTHER, 0},        /* PERSID */
    ['Q'] = {PLAIN, OTHER, 1},       /* BINPERSID */
    [0x82] = {U1, OTHER, 0},         /* EXT1 */
    [0x83] = {U2, OTHER, 0},         /* EXT2 */
    [0x84] = {S4, OTHER, 0},         /* EXT4 */
    [0x97] = {PLAIN, OTHER, 0},      /* NEXT_BUFFER */
};

/* An argument: a number, or bytes. */
struct argument {
    uint64_t number;
    const uint8_t *bytes;
    size_t size;
};

/* Why a pickle cannot be read on. */
enum trouble { FINE, ENDED, CUT, DAMAGED, NO_MEMORY };

struct machine {
    struct nvt_pickle *pickle;
    const uint8_t *data, *at, *end;
    struct argument argument;
};

/* --- room --- */

#define ROOM(pickle, name, more)                                                                   \
    nvt_reserve(&(pickle)->name##s, &(pickle)->name##_capacity, (pickle)->name##_count + (more),   \
                sizeof(*(pickle)->name##s))

static enum trouble push(struct nvt_pickle *pickle, uint32_t value)
{
    if (nvt_reserve(&pickle->stack, &pickle->stack_capacity, pickle->stack_count + 1,
                    sizeof(*pickle->stack)))
        return NO_MEMORY;
    pickle->stack[pickle->stack_count++] = value;
    return FINE;
}

static enum trouble push_new(struct nvt_pickle *pickle, struct nvt_pickle_value value)
{
    if (pickle->value_count >= NVT_PICKLE_MISSING || ROOM(pickle, value, 1))
        return NO_MEMORY;
    pickle->values[pickle->value_count] = value;
    return push(pickle, (uint32_t)pickle->value_count++);
}

/* The values that most pickles are full of are there once: none, false, true, another, and small numbers. */
enum { AT_NONE, AT_FALSE, AT_TRUE, AT_OTHER, AT_NUMBERS, SMALL = 256 };

static int begin(struct nvt_pickle *pickle)
{
    for (int i = 0; i < AT_NUMBERS + SMALL; i++) {
        struct nvt_pickle_value value = {.kind = NVT_PICKLE_INT, .is.integer = i - AT_NUMBERS};
        if (i < AT_NUMBERS)
            value = (struct nvt_pickle_value){.kind = i == AT_NONE    ? NVT_PICKLE_NONE
                                                      : i == AT_OTHER ? NVT_PICKLE_OTHER
                                                                      : NVT_PICKLE_BOOL,
                                              .is.integer = i == AT_TRUE};
        if (push_new(pickle, value))
            return -1;
    }
    pickle->stack_count = 0;
    return 0;
}

/* --- the stack --- */

/* How many values lie above the mark, or on all where there is none. */
static size_t above(const struct nvt_pickle *pickle)
{
    size_t floor = pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
    return pickle->stack_count - floor;
}

/* Put the `count` values on top into the list or dict below them. Of what is neither, they are lost. */
static enum trouble put_in(struct nvt_pickle *pickle, size_t count)
{
    if (above(pickle) < count + 1)
        return DAMAGED;
    pickle->stack_count -= count;
    struct nvt_pickle_value *into = &pickle->values[pickle->stack[pickle->stack_count - 1]];
    if (!count || (into->kind != NVT_PICKLE_LIST && into->kind != NVT_PICKLE_DICT))
        return FINE;
    if (into->size + (uint64_t)count >= NVT_PICKLE_MISSING ||
        pickle->item_count + count >= NVT_PICKLE_MISSING || ROOM(pickle, item, count))
        return NO_MEMORY;
    memcpy(pickle->items + pickle->item_count, pickle->stack + pickle->stack_count,
           count * sizeof(*pickle->items));
    uint32_t last = into->is.runs.last;
    if (last != NVT_PICKLE_MISSING &&
        pickle->runs[last].first + (size_t)pickle->runs[last].count == pickle->item_count) {
        pickle->runs[last].count += (uint32_t)count;
    } else {
        if (ROOM(pickle, run, 1))
            return NO_MEMORY;
        uint32_t row = (uint32_t)pickle->run_count++;
        pickle->runs[row] = (struct nvt_pickle_run){(uint32_t)pickle->item_count, (uint32_t)count,
                                                    NVT_PICKLE_MISSING};
        if (last == NVT_PICKLE_MISSING)
            into->is.runs.first = row;
        else
            pickle->runs[last].next = row;
        into->is.runs.last = row;
    }
    into->size += (uint32_t)count;
    pickle->item_count += count;
    return FINE;
}

static enum trouble push_empty(struct nvt_pickle *pickle, enum nvt_pickle_kind kind)
{
    struct nvt_pickle_value value = {.kind = (uint8_t)kind};
    value.is.runs.first = value.is.runs.last = NVT_PICKLE_MISSING;
    return push_new(pickle, value);
}

/* A new list or dict of the `count` values on top. */
static enum trouble gather(struct nvt_pickle *pickle, enum nvt_pickle_kind kind, size_t count)
{
    if (above(pickle) < count)
        return DAMAGED;
    enum trouble trouble = push_empty(pickle, kind);
    if (trouble)
        return trouble;
    size_t top = pickle->stack_count - 1, bottom = top - count;
    uint32_t made = pickle->stack[top];
    memmove(pickle->stack + bottom + 1, pickle->stack + bottom, count * sizeof(*pickle->stack));
    pickle->stack[bottom] = made;
    return put_in(pickle, count);
}

/* Take the mark away. 0 and how many values lay above it, or -1: there is none. */
static int unmark(struct nvt_pickle *pickle, size_t *count)
{
    if (!pickle->mark_count)
        return -1;
    *count = above(pickle);
    pickle->mark_count--;
    return 0;
}

static enum trouble drop(struct nvt_pickle *pickle, size_t count)
{
    if (above(pickle) < count)
        return DAMAGED;
    pickle->stack_count -= count;
    return FINE;
}

/* --- the memo --- */

/* It holds no more than a file can put there. */
static enum trouble remember(struct machine *machine, uint64_t at)
{
    struct nvt_pickle *pickle = machine->pickle;
    if (!above(pickle) || at > (uint64_t)(machine->end - machine->data))
        return DAMAGED;
    if (nvt_reserve(&pickle->memo, &pickle->memo_capacity, (size_t)at + 1, sizeof(*pickle->memo)))
        return NO_MEMORY;
    while (pickle->memo_count <= at)
        pickle->memo[pickle->memo_count++] = NVT_PICKLE_MISSING;
    pickle->memo[at] = pickle->stack[pickle->stack_count - 1];
    return FINE;
}

static enum trouble recall(struct nvt_pickle *pickle, uint64_t at)
{
    if (at >= pickle->memo_count || pickle->memo[at] == NVT_PICKLE_MISSING)
        return DAMAGED;
    return push(pickle, pickle->memo[at]);
}

/* --- arguments --- */

static uint64_t little(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static enum trouble take_bytes(struct machine *machine, uint64_t count)
{
    if (count > (uint64_t)(machine->end - machine->at))
        return CUT;
    machine->argument.bytes = machine->at;
    machine->argument.size = (size_t)count;
    machine->at += count;
    return FINE;
}

static enum trouble take_line(struct machine *machine)
{
    const uint8_t *end = memchr(machine->at, '\n', (size_t)(machine->end - machine->at));
    if (!end)
        return CUT;
    machine->argument.bytes = machine->at;
    machine->argument.size = (size_t)(end - machine->at);
    machine->at = end + 1;
    return FINE;
}

static enum trouble take_argument(struct machine *machine, enum form form)
{
    static const uint8_t widths[] = {[U1] = 1,    [U2] = 2,    [U4] = 4,    [S4] = 4,   [U8] = 8,
                                     [REAL8] = 8, [SIZE1] = 1, [SIZE4] = 4, [SIZE8] = 8};
    if (form == LINE || form == LINES) {
        enum trouble trouble = take_line(machine);
        return trouble || form == LINE ? trouble : take_line(machine);
    }
    uint64_t number = 0;
    if (form != PLAIN) {
        enum trouble trouble = take_bytes(machine, widths[form]);
        if (trouble)
            return trouble;
        number = little(machine->argument.bytes, machine->argument.size);
    }
    if (form == REAL8) {
        number = 0;
        for (int i = 0; i < 8; i++)
            number = number << 8 | machine->argument.bytes[i];
    }
    if (form == S4)
        number = (uint64_t)(int64_t)(int32_t)number;
    machine->argument.number = number;
    return form == SIZE1 || form == SIZE4 || form == SIZE8 ? take_bytes(machine, number) : FINE;
}

/* The text of a line, with its end; NULL: it is too long for a number. */
static const char *line(const struct argument *argument, char *out, size_t size)
{
    if (!argument->bytes || argument->size >= size)
        return NULL;
    memcpy(out, argument->bytes, argument->size);
    out[argument->size] = '\0';
    return out;
}

/* A decimal number, with 'L' behind it or not. */
static int digits(const struct argument *argument, int64_t *out)
{
    char text[32], *end = NULL;
    if (!line(argument, text, sizeof(text)))
        return -1;
    *out = strtoll(text, &end, 10);
    return end == text || (*end && *end != 'L') ? -1 : 0;
}

/* --- values --- */

static enum trouble push_integer(struct nvt_pickle *pickle, int64_t value)
{
    if (value >= 0 && value < SMALL)
        return push(pickle, AT_NUMBERS + (uint32_t)value);
    return push_new(pickle, (struct nvt_pickle_value){.kind = NVT_PICKLE_INT, .is.integer = value});
}

/* Two's complement; of nine bytes where 64 bits have no sign. */
static enum trouble push_big(struct nvt_pickle *pickle, const struct argument *argument)
{
    size_t size = argument->size;
    if (size == 9 && !argument->bytes[8])
        size = 8;
    else if (size > 8)
        return push(pickle, AT_OTHER);
    uint64_t value = little(argument->bytes, size);
    if (size && size < 8 && argument->bytes[size - 1] & 0x80)
        value |= UINT64_MAX << (8 * size);
    return push_integer(pickle, (int64_t)value);
}

static enum trouble push_digits(struct nvt_pickle *pickle, const struct argument *argument)
{
    int64_t value;
    if (argument->size == 2 && argument->bytes[0] == '0' &&
        (argument->bytes[1] == '0' || argument->bytes[1] == '1'))
        return push(pickle, argument->bytes[1] == '1' ? AT_TRUE : AT_FALSE);
    return digits(argument, &value) ? push(pickle, AT_OTHER) : push_integer(pickle, value);
}

static enum trouble push_real_line(struct nvt_pickle *pickle, const struct argument *argument)
{
    char text[64];
    if (!line(argument, text, sizeof(text)))
        return push(pickle, AT_OTHER);
    return push_new(
        pickle, (struct nvt_pickle_value){.kind = NVT_PICKLE_REAL, .is.real = strtod(text, NULL)});
}

static enum trouble push_text(struct nvt_pickle *pickle, const uint8_t *bytes, size_t size)
{
    if (size >= NVT_PICKLE_MISSING)
        return push(pickle, AT_OTHER);
    return push_new(pickle, (struct nvt_pickle_value){.kind = NVT_PICKLE_TEXT,
                                                      .size = (uint32_t)size,
                                                      .is.text = (const char *)bytes});
}

/* Without the quotes that Python 2's texts have. */
static enum trouble push_text_line(struct nvt_pickle *pickle, const struct argument *argument)
{
    size_t size = argument->size;
    int quoted = size > 1 && (*argument->bytes == '\'' || *argument->bytes == '"') &&
                 argument->bytes[size - 1] == *argument->bytes;
    return push_text(pickle, argument->bytes + quoted, size - 2 * (size_t)quoted);
}

/* --- opcodes --- */

static enum trouble do_value(struct machine *machine, enum action action)
{
    struct nvt_pickle *pickle = machine->pickle;
    const struct argument *argument = &machine->argument;
    struct nvt_pickle_value real = {.kind = NVT_PICKLE_REAL};
    switch (action) {
    case NONE:
        return push(pickle, AT_NONE);
    case FALSE:
        return push(pickle, AT_FALSE);
    case TRUE:
        return push(pickle, AT_TRUE);
    case INTEGER:
        return push_integer(pickle, (int64_t)argument->number);
    case BIG:
        return push_big(pickle, argument);
    case IN_DIGITS:
        return push_digits(pickle, argument);
    case REAL:
        memcpy(&real.is.real, &argument->number, sizeof(real.is.real));
        return push_new(pickle, real);
    case REAL_LINE:
        return push_real_line(pickle, argument);
    case TEXT:
        return push_text(pickle, argument->bytes, argument->size);
    case TEXT_LINE:
        return push_text_line(pickle, argument);
    case EMPTY_LIST:
        return push_empty(pickle, NVT_PICKLE_LIST);
    case EMPTY_DICT:
        return push_empty(pickle, NVT_PICKLE_DICT);
    default:
        return DAMAGED;
    }
}

static enum trouble do_stack(struct machine *machine, enum action action)
{
    struct nvt_pickle *pickle = machine->pickle;
    int64_t number = -1;
    switch (action) {
    case SKIP:
        return FINE;
    case STOP:
        return pickle->stack_count == 1 && !pickle->mark_count ? ENDED : DAMAGED;
    case MARK:
        if (pickle->stack_count >= NVT_PICKLE_MISSING || ROOM(pickle, mark, 1))
            return NO_MEMORY;
        pickle->marks[pickle->mark_count++] = (uint32_t)pickle->stack_count;
        return FINE;
    case DUP:
        return above(pickle) ? push(pickle, pickle->stack[pickle->stack_count - 1]) : DAMAGED;
    case GET:
        return recall(pickle, machine->argument.number);
    case GET_LINE:
        return digits(&machine->argument, &number) ? DAMAGED : recall(pickle, (uint64_t)number);
    case PUT:
        return remember(machine, machine->argument.number);
    case PUT_LINE:
        return digits(&machine->argument, &number) ? DAMAGED : remember(machine, (uint64_t)number);
    case MEMOIZE:
        return remember(machine, pickle->memo_count);
    default:
        return DAMAGED;
    }
}

/* What takes values from the stack. */
static enum trouble do_many(struct machine *machine, enum action action, size_t count)
{
    struct nvt_pickle *pickle = machine->pickle;
    int needs_mark = action == POP_MARK || action == LIST || action == DICT || action == APPENDS ||
                     action == SETITEMS || action == OTHER_MARK || action == DROP_MARK;
    if (needs_mark && unmark(pickle, &count))
        return DAMAGED;
    switch (action) {
    case POP: /* a mark, where one is on top */
        if (pickle->mark_count && !above(pickle))
            return unmark(pickle, &count) ? DAMAGED : FINE;
        return drop(pickle, 1);
    case POP_MARK:
    case DROP_MARK:
    case DROP:
        return drop(pickle, count);
    case LIST:
    case TUPLES:
        return gather(pickle, NVT_PICKLE_LIST, count);
    case DICT:
        return count % 2 ? DAMAGED : gather(pickle, NVT_PICKLE_DICT, count);
    case APPEND:
        return put_in(pickle, 1);
    case APPENDS:
        return put_in(pickle, count);
    case SETITEM:
        return put_in(pickle, 2);
    case SETITEMS:
        return count % 2 ? DAMAGED : put_in(pickle, count);
    case OTHER:
    case OTHER_MARK: {
        enum trouble trouble = drop(pickle, count);
        return trouble ? trouble : push(pickle, AT_OTHER);
    }
    default:
        return DAMAGED;
    }
}

static enum trouble step(struct machine *machine)
{
    if (machine->at == machine->end)
        return CUT;
    struct opcode opcode = opcodes[*machine->at++];
    enum action action = opcode.action;
    if (action == UNKNOWN)
        return DAMAGED;
    enum trouble trouble = take_argument(machine, opcode.form);
    if (trouble)
        return trouble;
    if (action >= NONE && action <= EMPTY_DICT)
        return do_value(machine, action);
    if (action >= LIST || action == POP || action == POP_MARK)
        return do_many(machine, action, opcode.count);
    return do_stack(machine, action);
}

/* A list into which a dict's rule of pairs was broken, or the other way about, does no harm: who walks a dict takes two at a
 * time. */
int nvt_pickle_read(struct nvt_pickle *pickle, const uint8_t *data, size_t size,
                    struct nvt_error *err)
{
    struct machine machine = {.pickle = pickle, .data = data, .at = data, .end = data + size};
    enum trouble trouble = begin(pickle) ? NO_MEMORY : FINE;
    const uint8_t *at = data;
    while (!trouble) {
        at = machine.at;
        trouble = step(&machine);
    }
    if (trouble == ENDED) {
        pickle->root = pickle->stack[0];
        return 0;
    }
    if (trouble == NO_MEMORY)
        return nvt_fail(err, "out of memory");
    return nvt_fail_at(err, NULL, (int64_t)(at - data),
                       trouble == CUT ? "ends in the middle of a pickle" : "is a damaged pickle");
}
