/*
 * One HTML file that loads nothing: style, the script that sorts tables, and the pictures are in
 * it, and its policy forbids the rest. Light and dark after the reader's system, narrow and wide,
 * printable.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
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
    ":root{--ink:#1b1f24;--dim:#57606a;--paper:#fff;--line:#d0d7de;--band:#f6f8fa;--link:#0550ae}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4b0;--paper:#0e1217;"
    "--line:#30363d;--band:#171c23;--link:#7ab7ff}\n"
    ".picture svg{filter:invert(.91) hue-rotate(180deg)}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:84rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,'DejaVu Sans',sans-serif}\n"
    "h1{font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}\n"
    "h2{font-size:1.25rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}\n"
    "p,li,dl{max-width:48rem;overflow-wrap:anywhere}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;margin:.3rem 0 1.4rem}\n"
    "dt{color:var(--dim)}dd{margin:0}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem}\na{color:var(--link)}\n"
    "figure{margin:1rem 0}\n"
    "figcaption{color:var(--dim);font-size:.85rem;margin-top:.4rem;overflow-wrap:anywhere}\n"
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
    ".pictures{display:grid;gap:0 2rem;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,30rem),1fr))}\n"
    ".picture svg{display:block;width:100%;max-width:40rem;height:auto;border-radius:6px}\n"
    "pre{background:var(--band);border:1px solid var(--line);border-radius:6px;padding:.7rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\n"
    "@page{margin:14mm}\n"
    "@media print{:root{--ink:#000;--dim:#333;--paper:#fff;--line:#999;--band:#eee}"
    "body{max-width:none;padding:0;font-size:.8rem}nav{display:none}"
    ".picture svg{filter:none}.pictures{grid-template-columns:1fr 1fr;gap:0 1rem}"
    ".scroll{overflow:visible;max-height:none;border:0}"
    "table{font-size:.6rem}.many table{font-size:.5rem}"
    "th,td{padding:.15rem .3rem}.many th,.many td{padding:.1rem .2rem}"
    "th{position:static}td.w{min-width:0}td:not(.n){white-space:normal}"
    "h2,h2+p,dt{break-after:avoid}.picture,tr,dl,pre{break-inside:avoid}"
    "figcaption{break-before:avoid}p{orphans:3;widows:3}}\n"
    "</style>\n";

/* Sorting by a click or Enter on a heading: numbers by their value, numbers in texts too, what has
 * none last. */
static const char script[] =
    "<script>\n"
    "for(const table of document.querySelectorAll('table'))"
    "table.querySelectorAll('th').forEach((th,column)=>{\n"
    "  const sort=()=>{\n"
    "    const down=th.getAttribute('aria-sort')==='ascending',body=table.tBodies[0];\n"
    "    const key=row=>{const cell=row.cells[column],value=cell.dataset.v,"
    "text=cell.textContent.trim();\n"
    "      if(value===undefined)return /^[-\\u2013\\u2014]?$/.test(text)?null:text;\n"
    "      return value===''||isNaN(value)?null:Number(value)};\n"
    "    const order=(a,b)=>typeof a==='string'?a.localeCompare(b,'en',{numeric:true}):"
    "a<b?-1:a>b?1:0;\n"
    "    const rows=[...body.rows].map(row=>[key(row),row]);\n"
    "    rows.sort(([a],[b])=>a===null||b===null?(a===null)-(b===null):"
    "order(a,b)*(down?-1:1));\n"
    "    table.querySelectorAll('th').forEach(other=>other.removeAttribute('aria-sort'));\n"
    "    th.setAttribute('aria-sort',down?'descending':'ascending');\n"
    "    for(const [,row] of rows)body.append(row);\n"
    "  };\n"
    "  th.tabIndex=0;th.title='sort by this column';th.onclick=sort;\n"
    "  th.onkeydown=event=>{if(event.key==='Enter'){event.preventDefault();sort()}};\n"
    "});\n"
    "</script>\n";

/* --- pictures --------------------------------------------------------------------------------- */

/* Whether a name of ours is to be set behind what was just written: ids and what refers to them. */
static int refers(const char *at, size_t *length)
{
    static const char *const starts[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    for (size_t i = 0; i < NVT_COUNT_OF(starts); i++)
        if (!strncmp(at, starts[i], strlen(starts[i]))) {
            *length = strlen(starts[i]);
            return 1;
        }
    return 0;
}

/* gnuplot names every curve for itself, which browsers would show as a tip. Returns what is behind.
 */
static const char *skip_names(const char *at)
{
    static const char *const elements[][2] = {{"<title>", "</title>"}, {"<desc>", "</desc>"}};
    for (size_t i = 0; i < 2; i++)
        if (!strncmp(at, elements[i][0], strlen(elements[i][0]))) {
            const char *end = strstr(at, elements[i][1]);
            return end ? end + strlen(elements[i][1]) : at;
        }
    return at;
}

/*
 * The <svg> element of a picture that gnuplot wrote, its ids made different from those of the other
 * pictures. In gnuplot's output '<' stands only at tags.
 */
static void put_svg(const char *svg, size_t number, FILE *out)
{
    int in_tag = 0;
    for (const char *at = svg; *at;) {
        const char *behind = skip_names(at);
        if (behind != at) {
            at = behind;
            continue;
        }
        size_t length = 1;
        in_tag = *at == '<' ? 1 : *at == '>' ? 0 : in_tag;
        int is_name = in_tag && refers(at, &length);
        fwrite(at, 1, length, out);
        if (is_name)
            fprintf(out, "p%zu-", number);
        at += length;
    }
}

static int put_picture(const struct nvt_block *block, size_t number, FILE *out,
                       struct nvt_error *err)
{
    size_t size;
    char *picture = nvt_document_read(block->path, &size, err);
    const char *svg = picture ? strstr(picture, "<svg") : NULL;
    /* gnuplot writes neither; what does is not taken into a document that shall load nothing. */
    if (svg && (strstr(svg, "<script") || strstr(svg, "<image")))
        svg = NULL;
    if (picture && !svg)
        nvt_fail_at(err, block->path, -1, "is no plain SVG picture");
    if (svg) {
        fputs("<figure class=\"picture\" role=\"img\" aria-label=\"", out);
        nvt_render_html_text(block->title, out);
        fputs("\">\n", out);
        put_svg(svg, number, out);
        fputs("<figcaption>", out);
        nvt_render_html_text(block->title, out);
        fputs("</figcaption></figure>\n", out);
    }
    free(picture);
    return svg ? 0 : -1;
}

/* --- the rest --------------------------------------------------------------------------------- */

static void put_element(const char *name, const char *text, FILE *out)
{
    fprintf(out, "<%s>", name);
    nvt_render_html_text(text, out);
    fprintf(out, "</%s>\n", name);
}

/* A long table scrolls below its headings, one of many columns is printed smaller. */
static void put_table(const struct nvt_block *block, FILE *out)
{
    enum { TALL = 40, MANY = 11 };
    fprintf(out, "<figure><div class=\"scroll%s%s\" tabindex=\"0\">\n",
            nvt_table_rows(block->table) > TALL ? " tall" : "",
            nvt_table_columns(block->table) > MANY ? " many" : "");
    nvt_render_html_table(block->table, out);
    fputs("</div>\n", out);
    put_element("figcaption", block->text, out);
    fputs("</figure>\n", out);
}

/* What is said about a thing: the parts of the text, each with its name before the first colon. */
static void put_item(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    fputs("<p><strong>", out);
    nvt_render_html_text(block->title, out);
    fputs("</strong></p>\n<dl>\n", out);
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        char *value = strstr(line, ": ");
        if (value)
            *value = 0;
        put_element("dt", value ? line : "", out);
        put_element("dd", value ? value + 2 : line, out);
    }
    fputs("</dl>\n", out);
    free(text);
}

static int put_block(const struct nvt_block *block, size_t number, FILE *out, struct nvt_error *err)
{
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
    case NVT_BLOCK_COMMAND:
        put_element("pre", block->text, out);
        break;
    case NVT_BLOCK_TABLE:
        put_table(block, out);
        break;
    case NVT_BLOCK_PICTURE:
        return put_picture(block, number, out, err);
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
    put_contents(document, out);
    for (size_t i = 0; i < document->count; i++) {
        if (starts_pictures(document, i))
            fputs("<div class=\"pictures\">\n", out);
        if (put_block(&document->blocks[i], i, out, err))
            return -1;
        if (ends_pictures(document, i))
            fputs("</div>\n", out);
    }
    fputs(script, out);
    fputs("</body>\n</html>\n", out);
    return 0;
}
