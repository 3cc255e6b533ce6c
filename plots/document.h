/*
 * A document: headings, paragraphs, findings, figures, tables, pictures and command lines in their order, and its
 * writers (HTML, Markdown, LaTeX). A new format is one new file plots/documents/<name>.c and one
 * line in the table of document.c.
 */
#ifndef NVT_DOCUMENT_H
#define NVT_DOCUMENT_H

#include <stdio.h>

#include "../lib/buffer.h"
#include "../lib/table.h"

enum nvt_block_kind {
    NVT_BLOCK_HEADING,
    NVT_BLOCK_TEXT,
    NVT_BLOCK_ITEM, /* a title, then lines of text, each "name: what" */
    NVT_BLOCK_PAGE, /* the same under a heading of its own, which findings link to */
    NVT_BLOCK_FINDING, /* the same of a finding: the first line is its sentence, `note` what it costs */
    NVT_BLOCK_FIGURES, /* lines of text, each "name\tvalue\tnote" */
    NVT_BLOCK_TREE,    /* a table of ranges within ranges, with shares in percent */
    NVT_BLOCK_COMMAND, /* a command line */
    NVT_BLOCK_TABLE,
    NVT_BLOCK_PICTURE,
    NVT_BLOCK_FLAME, /* `text`: JSON {"title","unit","total","rows":[[parent row or -1,value,colour,name]…]}, for documents with scripts */
    NVT_BLOCK_TIMELINE, /* `text`: JSON of analyze/view/answers.h, which documents with scripts show */
};

struct nvt_block {
    enum nvt_block_kind kind;
    char *title; /* of an item; of a picture what it shows */
    char *text;  /* of a table what stands under it */
    struct nvt_table *table;
    char *note;
    /* of a page: its name; of a finding: that of the page about its rule, NULL: there is none */
    char *anchor;
    char *path;    /* of a picture */
    int is_folded; /* a table: shown on request, where the document can */
};

struct nvt_document {
    char *title;
    /* where all of it was measured, or NULL: what tables have of that is not said again */
    char *origin;
    char *facts; /* the same for programs, JSON, or NULL */
    int folds;   /* tables that are added are folded */
    struct nvt_block *blocks;
    size_t count;
    int failed; /* out of memory: the document is not whole */
};

struct nvt_document_format {
    const char *suffix;  /* of the file's name, "html" */
    const char *picture; /* format of its pictures */
    /* Whether pictures stand in it; else beside it, and their paths are written. */
    int pictures_within;
    /* 0, or -1 with err filled (a picture cannot be read). Errors of `out` are left to its owner.
     */
    int (*write)(const struct nvt_document *document, FILE *out, struct nvt_error *err);
};

/* By the name of the file, NULL: none. */
const struct nvt_document_format *nvt_document_format(const char *path);

int nvt_document_html(const struct nvt_document *document, FILE *out, struct nvt_error *err);
/* Parts of it (html_table.c, html_picture.c, html_script.c, html_timeline.c). */
void nvt_document_html_table(const struct nvt_table *table, FILE *out);
void nvt_document_html_tree(const struct nvt_table *table, FILE *out);
int nvt_document_html_picture(const struct nvt_block *block, size_t number, FILE *out,
                              struct nvt_error *err);
void nvt_document_html_script(FILE *out);
void nvt_document_html_timeline(const struct nvt_block *block, FILE *out);
/* JSON within a script: what might end it is escaped. */
void nvt_document_html_json(const char *json, const char *id, FILE *out);
int nvt_document_markdown(const struct nvt_document *document, FILE *out, struct nvt_error *err);
int nvt_document_latex(const struct nvt_document *document, FILE *out, struct nvt_error *err);

/* Append. Texts are copied; a table is taken over, and gets its caption as the text under it. */
void nvt_document_heading(struct nvt_document *document, const char *text);
void nvt_document_text(struct nvt_document *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Lines of notes, each with its end, as a section; nothing without any. */
void nvt_document_notes(struct nvt_document *document, const struct nvt_buffer *notes);
void nvt_document_item(struct nvt_document *document, const char *title, const char *text);
/* `anchor` has letters, digits and "-". */
void nvt_document_page(struct nvt_document *document, const char *title, const char *anchor,
                       const char *text);
void nvt_document_finding(struct nvt_document *document, const char *title, const char *cost,
                          const char *text, const char *anchor);
void nvt_document_figures(struct nvt_document *document, const char *text);
void nvt_document_tree(struct nvt_document *document, struct nvt_table *table, const char *note);
void nvt_document_command(struct nvt_document *document, const char *text);
void nvt_document_table(struct nvt_document *document, struct nvt_table *table, const char *note);
void nvt_document_picture(struct nvt_document *document, const char *path, const char *title);
void nvt_document_flame(struct nvt_document *document, const char *json);
void nvt_document_timeline(struct nvt_document *document, const char *json);
/* Leave the first blocks alone. */
void nvt_document_cut(struct nvt_document *document, size_t count);
void nvt_document_free(struct nvt_document *document);

/* A whole file, malloc'ed with a terminator; NULL with err filled. */
char *nvt_document_read(const char *path, size_t *size, struct nvt_error *err);

#endif
