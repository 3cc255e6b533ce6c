/*
 * Names of ranges and kernels as labels of a chart.
 */
#ifndef NVT_LABEL_H
#define NVT_LABEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A kernel has its short name (lib/kernel_names.h). */
struct nvt_label {
    const char *name;
    int is_kernel;
};

/*
 * Names that stand in one chart. One that is too long for its place is cut: at its end, but in its middle where another
 * one would then look the same, so that where they differ is seen.
 */
struct nvt_labels {
    const struct nvt_label *items;
    size_t count;
};

/* The which-th of them with at most so many columns (8 or more; lib/text.h), in UTF-8; cut to out[size]. */
void nvt_label_write(const struct nvt_labels *labels, size_t which, size_t most, char *out,
                     size_t size);

/* Pixels that a text takes in DejaVu Sans, in which pictures are drawn, at the size of all labels. */
#define NVT_LABEL_PX 12
double nvt_label_pixels(const char *text);

/* The same in no more room than so many letters of usual width have: fewer of wide ones, as capitals are. */
#define NVT_LABEL_LETTER 7.4 /* px */
void nvt_label_fit(const struct nvt_labels *labels, size_t which, size_t most, char *out,
                   size_t size);

/* Bytes that a label of so many columns needs, with the end of the string; those of more marks on a letter are left
 * out. */
#define NVT_LABEL_SIZE(most) (4 * (most) + 8)

/* Letters of usual width in a row for itself in the column of a paper. */
enum { NVT_LABEL_ROW = 50 };

/* A text alone, cut at its end to so many columns. */
void nvt_label_cut(const char *text, size_t most, char *out, size_t size);

/* A text alone in the room of so many letters of usual width, without its middle where it is longer: of a configuration both ends
 * tell it apart. */
void nvt_label_ends(const char *text, size_t most, char *out, size_t size);

/* The name of a file without its folders, for a title: cut in its middle where it is longer than sixty columns.
 * Returns `out`. */
#define NVT_LABEL_FILE NVT_LABEL_SIZE(60)
const char *nvt_label_file(const char *path, char out[NVT_LABEL_FILE]);

/* A character that gnuplot takes for itself as one that looks like it and that it does not: quotes, a backslash (set minus); a
 * space for those that are none. */
uint32_t nvt_label_harmless(uint32_t character);

/* A text as a field of the data file: one line, no tab, no quote. */
void nvt_label_text(const char *text, FILE *out);

/* One of the labels as such a field, with room in the column of a paper. */
void nvt_label_put(const struct nvt_labels *labels, size_t which, FILE *out);

#endif
