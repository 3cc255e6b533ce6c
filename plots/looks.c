#include "looks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../lib/count_of.h"
#include "gnuplot.h"

/* --- series --- */

struct nvt_look nvt_look_of_fragments(enum nvt_fragment_line line)
{
    static const struct nvt_look looks[NVT_FRAGMENT_LINES] = {
        [NVT_LINEAR] = {"#555555", 2, 13},
        [NVT_TRAIN] = {NVT_BLUE, 1, 7},
        [NVT_LOOPED] = {NVT_RED, 1, 5},
        [NVT_GROUPED] = {NVT_GREEN, 1, 9},
    };
    return looks[line];
}

struct nvt_look nvt_look_of_pipeline(int partitions, int checkpoint, int is_torchgpipe)
{
    static const char *const others[] = {NVT_PURPLE, NVT_SKY, NVT_ORANGE};
    const char *color = partitions == 1   ? NVT_BLUE
                        : partitions == 2 ? NVT_RED
                        : partitions == 4 ? NVT_GREEN
                        : partitions == 8 ? NVT_BLACK
                                          : others[(unsigned)partitions % 3];
    return (struct nvt_look){color, checkpoint ? 2 : 1,
                             (is_torchgpipe ? 4 : 6) + (checkpoint ? 0 : 1)};
}

struct nvt_look nvt_look_of_variant(size_t index)
{
    static const char *const colors[] = {NVT_BLUE,  NVT_RED,    NVT_GREEN,
                                         NVT_BLACK, NVT_PURPLE, NVT_ORANGE};
    static const int points[] = {7, 5, 9, 11, 13};
    return (struct nvt_look){colors[index % 6], 1, points[index % 5]};
}

static int says(const struct nvt_record *record, const char *key, const char *value)
{
    const char *text = nvt_record_text(record, key);
    return text && !strcasecmp(text, value);
}

struct nvt_look nvt_look_of_record(const struct nvt_record *record, size_t index)
{
    if (says(record, "workload", "gpipe"))
        return nvt_look_of_pipeline((int)nvt_record_number(record, "partitions"),
                                    says(record, "checkpoint", "true") ||
                                        says(record, "checkpoint", "on"),
                                    says(record, "engine", "torchgpipe"));
    if (says(record, "workload", "linear") || says(record, "mode", "linear"))
        return nvt_look_of_fragments(NVT_LINEAR);
    if (says(record, "workload", "fragmented"))
        return nvt_look_of_fragments(says(record, "mode", "train")        ? NVT_TRAIN
                                     : says(record, "variant", "grouped") ? NVT_GROUPED
                                                                          : NVT_LOOPED);
    return nvt_look_of_variant(index);
}

/* --- names --- */

static const struct {
    const char *name, *color;
} known[] = {
    {"forward", NVT_SKY},          {"fwd", NVT_SKY},
    {"backward", NVT_ORANGE},      {"bwd", NVT_ORANGE},
    {"optimizer", NVT_GREEN},      {"optimizer step", NVT_GREEN},
    {"optimizer_step", NVT_GREEN}, {"Optimizer.step", NVT_GREEN},
    {"iteration", "#B4BEC9"},      {"step", "#B4BEC9"},
    {"train_step", "#B4BEC9"},     {"iter", "#B4BEC9"},
    {"batch", "#B4BEC9"},          {"ProfilerStep", "#B4BEC9"},
    {"warmup", "#8995A1"},
};

const char *nvt_known_color(const char *name)
{
    size_t length = strcspn(name, "#");
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++)
        if (strlen(known[i].name) == length && !strncasecmp(name, known[i].name, length))
            return known[i].color;
    return NULL;
}

int nvt_is_phase(const char *name)
{
    const char *color = nvt_known_color(name);
    return color &&
           (!strcmp(color, NVT_SKY) || !strcmp(color, NVT_ORANGE) || !strcmp(color, NVT_GREEN));
}

const char *nvt_class_color(enum nvt_kernel_class class)
{
    static const char *const colors[NVT_KERNEL_CLASSES] = {
        [NVT_CLASS_GEMM] = NVT_BLUE,          [NVT_CLASS_ATTENTION] = "#882255",
        [NVT_CLASS_ELEMENTWISE] = NVT_PURPLE, [NVT_CLASS_COPY] = NVT_YELLOW,
        [NVT_CLASS_COMMUNICATION] = NVT_RED,  [NVT_CLASS_OTHER] = "#bbbbbb"};
    return colors[class];
}

const char *nvt_ink_on(const char *color)
{
    const unsigned long all = strtoul(color + (*color == '#'), NULL, 16);
    const unsigned long red = all >> 16 & 255, green = all >> 8 & 255, blue = all & 255;
    return 2126 * red + 7152 * green + 722 * blue < 10000UL * 110 ? "#fefefe" : "#101010";
}

/* Of the names that are not well-known. */
static const char *const free_colors[NVT_NAMES_MOST] = {NVT_PURPLE, NVT_BLUE,  NVT_YELLOW, NVT_RED,
                                                        "#44AA99",  "#882255", "#999933"};
static const char *const free_tints[NVT_NAMES_MOST] = {"#C9D3EE", "#E3D3EC", "#BFD8D2", "#D3E8CF",
                                                       "#EDE3BD", "#C8E4E6", "#E6D9C8"};

/* FNV-1a. */
static unsigned hash_of(const char *text)
{
    unsigned hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash ^ hash >> 16;
}

/* The first of the names without a colour, by the alphabet: what comes first does not depend on
 * where time went. `count`: there is none. */
static size_t next_name(const char *const *names, size_t count, const char *const *colors)
{
    size_t next = count;
    for (size_t i = 0; i < count; i++)
        if (!colors[i] && (next == count || strcmp(names[i], names[next]) < 0))
            next = i;
    return next;
}

static void color_names(const char *const *names, size_t count, const char *const *palette,
                        const char **colors)
{
    int taken[NVT_NAMES_MOST] = {0};
    for (size_t i = 0; i < count; i++) {
        colors[i] = nvt_known_color(names[i]);
        for (size_t k = 0; k < i && colors[i]; k++)
            if (colors[k] && !strcmp(colors[k], colors[i]))
                colors[i] = NULL;
    }
    for (size_t i; (i = next_name(names, count, colors)) < count;) {
        unsigned at = hash_of(names[i]) % NVT_NAMES_MOST;
        while (taken[at])
            at = (at + 1) % NVT_NAMES_MOST;
        taken[at] = 1;
        colors[i] = palette[at];
    }
}

void nvt_name_colors(const char *const *names, size_t count, const char **colors)
{
    color_names(names, count, free_colors, colors);
}

void nvt_name_tints(const char *const *names, size_t count, const char **colors)
{
    color_names(names, count, free_tints, colors);
}
