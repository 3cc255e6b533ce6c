/*
 * LaTeX: compiles as it is with pdflatex; with names in other scripts than Latin with lualatex and
 * a font that has them. Pictures are PDF files beside it. Long tables go on in the next one, wide
 * ones shrink to the line.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/render.h"
#include "../../lib/text.h"
#include "../document.h"

enum { ROWS_A_PAGE = 45 };

static const char preamble[] =
    "\\documentclass[a4paper]{article}\n"
    "\\usepackage[margin=2cm]{geometry}\n"
    "\\usepackage{booktabs,graphicx,textcomp}\n"
    "\\usepackage{iftex}\n"
    "\\ifPDFTeX\n"
    "  \\usepackage[utf8]{inputenc}\n"
    "  \\usepackage[T1]{fontenc}\n"
    "  \\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"
    "\\else\n"
    "  \\usepackage{fontspec}\n"
    "\\fi\n"
    "\\setlength{\\parindent}{0pt}\n"
    "\\setlength{\\parskip}{0.6em}\n"
    "\\sloppy\n"
    "\\newsavebox{\\nvttable}\n"
    "\\newcommand{\\nvtfit}{\\ifdim\\wd\\nvttable>\\linewidth"
    "\\resizebox{\\linewidth}{!}{\\usebox{\\nvttable}}\\else\\usebox{\\nvttable}\\fi}\n";

static void put_table(const struct nvt_block *block, FILE *out)
{
    size_t rows = nvt_table_rows(block->table);
    for (size_t first = 0; !first || first < rows; first += ROWS_A_PAGE) {
        fputs("\\begin{lrbox}{\\nvttable}\\footnotesize\\setlength{\\tabcolsep}{3pt}\n", out);
        nvt_render_latex_tabular(block->table, first, ROWS_A_PAGE, out);
        fputs("\\end{lrbox}\n\\begin{center}\\nvtfit\\end{center}\n", out);
    }
    fputs("{\\small ", out);
    nvt_render_latex_text(block->text, out);
    fputs(block->note && *block->text ? ". " : "", out);
    nvt_render_latex_text(block->note ? block->note : "", out);
    fputs("\\par}\n", out);
}

/* A picture that is not there any more is named instead. The path is ours or the user's: names that
 * TeX would read as something else are left to it. */
static void put_picture(const struct nvt_block *block, FILE *out)
{
    const char *name = nvt_file_name(block->path);
    fprintf(out,
            "\\begin{center}\\IfFileExists{%s}{\\includegraphics[width=.66\\linewidth]{%s}}"
            "{(the picture \\texttt{\\detokenize{%s}} is missing)}\\end{center}\n",
            name, name, name);
    fputs("{\\small ", out);
    nvt_render_latex_text(block->title, out);
    fputs("\\par}\n", out);
}

static void put_braced(const char *command, const char *text, const char *end, FILE *out)
{
    fprintf(out, "\\%s{", command);
    nvt_render_latex_text(text, out);
    fprintf(out, "}%s", end);
}

static void put_item(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    put_braced("textbf", block->title, block->note && *block->note ? " " : "", out);
    nvt_render_latex_text(block->note ? block->note : "", out);
    fputs("\\par\n", out);
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        fputs("{\\leftskip=1em ", out);
        nvt_render_latex_text(line, out);
        fputs("\\par}\n", out);
    }
    free(text);
}

/* "Iteration 14.7 ms, median of 10". */
static void put_figures(const struct nvt_block *block, FILE *out)
{
    char *text = strdup(block->text), *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n")) && *line;) {
        const char *name = strsep(&line, "\t"), *value = line ? strsep(&line, "\t") : "";
        put_braced("textbf", name, " ", out);
        nvt_render_latex_text(value ? value : "", out);
        fputs(line && *line ? ", " : "", out);
        nvt_render_latex_text(line ? line : "", out);
        fputs("\\par\n", out);
    }
    free(text);
}

static void put_block(const struct nvt_block *block, FILE *out)
{
    switch (block->kind) {
    case NVT_BLOCK_HEADING:
        put_braced("section*", block->text, "\n", out);
        break;
    case NVT_BLOCK_TEXT:
        nvt_render_latex_text(block->text, out);
        fputs("\n", out);
        break;
    case NVT_BLOCK_ITEM:
    case NVT_BLOCK_PAGE:
    case NVT_BLOCK_FINDING:
        put_item(block, out);
        break;
    case NVT_BLOCK_FIGURES:
        put_figures(block, out);
        break;
    case NVT_BLOCK_COMMAND:
        fputs("{\\small\\raggedright", out);
        put_braced("texttt", block->text, "\\par}\n", out);
        break;
    case NVT_BLOCK_TABLE:
    case NVT_BLOCK_TREE:
        put_table(block, out);
        break;
    case NVT_BLOCK_PICTURE:
        put_picture(block, out);
        break;
    case NVT_BLOCK_FLAME:
    case NVT_BLOCK_TIMELINE:
        break;
    }
}

int nvt_document_latex(const struct nvt_document *document, FILE *out, struct nvt_error *err)
{
    (void)err;
    fputs(preamble, out);
    put_braced("title", document->title, "\n", out);
    fputs("\\date{}\n\\begin{document}\n\\maketitle\n", out);
    if (document->origin && *document->origin) {
        fputs("{\\small ", out);
        nvt_render_latex_text(document->origin, out);
        fputs("\\par}\n", out);
    }
    for (size_t i = 0; i < document->count; i++) {
        putc('\n', out);
        put_block(&document->blocks[i], out);
    }
    fputs("\n\\end{document}\n", out);
    return 0;
}
