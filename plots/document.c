#include "document.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/grow.h"
#include "../lib/read_file.h"
#include "../lib/render.h"

#define PICTURE_BYTES_MAX (64L << 20)

static const struct nvt_document_format formats[] = {
    {"html", "svg", 1, nvt_document_html},
    {"md", "svg", 1, nvt_document_markdown},
    {"tex", "pdf", 0, nvt_document_latex},
};

const struct nvt_document_format *nvt_document_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < NVT_COUNT_OF(formats); i++)
        if (!strcmp(dot + 1, formats[i].suffix))
            return &formats[i];
    return NULL;
}

void nvt_document_cut(struct nvt_document *document, size_t count)
{
    while (document->count > count) {
        const struct nvt_block *block = &document->blocks[--document->count];
        free(block->title);
        free(block->text);
        free(block->note);
        free(block->anchor);
        free(block->path);
        nvt_table_free(block->table);
    }
}

void nvt_document_free(struct nvt_document *document)
{
    nvt_document_cut(document, 0);
    free(document->blocks);
    free(document->title);
    free(document->origin);
    free(document->facts);
    *document = (struct nvt_document){0};
}

static char *copy(struct nvt_document *document, const char *text)
{
    char *copied = text ? strdup(text) : NULL;
    document->failed |= text && !copied;
    return copied;
}

static struct nvt_block *append(struct nvt_document *document, enum nvt_block_kind kind)
{
    if (nvt_grow(&document->blocks, document->count, sizeof(*document->blocks))) {
        document->failed = 1;
        return NULL;
    }
    struct nvt_block *block = &document->blocks[document->count++];
    *block = (struct nvt_block){.kind = kind};
    return block;
}

static void add_text(struct nvt_document *document, enum nvt_block_kind kind, const char *title,
                     const char *text)
{
    struct nvt_block *block = append(document, kind);
    if (!block)
        return;
    block->title = copy(document, title);
    block->text = copy(document, text);
}

void nvt_document_heading(struct nvt_document *document, const char *text)
{
    add_text(document, NVT_BLOCK_HEADING, NULL, text);
}

void nvt_document_text(struct nvt_document *document, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        document->failed = 1;
        return;
    }
    add_text(document, NVT_BLOCK_TEXT, NULL, text);
    free(text);
}

void nvt_document_notes(struct nvt_document *document, const struct nvt_buffer *notes)
{
    const char *at = (const char *)notes->data, *end = notes->size ? at + notes->size : at;
    if (at < end)
        nvt_document_heading(document, "Notes");
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        nvt_document_text(document, "%.*s", (int)((stop ? stop : end) - at), at);
        at = stop ? stop + 1 : end;
    }
}

void nvt_document_item(struct nvt_document *document, const char *title, const char *text)
{
    add_text(document, NVT_BLOCK_ITEM, title, text);
}

void nvt_document_page(struct nvt_document *document, const char *title, const char *anchor,
                       const char *text)
{
    add_text(document, NVT_BLOCK_PAGE, title, text);
    if (!document->failed)
        document->blocks[document->count - 1].anchor = copy(document, anchor);
}

void nvt_document_finding(struct nvt_document *document, const char *title, const char *cost,
                          const char *text, const char *anchor)
{
    add_text(document, NVT_BLOCK_FINDING, title, text);
    if (document->failed)
        return;
    document->blocks[document->count - 1].note = copy(document, cost);
    document->blocks[document->count - 1].anchor = copy(document, anchor);
}

void nvt_document_figures(struct nvt_document *document, const char *text)
{
    add_text(document, NVT_BLOCK_FIGURES, NULL, text);
}

void nvt_document_flame(struct nvt_document *document, const char *json)
{
    add_text(document, NVT_BLOCK_FLAME, NULL, json);
}

void nvt_document_timeline(struct nvt_document *document, const char *json)
{
    add_text(document, NVT_BLOCK_TIMELINE, NULL, json);
}

void nvt_document_command(struct nvt_document *document, const char *text)
{
    add_text(document, NVT_BLOCK_COMMAND, NULL, text);
}

/* The caption of a table without where all of the document was measured. malloc'ed, NULL when out of memory. */
static char *caption_of(const struct nvt_document *document, const struct nvt_table *table)
{
    char *caption = nvt_render_caption(table);
    const size_t length = caption ? strlen(caption) : 0;
    const size_t origin = document->origin ? strlen(document->origin) : 0;
    if (origin && length >= origin && !strcmp(caption + length - origin, document->origin)) {
        size_t end = length - origin;
        while (end && strchr(". ", caption[end - 1]))
            end--;
        caption[end] = 0;
    }
    return caption;
}

static void add_table(struct nvt_document *document, enum nvt_block_kind kind,
                      struct nvt_table *table, const char *note)
{
    char *caption = table ? caption_of(document, table) : NULL;
    struct nvt_block *block = caption ? append(document, kind) : NULL;
    if (!block) {
        document->failed = 1;
        nvt_table_free(table);
        free(caption);
        return;
    }
    block->table = table;
    block->is_folded = document->folds;
    block->text = caption;
    block->note = copy(document, note && *note ? note : NULL);
}

void nvt_document_table(struct nvt_document *document, struct nvt_table *table, const char *note)
{
    add_table(document, NVT_BLOCK_TABLE, table, note);
}

void nvt_document_tree(struct nvt_document *document, struct nvt_table *table, const char *note)
{
    add_table(document, NVT_BLOCK_TREE, table, note);
}

void nvt_document_picture(struct nvt_document *document, const char *path, const char *title)
{
    struct nvt_block *block = append(document, NVT_BLOCK_PICTURE);
    if (!block)
        return;
    block->path = copy(document, path);
    block->title = copy(document, title);
}

char *nvt_document_read(const char *path, size_t *size, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    if (nvt_read_file(path, PICTURE_BYTES_MAX, &text, err)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    *size = text.size;
    return (char *)text.data;
}
