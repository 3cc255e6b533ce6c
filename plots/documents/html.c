/*
 * One HTML file that loads nothing: style, the script that sorts tables, the pictures, and facts for programs are in
 * it, and its policy forbids the rest. Light and dark after the reader's system, narrow and wide,
 * printable.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/render.h"
#include "../../lib/version.h"
#include "../document.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
    "<meta name=\"generator\" content=\"nvtally " NVT_VERSION "\">\n";

static const char style[] =
    "<style>\n"
    ":root{--ink:#1b1f24;--dim:#57606a;--paper:#fff;--line:#d0d7de;--band:#f6f8fa;--link:#0550ae;"
    "--mark:#d1242f;--cpu:#b6d4f0;--gpu:#b5dfb9}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4b0;--paper:#0e1217;"
    "--line:#30363d;--band:#171c23;--link:#7ab7ff;--mark:#ff7b72;--cpu:#24476b;--gpu:#245136}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:100rem;padding:.8rem 1rem 4rem;background:var(--paper);"
    "color:var(--ink);font:1rem/1.5 system-ui,'DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0;overflow-wrap:anywhere}\n"
    "h2{font-size:1.2rem;margin:1.8rem 0 .6rem;border-bottom:1px solid var(--line)}\n"
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}h3:target{color:var(--mark)}\n"
    "main>h2:first-child{margin-top:.6rem}\n"
    "p,li,dl{max-width:52rem;overflow-wrap:anywhere}\np{margin:.5rem 0}\n"
    ".origin{color:var(--dim);font-size:.9rem;margin:0 0 .4rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;margin:.3rem 0 1rem}\n"
    "dt{color:var(--dim)}dd{margin:0;min-width:0}\n"
    "nav{display:flex;gap:.2rem 1rem;overflow-x:auto;white-space:nowrap;font-size:.9rem;"
    "padding:.2rem 0}\na{color:var(--link)}nav a{text-decoration:none}"
    "nav a:hover{text-decoration:underline}\n"
    "@media(min-width:70rem){.page{display:grid;grid-template-columns:13rem minmax(0,1fr);"
    "gap:0 2rem}nav{flex-direction:column;white-space:normal;position:sticky;top:.8rem;"
    "align-self:start;max-height:96vh;overflow-y:auto;padding-top:.7rem}}\n"
    "figure{margin:1rem 0}\n"
    "figcaption{color:var(--dim);font-size:.85rem;margin:.3rem 0;overflow-wrap:anywhere}\n"
    ".name,summary{font-weight:600;font-size:.95rem;color:var(--ink)}\n"
    "summary{cursor:pointer;overflow-wrap:anywhere}summary small{font-weight:400;color:var(--dim)}"
    "\n"
    ".scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}\n"
    ".tall{overflow-y:auto;max-height:80vh}\n"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}"
    "\n"
    "th,td{padding:.3rem .6rem;text-align:left;white-space:nowrap;vertical-align:top;"
    "border-bottom:1px solid var(--line)}\n"
    "th{white-space:normal;vertical-align:bottom}\n"
    "td.w{white-space:normal;min-width:11rem;overflow-wrap:anywhere}\n"
    "tr:last-child td{border-bottom:0}\n.n{text-align:right}\n"
    "th{position:sticky;top:0;background:var(--band);cursor:pointer;user-select:none}\n"
    "th:focus-visible{outline:2px solid var(--link);outline-offset:-2px}\n"
    "th[aria-sort=ascending]::after{content:' \\25B2'}\n"
    "th[aria-sort=descending]::after{content:' \\25BC'}\n"
    "tbody tr:hover{background:var(--band)}\n"
    ".tree{max-width:52rem}.tree table{width:100%}.tree td:first-child{white-space:pre}\n"
    ".s{background:linear-gradient(var(--c),var(--c)) 0/var(--s) 72% no-repeat;"
    "background-position:0 50%}.cpu{--c:var(--cpu)}.gpu{--c:var(--gpu)}\n"
    ".finding{max-width:60rem;margin:.5rem 0;padding:.45rem .8rem;border:1px solid var(--line);"
    "border-left:4px solid var(--mark);border-radius:6px}\n"
    ".finding summary{font-size:1.05rem}.finding summary span{font-weight:400;margin-left:.6rem}"
    ".finding summary small{display:block;font-size:.95rem}.finding dl{margin:.3rem 0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,10rem),1fr));"
    "gap:.6rem;max-width:60rem;margin:.8rem 0}\n"
    ".figures div{border:1px solid var(--line);border-radius:6px;padding:.4rem .7rem}"
    ".figures span,.figures small{display:block;color:var(--dim);font-size:.85rem}"
    ".figures b{font-size:1.35rem;line-height:1.3}\n"
    ".pictures{display:grid;gap:0 1.5rem;align-items:start;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}\n"
    ".filter{display:flex;flex-wrap:wrap;gap:.3rem .6rem;align-items:center;max-width:none}"
    ".filter input,.fold{font:inherit;color:inherit;background:var(--paper);"
    "border:1px solid var(--line);border-radius:4px;padding:.1rem .5rem}"
    ".fold{border:0;padding:0 .3rem 0 0;cursor:pointer}.boxes{position:relative}\n"
    ".boxes button{position:absolute;height:20px;padding:0 3px;border:0;"
    "border-right:1px solid var(--paper);overflow:hidden;white-space:nowrap;text-overflow:ellipsis;"
    "text-align:left;font:12px/20px system-ui,sans-serif;cursor:pointer}\n"
    ".boxes .hit{outline:2px solid var(--mark);outline-offset:-2px;font-weight:700}"
    ".boxes :focus-visible{outline:3px solid var(--ink);outline-offset:-3px}"
    ".flame .under{min-height:1.5em;font-size:.85rem;max-width:none}\n"
    ".tile{height:min(85vh,46rem)}.timeline iframe{display:block;width:100%;height:100%;border:1px "
    "solid var(--line);"
    "border-radius:6px}\n"
    ".picture{margin:.8rem 0}.wide{grid-column:1/-1}\n"
    ".view{overflow-x:auto}.view svg{display:block;width:100%;max-width:36rem;height:auto;"
    "border-radius:6px}.wide .view svg{max-width:64rem;min-width:40rem}\n"
    ".picture polygon:hover{stroke:#000;stroke-width:1}\n"
    "@media(prefers-color-scheme:dark){.view [fill=\"#ffffff\"]{fill:none}"
    ".view [fill=black]{fill:var(--ink)}.view [color=black]{color:var(--ink)}"
    ".view [fill=\"rgb(51,51,51)\"],.view [fill=\"rgb(85,85,85)\"]{fill:var(--dim)}"
    ".view [stroke='rgb( 85,  85,  85)']{stroke:#8b949e}"
    ".view [stroke='rgb(221, 221, 221)']{stroke:#30363d}"
    ".view [stroke='rgb(  0,   0,   0)']{stroke:var(--ink)}"
    ".view [stroke='rgb( 51,  51,  51)']{stroke:#c9d1d9}"
    ".view [fill='rgb(242, 242, 242)']{fill:#1f252d}"
    ".view [fill='rgb(246, 221, 216)']{fill:#43211d}"
    ".view [fill=\"rgb(138,45,0)\"]{fill:#ffb199}"
    ".view [color=\"rgb(  0,   0,   0)\"]{color:var(--ink)}}\n"
    "pre{background:var(--band);border:1px solid var(--line);border-radius:6px;padding:.7rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\n"
    "@page{margin:14mm}\n"
    "@media print{:root{--ink:#000;--dim:#333;--paper:#fff;--line:#999;--band:#eee}"
    "body{max-width:none;padding:0;font-size:.8rem}nav,.timeline,.filter,.flame{display:none}.page{"
    "display:block}"
    ".pictures{grid-template-columns:1fr 1fr;gap:0 1rem}.wide .view svg{min-width:0}"
    ".scroll,.view{overflow:visible;max-height:none;border:0}"
    "table{font-size:.6rem}.many table{font-size:.5rem}"
    "th,td{padding:.15rem .3rem}.many th,.many td{padding:.1rem .2rem}"
    "th{position:static}td.w{min-width:0}td:not(.n){white-space:normal}"
    ".s{print-color-adjust:exact}"
    "h2,h2+p,dt,summary{break-after:avoid}.picture,tr,dl,pre{break-inside:avoid}"
    "figcaption{break-before:avoid}p{orphans:3;widows:3}}\n"
    "</style>\n";

static void put_element(const char *name, const char *text, FILE *out)
{
    fprintf(out, "<%s>", name);
    nvt_render_html_text(text, out);
    fprintf(out, "</%s>\n", name);
}

/* A long table scrolls below its headings, one of many columns is printed smaller. */
static void put_rows(const struct nvt_block *block, FILE *out)
{
    enum { TALL = 40, MANY = 11 };
    if (block->kind == NVT_BLOCK_TREE) {
        fputs("<div class=\"scroll tree\" tabindex=\"0\">\n", out);
        nvt_document_html_tree(block->table, out);
    } else {
        fprintf(out, "<div class=\"scroll%s%s\" tabindex=\"0\">\n",
                nvt_table_rows(block->table) > TALL ? " tall" : "",
                nvt_table_columns(block->table) > MANY ? " many" : "");
        nvt_document_html_table(block->table, out);
    }
    fputs("</div>\n", out);
    if (block->note)
        put_element("figcaption", block->note, out);
}

/* Its name stands above it, or in its place until it is asked for. */
static void put_table(const struct nvt_block *block, FILE *out)
{
    const size_t rows = nvt_table_rows(block->table);
    fputs(block->is_folded ? "<details><summary>" : "<figure><figcaption class=\"name\">", out);
    nvt_render_html_text(*block->text ? block->text : nvt_table_name(block->table), out);
    if (block->is_folded)
        fprintf(out, " <small>%zu row%s</small></summary>\n<figure>", rows, rows == 1 ? "" : "s");
    else
        fputs("</figcaption>\n", out);
    put_rows(block, out);
    fputs(block->is_folded ? "</figure></details>\n" : "</figure>\n", out);
}

/* "name\tvalue\tnote" of each line. */
static void put_figures(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    fputs("<div class=\"figures\">\n", out);
    for (char *line; rest && (line = strsep(&rest, "\n")) && *line;) {
        const char *name = strsep(&line, "\t"), *value = line ? strsep(&line, "\t") : "";
        fputs("<div><span>", out);
        nvt_render_html_text(name, out);
        fputs("</span><b>", out);
        nvt_render_html_text(value ? value : "", out);
        fputs("</b><small>", out);
        nvt_render_html_text(line ? line : "", out);
        fputs("</small></div>\n", out);
    }
    fputs("</div>\n", out);
    free(text);
}

/* What is said about a thing: the parts of the text, each with its name before the first colon, and last a link to `page`. */
static void put_parts(char *rest, const char *page, FILE *out)
{
    fputs("<dl>\n", out);
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char *value = strstr(line, ": ");
        if (value)
            *value = 0;
        put_element("dt", value ? line : "", out);
        put_element("dd", value ? value + 2 : line, out);
    }
    if (page)
        fprintf(
            out,
            "<dt>More</dt>\n<dd><a href=\"#%s\">what it means, and what helped others</a></dd>\n",
            page);
    fputs("</dl>\n", out);
}

static void put_item(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text);
    fputs("<p><strong>", out);
    nvt_render_html_text(block->title, out);
    fputs("</strong></p>\n", out);
    put_parts(text, NULL, out);
    free(text);
}

static void put_page(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text);
    fprintf(out, "<h3 id=\"%s\">", block->anchor);
    nvt_render_html_text(block->title, out);
    fputs("</h3>\n", out);
    put_parts(text, NULL, out);
    free(text);
}

/* The first one is open; of the others what they say is seen. */
static void put_finding(const struct nvt_block *block, int is_open, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    const char *what = strsep(&rest, "\n");
    fprintf(out, "<details class=\"finding\"%s><summary>", is_open ? " open=\"\"" : "");
    nvt_render_html_text(block->title, out);
    fputs(" <span>", out);
    nvt_render_html_text(block->note ? block->note : "", out);
    fputs("</span><small>", out);
    nvt_render_html_text(what ? what : "", out);
    fputs("</small></summary>\n", out);
    put_parts(rest, block->anchor, out);
    fputs("</details>\n", out);
    free(text);
}

static int is_first_finding(const struct nvt_document *document, size_t index)
{
    while (index-- > 0)
        if (document->blocks[index].kind == NVT_BLOCK_FINDING)
            return 0;
    return 1;
}

static int put_block(const struct nvt_document *document, size_t number, FILE *out,
                     struct nvt_error *err)
{
    const struct nvt_block *block = &document->blocks[number];
    char id[32];
    switch (block->kind) {
    case NVT_BLOCK_HEADING:
        fprintf(out, "<h2 id=\"s%zu\">", number);
        nvt_render_html_text(block->text, out);
        fputs("</h2>\n", out);
        break;
    case NVT_BLOCK_TEXT:
        put_element("p", block->text, out);
        break;
    case NVT_BLOCK_ITEM:
        put_item(block, out);
        break;
    case NVT_BLOCK_PAGE:
        put_page(block, out);
        break;
    case NVT_BLOCK_FINDING:
        put_finding(block, is_first_finding(document, number), out);
        break;
    case NVT_BLOCK_FIGURES:
        put_figures(block, out);
        break;
    case NVT_BLOCK_COMMAND:
        put_element("pre", block->text, out);
        break;
    case NVT_BLOCK_TABLE:
    case NVT_BLOCK_TREE:
        put_table(block, out);
        break;
    case NVT_BLOCK_FLAME:
        snprintf(id, sizeof(id), "flame-%zu", number);
        fputs("<div class=\"flame\">\n", out);
        nvt_document_html_json(block->text, id, out);
        fputs("</div>\n", out);
        break;
    case NVT_BLOCK_TIMELINE:
        nvt_document_html_timeline(block, out);
        break;
    case NVT_BLOCK_PICTURE:
        return nvt_document_html_picture(block, number, out, err);
    }
    return 0;
}

static void put_contents(const struct nvt_document *document, FILE *out)
{
    fputs("<nav>\n", out);
    for (size_t i = 0; i < document->count; i++) {
        if (document->blocks[i].kind != NVT_BLOCK_HEADING)
            continue;
        fprintf(out, "<a href=\"#s%zu\">", i);
        nvt_render_html_text(document->blocks[i].text, out);
        fputs("</a>\n", out);
    }
    fputs("</nav>\n", out);
}

/* Pictures that follow each other stand side by side where there is room. */
static int is_picture(const struct nvt_document *document, size_t i)
{
    return i < document->count && document->blocks[i].kind == NVT_BLOCK_PICTURE;
}

static int starts_pictures(const struct nvt_document *document, size_t i)
{
    return is_picture(document, i) && (!i || !is_picture(document, i - 1));
}

static int ends_pictures(const struct nvt_document *document, size_t i)
{
    return is_picture(document, i) && !is_picture(document, i + 1);
}

int nvt_document_html(const struct nvt_document *document, FILE *out, struct nvt_error *err)
{
    fputs(head, out);
    put_element("title", document->title, out);
    fputs(style, out);
    fputs("</head>\n<body>\n", out);
    put_element("h1", document->title, out);
    fputs("<p class=\"origin\">", out);
    nvt_render_html_text(document->origin ? document->origin : "", out);
    fputs("</p>\n<div class=\"page\">\n", out);
    put_contents(document, out);
    fputs("<main>\n", out);
    for (size_t i = 0; i < document->count; i++) {
        if (starts_pictures(document, i))
            fputs("<div class=\"pictures\">\n", out);
        if (put_block(document, i, out, err))
            return -1;
        if (ends_pictures(document, i))
            fputs("</div>\n", out);
    }
    fputs("</main>\n</div>\n", out);
    if (document->facts)
        nvt_document_html_json(document->facts, "facts", out);
    nvt_document_html_script(out);
    fputs("</body>\n</html>\n", out);
    return 0;
}
