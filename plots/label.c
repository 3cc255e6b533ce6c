#include "label.h"

#include <ctype.h>
#include <string.h>

#include "../analyze/model/cuda_names.h"
#include "../lib/text.h"
#include "gemm_label.h"

#define LABEL_MAX   52   /* columns of a name */
#define LABEL_LEAST 8    /* that one can be cut to */
#define TEXT_MAX    2048 /* bytes of one that are looked at */
#define GEMM_MAX    128

/* Take the end of a text off, if it ends so; whether it did. */
static int take_off(const char *text, size_t *used, const char *end)
{
    size_t length = strlen(end);
    if (*used < length || memcmp(text + *used - length, end, length) != 0)
        return 0;
    *used -= length;
    return 1;
}

/* Take off the namespace that a text ends with; behind a template's brackets there is none. */
static void take_namespace_off(char *text, size_t *used, size_t size)
{
    size_t end = *used;
    if (take_off(text, used, "(anonymous namespace)") || take_off(text, used, "<unnamed>"))
        return;
    while (*used && (isalnum((unsigned char)text[*used - 1]) || text[*used - 1] == '_'))
        (*used)--;
    if (*used == end && size - end > 2) {
        text[(*used)++] = ':';
        text[(*used)++] = ':';
    }
}

/* A kernel's name without "void", namespaces and the types of numbers: what tells instances of a
 * template apart is behind them, and a label has no room for both. */
static void shorten(const char *name, char *out, size_t size)
{
    size_t used = 0;
    name += strncmp(name, "void ", 5) ? 0 : 5;
    for (; *name && used + 1 < size; name++)
        if (name[0] == ':' && name[1] == ':') {
            take_namespace_off(out, &used, size);
            name++;
        } else {
            out[used++] = *name;
            if (isdigit((unsigned char)name[1]))
                take_off(out, &used, "(int)");
        }
    out[used] = 0;
}

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

/* The label of a product of a library; whether it is one. */
static int write_gemm(const struct nvt_label *label, char *out, size_t size)
{
    char telling[NVT_TELLING_NAME_MAX];
    return label->is_kernel &&
           nvt_gemm_label(nvt_telling_name(label->name, strlen(label->name), telling), out, size);
}

/* What is shown of a name that has room; in `buffer` or the name itself. Of a kernel whose own name says nothing
 * (cutlass::Kernel2<…>) it is what it is called instead. */
static const char *text_of(const struct nvt_label *label, char *buffer, size_t size)
{
    char telling[NVT_TELLING_NAME_MAX];
    if (!label->is_kernel)
        return label->name;
    shorten(label->name, buffer, size);
    nvt_telling_name(label->name, strlen(label->name), telling);
    if (strncmp(buffer, telling, strlen(telling)) != 0 && strlen(telling) < size)
        snprintf(buffer, size, "%s", telling);
    return buffer;
}

/* What a name and those that look like it when cut to `most` have in common; 0: none does. */
static size_t common_with_alike(const struct nvt_labels *labels, const char *name, size_t most)
{
    size_t longest = 0;
    char buffer[TEXT_MAX];
    for (size_t i = 0; i < labels->count; i++) {
        const char *other = text_of(&labels->items[i], buffer, sizeof(buffer));
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

/* Whether such a label, in `gemm`, is that of this name alone. */
static int is_telling(const struct nvt_labels *labels, size_t which, char *gemm, size_t size)
{
    char other[GEMM_MAX];
    if (!write_gemm(&labels->items[which], gemm, size))
        return 0;
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, labels->items[which].name) != 0 &&
            write_gemm(&labels->items[i], other, sizeof(other)) && !strcmp(other, gemm))
            return 0;
    return 1;
}

void nvt_label_write(const struct nvt_labels *labels, size_t which, size_t most, char *out,
                     size_t size)
{
    char buffer[TEXT_MAX], gemm[GEMM_MAX];
    const char *name = is_telling(labels, which, gemm, sizeof(gemm))
                           ? gemm
                           : text_of(&labels->items[which], buffer, sizeof(buffer));
    size_t length = nvt_text_width(name);
    size_t common = length > most ? common_with_alike(labels, name, most) : 0;
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
