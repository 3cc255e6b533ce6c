/*
 * Formats: tables as text. A new format is one new file lib/formats/<name>.c, with a function
 * nvt_render_<name>, and one line in NVT_FORMATS.
 *
 * Whatever text is in a name, the output is well-formed UTF-8, in the syntax of its format, and
 * nothing in it can steer a terminal. For people: table (three digits and a unit in each cell, what
 * fits the terminal); grid, column, markdown, latex (units in the
 * headings, fixed decimals, a caption with backend, device and date). For programs: csv, tsv, json
 * (no separators within numbers, no caption, null where there is no value).
 */
#ifndef NVT_RENDER_H
#define NVT_RENDER_H

#include <stdio.h>

#include "table.h"

/* All formats: X(name, whether it says where the numbers come from, what it is). */
#define NVT_FORMATS(X)                                                                             \
    X(table, 1, "for people, as wide as the terminal (the default)")                               \
    X(column, 1, "aligned columns with the headings and raw numbers of nsys")                      \
    X(grid, 1, "columns between lines of + - |")                                                   \
    X(markdown, 1, "a pipe table")                                                                 \
    X(latex, 1, "a table for the booktabs package")                                                \
    X(csv, 0, "comma-separated, quoted after RFC 4180")                                            \
    X(tsv, 0, "tab-separated; tab, newline and backslash as \\t, \\n and \\\\")                    \
    X(json, 0, "an array of objects (of several tables: an object of arrays)")                     \
    X(facts, 0, "JSON for agents: tables with units, notes, ids, what is not known")

struct nvt_format {
    const char *name;
    const char *about;
    int captions; /* says where the numbers come from */
    /* Write all tables. Errors of `out` are left to its owner (ferror). 0, or -1: out of memory. */
    int (*render)(const struct nvt_tables *tables, FILE *out);
};

/* The formats, in the order in which they are listed; *count gets how many. */
const struct nvt_format *nvt_formats(size_t *count);

/* A format by name, or NULL. */
const struct nvt_format *nvt_format_find(const char *name);

/* For a message about a name that is none: " (did you mean 'NAME'?)", or "". */
const char *nvt_format_hint(const char *name, char *out, size_t size);

#define NVT_DECLARE_FORMAT(name, captions, about)                                                  \
    int nvt_render_##name(const struct nvt_tables *tables, FILE *out);
NVT_FORMATS(NVT_DECLARE_FORMAT)
#undef NVT_DECLARE_FORMAT

/*
 * Parts of tables, for documents that put their own captions: a text as Markdown, LaTeX or HTML, a
 * pipe table, a tabular of `count` rows from `first` on.
 */
void nvt_render_markdown_text(const char *text, FILE *out);
void nvt_render_markdown_rows(const struct nvt_table *table, FILE *out);
void nvt_render_latex_text(const char *text, FILE *out);
void nvt_render_latex_tabular(const struct nvt_table *table, size_t first, size_t count, FILE *out);
void nvt_render_html_text(const char *text, FILE *out);
/* As HTML has it, or SVG: so many characters of it at most. */
void nvt_render_html_beginning(const char *text, size_t most, FILE *out);

/* A text, and a cell, as JSON. */
void nvt_render_json_text(const char *text, FILE *out);
void nvt_render_json_cell(const struct nvt_table *table, size_t row, size_t column, FILE *out);

/* One text as a field of CSV, quoted where it must be. */
void nvt_render_csv_field(const char *text, FILE *out);

/* Parts that renderers share. */

/* Room for any number of nvt_render_number, with its terminator. */
#define NVT_NUMBER_MAX 512

/*
 * A cell of an int, real or bool column as text: fixed decimals (half away from 0), or the shortest text
 * that reads back as the same number; "" for null. `separators`: thousands set off by commas (unless the
 * column is NVT_PLAIN).
 */
const char *nvt_render_number(const struct nvt_table *table, size_t row, size_t column,
                              int separators, char out[NVT_NUMBER_MAX]);

/* Commas into the whole part of a number, in place. Returns out. */
const char *nvt_render_separated(char out[NVT_NUMBER_MAX]);

/*
 * What formats for people show in a cell: the heading for row SIZE_MAX, a text unchanged, a number with separators. In
 * place or in `number`.
 */
const char *nvt_render_cell(const struct nvt_table *table, size_t row, size_t column,
                            char number[NVT_NUMBER_MAX]);

/* "Heading (unit)", the unit only when the heading does not end with it already: "Time (ns)", "total_ns". */
const char *nvt_render_heading(const struct nvt_column *column, char *out, size_t size);

/* "Title. backend host, device …, date …", of what is known; "" when nothing is. malloc'ed, NULL
 * when out of memory. */
char *nvt_render_caption(const struct nvt_table *table);

/* Write the characters of a text made valid, each one made visible (lib/text.h). */
void nvt_render_visible(const char *text, FILE *out);

/*
 * Write tables as lines of delimited fields: a line of headings, a line a row, a blank line between
 * tables. `field` writes one text field in the format's own quoting.
 */
void nvt_render_delimited(const struct nvt_tables *tables, char delimiter,
                          void (*field)(const char *text, FILE *out), FILE *out);

#endif
