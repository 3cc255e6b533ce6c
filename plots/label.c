#include "label.h"

#include <ctype.h>
#include <string.h>

#include "../lib/kernel_names.h"
#include "../lib/text.h"

#define LABEL_MAX   52 /* columns of a name */
#define LABEL_LEAST 8  /* that one can be cut to */

/* The columns that two names begin with. */
static size_t in_common(const char *a, const char *b)
{
    size_t common = 0;
    while (*a && *b) {
        uint32_t character = nvt_utf8_next(&a);
        if (character != nvt_utf8_next(&b))
            break;
        common += (size_t)nvt_char_width(nvt_char_visible(character));
    }
    return common;
}

/* What is shown of a name that has room. */
static const char *text_of(const struct nvt_label *label, const struct nvt_kernel_labels *kernels)
{
    return label->is_kernel ? nvt_kernel_labels_get(kernels, label->name) : label->name;
}

/* The short names of all kernels among them; whole ones without memory. */
static void take_kernels(const struct nvt_labels *labels, struct nvt_kernel_labels *kernels)
{
    int failed = 0;
    for (size_t i = 0; i < labels->count && !failed; i++)
        if (labels->items[i].is_kernel)
            failed = nvt_kernel_labels_add(kernels, labels->items[i].name);
    if (failed || nvt_kernel_labels_finish(kernels))
        nvt_kernel_labels_free(kernels);
}

/* What a name and those that look like it when cut to `most` have in common; 0: none does. */
static size_t common_with_alike(const struct nvt_labels *labels,
                                const struct nvt_kernel_labels *kernels, const char *name,
                                size_t most)
{
    size_t longest = 0;
    for (size_t i = 0; i < labels->count; i++) {
        const char *other = text_of(&labels->items[i], kernels);
        size_t common = strcmp(other, name) ? in_common(other, name) : 0;
        if (common >= most && common > longest)
            longest = common;
    }
    return longest;
}

static int is_border(char letter)
{
    return strchr("_ ,:<(/.", letter) != NULL;
}

/* Where to go on: at the word in which names begin to differ, not long before. */
static size_t word_before(const char *name, size_t at, size_t least)
{
    for (size_t back = 0; back < 10 && at > least + back; back++)
        if (is_border(*nvt_text_skip(name, at - back - 1)))
            return at - back;
    return at;
}

/* The text of one of them in so many columns. */
static void write_within(const struct nvt_labels *labels, const struct nvt_kernel_labels *kernels,
                         const char *name, size_t most, char *out, size_t size)
{
    size_t length = nvt_text_width(name);
    size_t common = length > most ? common_with_alike(labels, kernels, name, most) : 0;
    if (!common) {
        snprintf(out, size, "%.*s%s", (int)(nvt_text_skip(name, most) - name), name,
                 length > most ? "…" : "");
        return;
    }
    size_t head = most * 2 / 5, tail = most - head - 1;
    size_t from = word_before(name, common, head);
    if (from + tail > length)
        from = length - tail;
    const char *begin = nvt_text_skip(name, from);
    snprintf(out, size, "%.*s…%.*s%s", (int)(nvt_text_skip(name, head) - name), name,
             (int)(nvt_text_skip(begin, tail) - begin), begin, from + tail < length ? "…" : "");
}

void nvt_label_write(const struct nvt_labels *labels, size_t which, size_t most, char *out,
                     size_t size)
{
    struct nvt_kernel_labels kernels = {0};
    take_kernels(labels, &kernels);
    const char *name = text_of(&labels->items[which], &kernels);
    write_within(labels, &kernels, name, most, out, size);
    nvt_kernel_labels_free(&kernels);
}

double nvt_label_pixels(const char *text)
{
    /* From ' ' to '~', thousandths of the font's size. */
    static const uint16_t widths[] = {
        318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
        636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
        1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
        603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
        500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
        635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
    double width = 0;
    while (*text) {
        const uint32_t character = nvt_char_visible(nvt_utf8_next(&text));
        if (character >= ' ' && character <= '~')
            width += widths[character - ' '];
        else if (character == 0x2026) /* … */
            width += 1000;
        else /* of those that take one column most are less wide */
            width += nvt_char_width(character) > 1 ? 1000 : 700 * nvt_char_width(character);
    }
    return width * NVT_LABEL_PX / 1000;
}

void nvt_label_fit(const struct nvt_labels *labels, size_t which, size_t most, char *out,
                   size_t size)
{
    const double room = NVT_LABEL_LETTER * (double)most;
    nvt_label_write(labels, which, most, out, size);
    while (most > LABEL_LEAST && nvt_label_pixels(out) > room)
        nvt_label_write(labels, which, --most, out, size);
}

void nvt_label_cut(const char *text, size_t most, char *out, size_t size)
{
    const struct nvt_label item = {text, 0};
    nvt_label_write(&(struct nvt_labels){&item, 1}, 0, most, out, size);
}

void nvt_label_ends(const char *text, size_t most, char *out, size_t size)
{
    const size_t width = nvt_text_width(text);
    size_t room = width;
    snprintf(out, size, "%s", text);
    while (room > LABEL_LEAST && nvt_label_pixels(out) > NVT_LABEL_LETTER * (double)most) {
        const size_t tail = --room / 2, head = room - tail - 1;
        snprintf(out, size, "%.*s…%s", (int)(nvt_text_skip(text, head) - text), text,
                 nvt_text_skip(text, width - tail));
    }
}

const char *nvt_label_file(const char *path, char out[NVT_LABEL_FILE])
{
    enum { MOST = 60, HALF = MOST / 2 };
    const char *name = nvt_file_name(path), *end = nvt_text_skip(name, HALF);
    size_t length = nvt_text_width(name);
    if (length <= MOST)
        snprintf(out, NVT_LABEL_FILE, "%s", name);
    else
        snprintf(out, NVT_LABEL_FILE, "%.*s…%s", (int)(nvt_text_skip(name, HALF - 1) - name), name,
                 nvt_text_skip(end, length - 2 * HALF));
    return out;
}

uint32_t nvt_label_harmless(uint32_t character)
{
    switch (character) {
    case '"':
        return 0x201d;
    case '\'':
        return 0x2019;
    case '\\':
        return 0x2216;
    default:
        return character < 0x20 ? ' ' : character;
    }
}

void nvt_label_text(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        character = nvt_label_harmless(character);
        nvt_utf8_write(nvt_char_visible(character), out);
    }
}

void nvt_label_put(const struct nvt_labels *labels, size_t which, FILE *out)
{
    char label[NVT_LABEL_SIZE(LABEL_MAX)];
    nvt_label_fit(labels, which, LABEL_MAX, label, sizeof(label));
    nvt_label_text(label, out);
}
