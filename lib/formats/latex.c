/*
 * LaTeX tables (package booktabs; non-ASCII names want XeLaTeX or LuaLaTeX and a font that has
 * them). Special characters are written as their text commands; what is no printable character as
 * \textbackslash{}n and the like, because fonts lack the control pictures.
 */
#include <stdlib.h>
#include <string.h>

#include "../compact_table.h"
#include "../render.h"
#include "../text.h"

/* What a character is written as, or NULL when it stands for itself. */
static const char *escape(uint32_t character)
{
    switch (character) {
    case '\\':
        return "\\textbackslash{}";
    case '~':
        return "\\textasciitilde{}";
    case '^':
        return "\\textasciicircum{}";
    case '<':
        return "\\textless{}";
    case '>':
        return "\\textgreater{}";
    case '|':
        return "\\textbar{}";
    case '"':
        return "\\char34{}"; /* \\textquotedbl is not in every font encoding */
    case '\'':
        return "\\textquotesingle{}";
    case '`':
        return "\\textasciigrave{}";
    case '-': /* two of them would be a dash */
        return "{-}";
    case '[': /* behind \\ it would be an argument */
        return "{[}";
    case '*':
        return "{*}";
    case '\n':
        return "\\textbackslash{}n";
    case '\t':
        return "\\textbackslash{}t";
    case '\r':
        return "\\textbackslash{}r";
    default:
        return NULL;
    }
}

void nvt_render_latex_text(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        const char *written = escape(character);
        if (written)
            fputs(written, out);
        else if (character < 0x20 || character == 0x7F)
            fprintf(out, "\\textbackslash{}x%02X", character);
        else {
            if (character < 0x80 && strchr("_&%#${}", (int)character))
                putc('\\', out);
            nvt_utf8_write(nvt_char_visible(character), out);
        }
    }
}

static void put_latex_number(const char *number, FILE *out)
{
    fprintf(out, "%s%s", *number == '-' ? "$-$" : "", number + (*number == '-'));
}

static void put_latex_row(const struct nvt_table *table, size_t row, FILE *out)
{
    char number[NVT_NUMBER_MAX];
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        fputs(column ? " & " : "  ", out);
        const char *text = nvt_render_cell(table, row, column, number);
        if (row == SIZE_MAX || nvt_table_column(table, column)->type == NVT_TEXT)
            nvt_render_latex_text(text, out);
        else
            put_latex_number(text, out);
    }
    fputs(" \\\\\n", out);
}

/* Whether a column of texts is long and has blanks enough to be set as a paragraph. */
static int is_paragraph(const struct nvt_table *table, size_t column)
{
    enum { LINE = 45, WORD = 28 };
    size_t longest = 0;
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        const char *text = nvt_table_text(table, row, column);
        longest = strlen(text) > longest ? strlen(text) : longest;
        for (const char *at = text; *at; at += strspn(at, " ")) {
            size_t word = strcspn(at, " ");
            if (word > WORD)
                return 0;
            at += word;
        }
    }
    return longest > LINE;
}

void nvt_render_latex_tabular(const struct nvt_table *table, size_t first, size_t count, FILE *out)
{
    fputs("\\begin{tabular}{", out);
    for (size_t column = 0; column < nvt_table_columns(table); column++)
        fputs(nvt_table_column(table, column)->type != NVT_TEXT ? "r"
              : is_paragraph(table, column)                     ? "p{0.36\\linewidth}"
                                                                : "l",
              out);
    fputs("}\n\\toprule\n", out);
    put_latex_row(table, SIZE_MAX, out);
    fputs("\\midrule\n", out);
    for (size_t row = first; row < nvt_table_rows(table) && row - first < count; row++)
        put_latex_row(table, row, out);
    fputs("\\bottomrule\n\\end{tabular}\n", out);
}

static int render_latex(const struct nvt_compact_table *compact, const struct nvt_tables *tables,
                        FILE *out)
{
    (void)tables;
    char *caption = nvt_compact_caption(compact);
    if (!caption)
        return -1;
    fputs("\\begin{table}\n\\centering\n\\caption{", out);
    nvt_render_latex_text(caption, out);
    fputs("}\n", out);
    nvt_render_latex_tabular(compact->table, 0, SIZE_MAX, out);
    fputs("\\end{table}\n", out);
    free(caption);
    return 0;
}

int nvt_render_latex(const struct nvt_tables *tables, FILE *out)
{
    fputs("% \\usepackage{booktabs}\n", out);
    return nvt_compact_each(tables, render_latex, out);
}
