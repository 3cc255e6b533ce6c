#include "flame_label.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../analyze/studies/stacks.h"
#include "../analyze/model/cuda_names.h"
#include "../lib/text.h"
#include "label.h"

/* No letter is narrower, px. */
#define LETTER_LEAST 3.3

/* A name from where it goes on behind that of the range around it: ".fc1 (Linear)" of "layers.*.fc1
 * (Linear)" in "layers.* (Block)". */
static const char *own_part(const struct nvt_flame_label *label)
{
    const char *name = label->name, *around = label->around;
    size_t length = 0;
    if (!around || label->kind != NVT_STACK_RANGE)
        return name;
    for (; name[length] && name[length] == around[length]; length++)
        continue;
    /* As much as ends where a part of both names does. */
    if (strchr("./", name[length]) && name[length] && !isalnum((unsigned char)around[length]))
        return name + length;
    return name;
}

/* "operator()" of a class, with that: "Loop::operator()". */
static void brief_operator(const char *own, const char *name, char *out, size_t size)
{
    const char *scope = own;
    while (scope - 3 >= name && (isalnum((unsigned char)scope[-3]) || scope[-3] == '_'))
        scope--;
    if (scope < own && !strncmp(own - 2, "::", 2))
        snprintf(out, size, "%.*s::operator()", (int)(own - scope), scope - 2);
    else
        snprintf(out, size, "operator()");
}

/* A function's name in samples: as C++ writes it, without scopes, templates and parameters, as kernels are called for short;
 * of Python without its line, where that has no room. */
static const char *brief_name(const char *name, uint32_t kind, size_t room, char *out, size_t size)
{
    size_t length = strlen(name);
    const char *own = name;
    if (kind == NVT_STACK_PYTHON) {
        const char *line = strstr(name, " (");
        length = nvt_text_width(name) > room && line > name ? (size_t)(line - name) : length;
    } else if (*name != '[' && strpbrk(name, "(<:"))
        own = nvt_short_name(name, length, &length);
    if (length == 8 && !strncmp(own, "operator", length) && own > name + 2)
        brief_operator(own, name, out, size);
    else
        snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), own);
    return out;
}

static int is_function(uint32_t kind)
{
    return kind == NVT_STACK_PYTHON || kind == NVT_STACK_PROGRAM || kind == NVT_STACK_LIBRARY ||
           kind == NVT_STACK_SYSTEM;
}

/* As much of a name as has so many letters' room, and what is to stand behind it where that has, too; empty: nothing to be read. */
static void write_within(const struct nvt_flame_label *what, size_t room, char *out, size_t size)
{
    enum { LEAST = 5, APART = 8, BOTH = 10 };
    const int is_kernel = what->kind == NVT_STACK_KERNEL;
    struct nvt_label items[1 + NVT_FLAME_BROTHERS] = {
        {*what->name ? what->name : "(no name)", is_kernel}};
    struct nvt_labels labels = {items, 1};
    char brief[256];
    if (is_function(what->kind) && *what->name)
        items[0].name = brief_name(what->name, what->kind, room, brief, sizeof(brief));
    else if (is_kernel || nvt_text_width(items[0].name) > room) {
        items[0].name = *what->name ? own_part(what) : items[0].name;
        for (size_t i = 0; room > APART && i < what->brother_count && i < NVT_FLAME_BROTHERS; i++) {
            struct nvt_flame_label brother = *what;
            brother.name = what->brothers[i];
            items[labels.count++] = (struct nvt_label){own_part(&brother), is_kernel};
        }
    }
    nvt_label_write(&labels, 0, room, out, size);
    if (nvt_text_width(out) >= room && strstr(out, "…") && room >= LEAST)
        nvt_label_write(&labels, 0,
                        (room < BOTH + what->after_room ? room : room - what->after_room) - 1, out,
                        size);
    size_t width = nvt_text_width(out), used = strlen(out);
    if (width > room)
        *out = 0;
    else if (width + what->after_room <= room)
        snprintf(out + used, size - used, "%s", what->after);
}

void nvt_flame_label_write(const struct nvt_flame_label *label, double pixels, char *out,
                           size_t size)
{
    const double inner = pixels - 6;
    size_t room = inner > 0 ? (size_t)(inner / LETTER_LEAST) : 0;
    const size_t most = nvt_text_width(label->name) + label->after_room + 8;
    room = room < most ? room : most;
    write_within(label, room, out, size);
    while (room && nvt_label_pixels(out) > inner)
        write_within(label, --room, out, size);
}
