#ifdef HAVE_SQLITE
#include "nsys_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/grow.h"
#include "../model/interchange.h"
#include "frames.h"

#define DEPTH NVT_EXPORT_STACK_DEPTH
/* What is no function. */
#define ARTIFICIAL (NVT_NONE - 1)
#define KERNEL     "[kernel]"
#define UNKNOWN    "[Unknown]"

/* A row of the model that a stack is of. */
struct user {
    int64_t id; /* of the stack */
    uint32_t row;
    uint32_t is_done; /* of the first of an id: its stack was read */
};

struct function {
    uint32_t name, module; /* strings */
};

struct nvt_nsys_stacks {
    /* Of all tables: */
    struct nvt_map ids_of; /* symbol << 32 | module << 1 | whether of the kernel -> function */
    struct nvt_map texts;  /* name << 32 | module -> function */
    struct nvt_frame_tree frames;
    struct function *functions;
    uint32_t function_count;
    /* Of the table that is read, or is read next: */
    struct user *users;
    uint32_t count;
    uint32_t *frame; /* columns of the users' rows; flags may be NULL */
    uint8_t *flags;
    uint32_t kept; /* rows of call_frames that were there before it */
    int is_disordered, is_sorted;
    /* The stack that is being read, and the last one that was, from its outermost function on. */
    uint32_t at; /* the first of its users, or NVT_NONE: there is none */
    int64_t id;
    int64_t depth; /* of its last row, -1: there was none */
    int looked;    /* for callers */
    uint32_t stack[DEPTH], stack_count;
    uint32_t before[DEPTH], rows[DEPTH], before_count;
};

void nvt_nsys_stacks_free(struct nvt_nsys *reader)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    if (!stacks)
        return;
    nvt_map_free(&stacks->ids_of);
    nvt_map_free(&stacks->texts);
    nvt_frame_tree_free(&stacks->frames);
    free(stacks->functions);
    free(stacks->users);
    free(stacks);
    reader->stacks = NULL;
}

/* --- whose stacks they are --- */

int nvt_nsys_stacks_want(struct nvt_nsys *reader, int64_t id, uint32_t row)
{
    if (!reader->stacks)
        reader->stacks = calloc(1, sizeof(*reader->stacks));
    struct nvt_nsys_stacks *stacks = reader->stacks;
    if (!stacks || nvt_grow(&stacks->users, stacks->count, sizeof(*stacks->users)))
        return -1;
    stacks->users[stacks->count++] = (struct user){.id = id, .row = row};
    return 0;
}

static int compare_users(const void *left, const void *right)
{
    const struct user *a = left, *b = right;
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : (a->row > b->row) - (a->row < b->row);
}

static void sort_users(struct nvt_nsys_stacks *stacks)
{
    for (uint32_t i = 1; i < stacks->count; i++)
        if (stacks->users[i].id < stacks->users[i - 1].id) {
            qsort(stacks->users, stacks->count, sizeof(*stacks->users), compare_users);
            return;
        }
}

/* Behind the last user of the same stack. */
static uint32_t behind(const struct nvt_nsys_stacks *stacks, uint32_t at)
{
    const int64_t id = stacks->users[at].id;
    while (at < stacks->count && stacks->users[at].id == id)
        at++;
    return at;
}

/* The first of its users, or NVT_NONE: most often the one behind those of the last stack. */
static uint32_t find_user(const struct nvt_nsys_stacks *stacks, int64_t id)
{
    uint32_t low = stacks->at == NVT_NONE ? 0 : behind(stacks, stacks->at);
    if (low < stacks->count && stacks->users[low].id == id)
        return low;
    low = 0;
    NVT_BISECT(low, stacks->count, stacks->users[low].id < id);
    return low < stacks->count && stacks->users[low].id == id ? low : NVT_NONE;
}

/* --- functions --- */

enum { C_ID, C_DEPTH, C_SYMBOL, C_MODULE, C_KERNEL, C_SPECIAL, C_METHOD, C_ADDRESS };

#define CALLCHAIN_COLUMNS                                                                          \
    {                                                                                              \
        "id", "stackDepth", "symbol", "module", "kernelMode", "specialEntry", "unwindMethod",      \
            "originalIP"                                                                           \
    }

static int is_bracketed(const char *text)
{
    return *text == '[' && text[strlen(text) - 1] == ']';
}

static uint32_t function_called(struct nvt_nsys *reader, uint32_t name, uint32_t module)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    struct function *function =
        nvt_map_item(&stacks->texts, (uint64_t)name << 32 | module, &stacks->functions,
                     &stacks->function_count, sizeof(*function));
    if (!function)
        return NVT_NONE;
    *function = (struct function){name, module};
    return (uint32_t)(function - stacks->functions);
}

/* What a row names; NVT_NONE when out of memory, ARTIFICIAL. */
static uint32_t named_function(struct nvt_nsys *reader, struct nvt_nsys_table *table, int is_kernel)
{
    struct nvt_strings *strings = reader->trace->strings;
    uint32_t name = nvt_nsys_name(reader, table, C_SYMBOL);
    uint32_t module = nvt_nsys_name(reader, table, C_MODULE);
    char address[24];
    if (name == NVT_NO_STRING || module == NVT_NO_STRING)
        return NVT_NONE;
    const char *text = nvt_name(reader->trace, name), *in = nvt_name(reader->trace, module);
    if (is_bracketed(text) && !strcmp(text, in) && strcmp(text, UNKNOWN))
        return ARTIFICIAL;
    if (!*text && !nvt_nsys_is_null(table, C_ADDRESS)) {
        snprintf(address, sizeof(address), "0x%" PRIx64,
                 (uint64_t)nvt_nsys_int(table, C_ADDRESS, 0));
        name = nvt_strings_add_text(strings, address);
    } else if (!*text)
        name = nvt_strings_add_text(strings, UNKNOWN);
    if (is_kernel && strncmp(in, "[kernel", 7))
        module = nvt_strings_add_text(strings, KERNEL);
    else if (!strcmp(in, UNKNOWN))
        module = 0;
    if (name == NVT_NO_STRING || module == NVT_NO_STRING)
        return NVT_NONE;
    return function_called(reader, name, module);
}

/* The function of a row, found once for each pair of ids. */
static uint32_t function_of(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    int is_kernel = nvt_nsys_int(table, C_KERNEL, 0) != 0;
    if (nvt_nsys_type(table, C_SYMBOL) != SQLITE_INTEGER ||
        nvt_nsys_type(table, C_MODULE) == SQLITE_TEXT)
        return named_function(reader, table, is_kernel);
    int64_t symbol = nvt_nsys_int(table, C_SYMBOL, 0), module = nvt_nsys_int(table, C_MODULE, 0);
    if (symbol < 0 || symbol > INT32_MAX || module < 0 || module > INT32_MAX)
        return named_function(reader, table, is_kernel);
    uint64_t key = (uint64_t)symbol << 32 | (uint64_t)module << 1 | (uint64_t)is_kernel;
    uint32_t known = nvt_map_get(&reader->stacks->ids_of, key);
    if (known != NVT_MAP_NONE)
        return known;
    uint32_t function = named_function(reader, table, is_kernel);
    uint32_t name = nvt_map_get(&reader->strings, (uint64_t)symbol);
    if (function == NVT_NONE || name == NVT_MAP_NONE || !*nvt_name(reader->trace, name))
        return function; /* without a name it is its address, which others are not at */
    return nvt_map_set(&reader->stacks->ids_of, key, function) ? NVT_NONE : function;
}

/* --- stacks --- */

/* The stack is complete: its users get it. Most stacks begin as the last one did. 0 or -1. */
static int finish_stack(struct nvt_nsys *reader)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    uint32_t count = stacks->stack_count, level = 0;
    if (stacks->at == NVT_NONE || stacks->depth < 0)
        return 0;
    while (level < count && level < stacks->before_count &&
           stacks->before[level] == stacks->stack[count - 1 - level])
        level++;
    for (; level < count; level++) {
        uint32_t function = stacks->stack[count - 1 - level];
        stacks->before[level] = function;
        stacks->rows[level] =
            nvt_frames_below(&stacks->frames, reader->trace, level ? stacks->rows[level - 1] : 0,
                             stacks->functions[function].name, stacks->functions[function].module);
        if (!stacks->rows[level])
            return -1;
        stacks->before_count = level + 1;
    }
    stacks->users[stacks->at].is_done = 1;
    for (uint32_t i = stacks->at, end = behind(stacks, i); i < end; i++) {
        uint32_t row = stacks->users[i].row;
        stacks->frame[row] = count ? stacks->rows[count - 1] : 0;
        if (stacks->flags)
            stacks->flags[row] = count == 1 && !stacks->looked ? NVT_CPU_SAMPLE_NO_CALLERS : 0;
    }
    return 0;
}

/* 0, or -1. */
static int begin_stack(struct nvt_nsys *reader, int64_t id)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    if (finish_stack(reader))
        return -1;
    uint32_t at = find_user(stacks, id);
    stacks->id = id;
    stacks->depth = at == NVT_NONE ? 0 : -1; /* -1 there: nothing has begun yet */
    stacks->at = at;
    stacks->stack_count = 0;
    stacks->looked = 0;
    stacks->is_disordered |= at != NVT_NONE && stacks->users[at].is_done;
    return 0;
}

static int entry(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    int64_t id = nvt_nsys_int(table, C_ID, 0);
    if (stacks->is_disordered && !stacks->is_sorted)
        return 0; /* it is read again */
    if ((id != stacks->id || (stacks->at == NVT_NONE && stacks->depth < 0)) &&
        begin_stack(reader, id))
        return -1;
    if (stacks->at == NVT_NONE)
        return 0;
    int64_t depth = (int64_t)nvt_nsys_size(table, C_DEPTH);
    if (depth <= stacks->depth) {
        stacks->is_disordered = 1;
        return 0; /* sorted: there are two of them */
    }
    stacks->depth = depth;
    uint32_t function = nvt_nsys_int(table, C_SPECIAL, 0) ? ARTIFICIAL : function_of(reader, table);
    if (function == NVT_NONE)
        return -1;
    stacks->looked |= function == ARTIFICIAL || nvt_nsys_int(table, C_METHOD, 0);
    if (function != ARTIFICIAL && stacks->stack_count < DEPTH)
        stacks->stack[stacks->stack_count++] = function;
    return 0;
}

/* --- tables --- */

static void begin_table(struct nvt_nsys_stacks *stacks)
{
    stacks->at = NVT_NONE;
    stacks->depth = -1;
    stacks->before_count = 0;
}

/* Everything as it was before the table: its rows were in no order. Columns are zero where no rows are. 0, or -1 when out
 * of memory. */
static int forget_table(struct nvt_nsys *reader)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    struct nvt_call_frames *frames = &reader->trace->call_frames;
    const size_t more = (frames->count - stacks->kept) * sizeof(uint32_t);
    if (more) {
        memset(frames->parent + stacks->kept, 0, more);
        memset(frames->name + stacks->kept, 0, more);
        memset(frames->module + stacks->kept, 0, more);
    }
    frames->count = stacks->kept;
    nvt_frame_tree_free(&stacks->frames);
    for (uint32_t i = 0; i < frames->count; i++) {
        uint32_t *row = nvt_frame_tree_at(&stacks->frames, frames->parent[i], frames->name[i],
                                          frames->module[i]);
        if (!row)
            return -1;
        *row = i;
    }
    for (uint32_t i = 0; i < stacks->count; i++) {
        stacks->users[i].is_done = 0;
        stacks->frame[stacks->users[i].row] = 0;
        if (stacks->flags)
            stacks->flags[stacks->users[i].row] = 0;
    }
    begin_table(stacks);
    return 0;
}

static int read_table(struct nvt_nsys *reader, const char *table)
{
    const struct nvt_nsys_spec as_they_come = {table, NULL, 3, CALLCHAIN_COLUMNS, entry};
    const struct nvt_nsys_spec sorted = {table, "1 ORDER BY \"id\", \"stackDepth\"", 3,
                                         CALLCHAIN_COLUMNS, entry};
    struct nvt_nsys_stacks *stacks = reader->stacks;
    stacks->kept = reader->trace->call_frames.count;
    stacks->is_disordered = stacks->is_sorted = 0;
    begin_table(stacks);
    if (nvt_nsys_read(reader, &as_they_come))
        return -1;
    if (stacks->is_disordered) {
        stacks->is_sorted = 1;
        if (forget_table(reader))
            return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
        if (nvt_nsys_read(reader, &sorted))
            return -1;
    }
    return finish_stack(reader) ? nvt_fail_at(reader->err, reader->path, -1, "out of memory") : 0;
}

int nvt_nsys_stacks_read(struct nvt_nsys *reader, const char *table, uint32_t *frame,
                         uint8_t *flags)
{
    struct nvt_nsys_stacks *stacks = reader->stacks;
    if (!stacks || !stacks->count)
        return 0;
    stacks->frame = frame;
    stacks->flags = flags;
    sort_users(stacks);
    int status = read_table(reader, table);
    free(stacks->users);
    stacks->users = NULL;
    stacks->count = 0;
    return status;
}
#endif
