#include "compare_join.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/grow.h"
#include "../../lib/map.h"

/* A piece of a configuration: its workload (an empty key), or one "key=value". */
struct piece {
    const char *key, *value;
    size_t key_size, value_size, size; /* size: of all of it */
};

/* The piece at `text`, which is not empty; blanks behind it are not of it. */
static struct piece piece_at(const char *text, int is_first)
{
    size_t size = strcspn(text, " ");
    const char *equals = memchr(text, '=', size);
    if (equals)
        return (struct piece){text, equals + 1, (size_t)(equals - text),
                              size - (size_t)(equals + 1 - text), size};
    /* A workload may have several words. */
    for (size_t next = size; is_first && text[next]; next += strcspn(text + next, " ")) {
        next += strspn(text + next, " ");
        if (memchr(text + next, '=', strcspn(text + next, " ")))
            break;
        size = next + strcspn(text + next, " ");
    }
    return (struct piece){is_first ? "" : text, text, is_first ? 0 : size, size, size};
}

/* Whether a configuration has that key; *found gets the piece. */
static int find_piece(const char *configuration, const struct piece *key, struct piece *found)
{
    for (const char *at = configuration; *at; at += strspn(at, " ")) {
        *found = piece_at(at, at == configuration);
        if (found->key_size == key->key_size && !memcmp(found->key, key->key, key->key_size))
            return 1;
        at += found->size;
    }
    return 0;
}

/* The configurations of a side, each once; texts are interned, so they are the same where their pointers are. */
struct side {
    const char **items;
    size_t count;
};

static int add_configuration(struct side *side, const char *configuration)
{
    for (size_t i = side->count; i-- > 0;)
        if (side->items[i] == configuration)
            return 0;
    if (nvt_grow(&side->items, side->count, sizeof(const char *)))
        return -1;
    side->items[side->count++] = configuration;
    return 0;
}

static int find_configurations(const struct nvt_sides *groups, size_t sides, struct side *found)
{
    for (size_t i = 0; i < groups->count; i++)
        for (size_t side = 0; side < sides; side++)
            if (groups->items[i].sides[side].count &&
                add_configuration(&found[side], groups->items[i].configuration))
                return -1;
    return 0;
}

/* Whether all configurations of a side have the same value of a key, which may be none. */
static int is_constant(const struct side *side, const struct piece *key)
{
    struct piece first, other;
    const int has = find_piece(side->items[0], key, &first);
    for (size_t i = 1; i < side->count; i++) {
        if (find_piece(side->items[i], key, &other) != has)
            return 0;
        if (has && (other.value_size != first.value_size ||
                    memcmp(other.value, first.value, first.value_size) != 0))
            return 0;
    }
    return 1;
}

/* Whether it is what the sides differ in. */
static int is_compared(const struct side *all, size_t sides, const struct piece *key)
{
    const char *firsts[NVT_SIDES];
    for (size_t side = 0; side < sides; side++) {
        if (!is_constant(&all[side], key))
            return 0;
        firsts[side] = all[side].items[0];
    }
    /* The first ones differ if they are no side of one value. */
    return !is_constant(&(const struct side){firsts, sides}, key);
}

static int add_note(const struct side *all, size_t sides, const struct piece *key, int is_first,
                    struct nvt_buffer *note)
{
    int failed = nvt_buffer_printf(note, "%s%.*s (", is_first ? "the sides differ in " : ", ",
                                   key->key_size ? (int)key->key_size : 8,
                                   key->key_size ? key->key : "workload");
    for (size_t side = 0; side < sides; side++) {
        struct piece piece;
        const int has = find_piece(all[side].items[0], key, &piece);
        failed |= nvt_buffer_printf(note, "%s%c %.*s", side ? ", " : "", (char)('A' + side),
                                    has ? (int)piece.value_size : 4, has ? piece.value : "none");
    }
    return failed | nvt_buffer_printf(note, ")") ? -1 : 0;
}

/* The keys in which the sides differ, "=" before each. How many; -1: out of memory. */
static int find_compared(const struct side *all, size_t sides, struct nvt_strings *keys,
                         struct nvt_buffer *note)
{
    int count = 0;
    for (size_t side = 0; side < sides; side++)
        for (const char *at = all[side].items[0]; *at; at += strspn(at, " ")) {
            const struct piece piece = piece_at(at, at == all[side].items[0]);
            struct nvt_buffer name = {0};
            int failed = nvt_buffer_printf(&name, "=%.*s", (int)piece.key_size, piece.key);
            const char *text = (const char *)name.data;
            if (!failed && nvt_strings_find(keys, text, name.size) == NVT_NO_STRING &&
                is_compared(all, sides, &piece))
                failed = add_note(all, sides, &piece, !count++, note) ||
                         nvt_strings_add(keys, text, name.size) == NVT_NO_STRING;
            nvt_buffer_free(&name);
            if (failed)
                return -1;
            at += piece.size;
        }
    return count;
}

/* A configuration without what the sides differ in: appended to `rest`, with its end. 0 or -1. */
static int leave_out(const char *configuration, const struct nvt_strings *keys,
                     struct nvt_buffer *rest)
{
    for (const char *at = configuration; *at; at += strspn(at, " ")) {
        const struct piece piece = piece_at(at, at == configuration);
        struct nvt_buffer name = {0};
        int failed = nvt_buffer_printf(&name, "=%.*s", (int)piece.key_size, piece.key);
        if (!failed && nvt_strings_find(keys, (const char *)name.data, name.size) == NVT_NO_STRING)
            failed = nvt_buffer_printf(rest, "%s%.*s", rest->size ? " " : "", (int)piece.size, at);
        nvt_buffer_free(&name);
        if (failed)
            return -1;
        at += piece.size;
    }
    return nvt_buffer_append(rest, "", 1);
}

static int join_groups(struct nvt_sides *groups, const struct nvt_strings *keys)
{
    struct nvt_sides joined;
    int status = nvt_sides_init(&joined);
    for (size_t i = 0; i < groups->count && !status; i++) {
        const struct nvt_compared *from = &groups->items[i];
        struct nvt_buffer rest = {0};
        status = leave_out(from->configuration, keys, &rest);
        if (!status)
            status = nvt_sides_move(&joined, from, (const char *)rest.data);
        nvt_buffer_free(&rest);
    }
    memcpy(joined.origins, groups->origins, sizeof(joined.origins));
    joined.functions = groups->functions;
    nvt_sides_free(groups);
    *groups = joined;
    return status;
}

static int join_memory(struct nvt_compared_memory *memory, const struct nvt_strings *keys)
{
    for (size_t i = 0; i < memory->count; i++) {
        struct nvt_buffer rest = {0};
        if (leave_out(memory->items[i].configuration, keys, &rest)) {
            nvt_buffer_free(&rest);
            return -1;
        }
        free(memory->items[i].configuration);
        memory->items[i].configuration = (char *)rest.data;
    }
    return nvt_compared_memory_join(memory);
}

int nvt_compare_join(struct nvt_sides *groups, struct nvt_compared_memory *memory, size_t sides,
                     struct nvt_buffer *note)
{
    struct side all[NVT_SIDES] = {{NULL, 0}};
    struct nvt_strings *keys = nvt_strings_new();
    int status = keys && !find_configurations(groups, sides, all) ? 0 : -1, count = 0;
    int is_of_all = !groups->has_directories;
    for (size_t side = 0; side < sides; side++)
        is_of_all = is_of_all && all[side].count;
    if (!status && is_of_all)
        count = find_compared(all, sides, keys, note);
    if (count > 0 && (join_groups(groups, keys) || join_memory(memory, keys)))
        status = -1;
    for (size_t side = 0; side < sides; side++)
        free((void *)all[side].items);
    nvt_strings_free(keys);
    return status < 0 || count < 0 ? -1 : count > 0;
}
