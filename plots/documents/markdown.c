/*
 * Markdown (CommonMark with pipe tables). Pictures stand in it as data URIs.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/render.h"
#include "../document.h"

static void put_base64(const unsigned char *data, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        unsigned bits = (unsigned)data[i] << 16;
        bits |= i + 1 < size ? (unsigned)data[i + 1] << 8 : 0;
        bits |= i + 2 < size ? data[i + 2] : 0;
        putc(digits[bits >> 18], out);
        putc(digits[bits >> 12 & 63], out);
        putc(i + 1 < size ? digits[bits >> 6 & 63] : '=', out);
        putc(i + 2 < size ? digits[bits & 63] : '=', out);
    }
}

static int put_picture(const struct nvt_block *block, FILE *out, struct nvt_error *err)
{
    size_t size;
    char *picture = nvt_document_read(block->path, &size, err);
    if (!picture)
        return -1;
    fputs("![", out);
    nvt_render_markdown_text(block->title, out);
    fputs("](data:image/svg+xml;base64,", out);
    put_base64((const unsigned char *)picture, size, out);
    fputs(")\n", out);
    free(picture);
    return 0;
}

/* In a fence longer than any run of backquotes that it could hold. */
static void put_command(const char *text, FILE *out)
{
    fputs("``````sh\n", out);
    nvt_render_visible(text, out);
    fputs("\n``````\n", out);
}

/* A point of a list, its lines as points below it. */
static void put_item(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    fputs("- **", out);
    nvt_render_markdown_text(block->title, out);
    fputs("**", out);
    if (block->note && *block->note) {
        fputs(": ", out);
        nvt_render_markdown_text(block->note, out);
    }
    putc('\n', out);
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        fputs("  - ", out);
        nvt_render_markdown_text(line, out);
        putc('\n', out);
    }
    if (block->kind == NVT_BLOCK_FINDING && block->anchor)
        fprintf(out, "  - [what it means, and what helped others](#%s)\n", block->anchor);
    free(text);
}

static void put_page(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    fprintf(out, "<a id=\"%s\"></a>\n\n### ", block->anchor);
    nvt_render_markdown_text(block->title, out);
    fputs("\n\n", out);
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        fputs("- ", out);
        nvt_render_markdown_text(line, out);
        putc('\n', out);
    }
    free(text);
}

/* What stands under a table: what it is of, and what is to be said. */
static void put_caption(const struct nvt_block *block, FILE *out)
{
    putc('\n', out);
    nvt_render_markdown_text(block->text, out);
    if (block->note) {
        fputs(*block->text ? ". " : "", out);
        nvt_render_markdown_text(block->note, out);
    }
}

/* "- **Iteration**: 14.7 ms, median of 10". */
static void put_figures(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n")) && *line;) {
        const char *name = strsep(&line, "\t"), *value = line ? strsep(&line, "\t") : "";
        fputs("- **", out);
        nvt_render_markdown_text(name, out);
        fputs("**: ", out);
        nvt_render_markdown_text(value ? value : "", out);
        if (line && *line) {
            fputs(", ", out);
            nvt_render_markdown_text(line, out);
        }
        putc('\n', out);
    }
    free(text);
}

static int put_block(const struct nvt_block *block, FILE *out, struct nvt_error *err)
{
    switch (block->kind) {
    case NVT_BLOCK_HEADING:
        fputs("## ", out);
        nvt_render_markdown_text(block->text, out);
        break;
    case NVT_BLOCK_TEXT:
        nvt_render_markdown_text(block->text, out);
        break;
    case NVT_BLOCK_ITEM:
    case NVT_BLOCK_FINDING:
        put_item(block, out);
        return 0;
    case NVT_BLOCK_PAGE:
        put_page(block, out);
        return 0;
    case NVT_BLOCK_FIGURES:
        put_figures(block, out);
        return 0;
    case NVT_BLOCK_COMMAND:
        put_command(block->text, out);
        return 0;
    case NVT_BLOCK_TABLE:
    case NVT_BLOCK_TREE:
        nvt_render_markdown_rows(block->table, out);
        put_caption(block, out);
        break;
    case NVT_BLOCK_PICTURE:
        return put_picture(block, out, err);
    case NVT_BLOCK_FLAME:
    case NVT_BLOCK_TIMELINE:
        break;
    }
    putc('\n', out);
    return 0;
}

int nvt_document_markdown(const struct nvt_document *document, FILE *out, struct nvt_error *err)
{
    fputs("# ", out);
    nvt_render_markdown_text(document->title, out);
    putc('\n', out);
    if (document->origin && *document->origin) {
        putc('\n', out);
        nvt_render_markdown_text(document->origin, out);
        putc('\n', out);
    }
    for (size_t i = 0; i < document->count; i++) {
        putc('\n', out);
        if (put_block(&document->blocks[i], out, err))
            return -1;
    }
    return 0;
}
