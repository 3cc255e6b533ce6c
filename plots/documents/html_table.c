/*
 * Tables in the HTML document: cells as people read them, with the bare value to sort by in data-v; names that are too long
 * are cut where they differ, and whole as a tip.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/people.h"
#include "../../lib/text.h"
#include "../document.h"
#include "../label.h"

enum { LONG_TEXT = 24, NAME_MOST = 64 };

/* The names of a column as labels, by row; malloc'ed, NULL when out of memory. */
static struct nvt_label *labels_of(const struct nvt_table *table, size_t column,
                                   const struct nvt_kernel_labels *kernels)
{
    const size_t rows = nvt_table_rows(table);
    struct nvt_label *labels = calloc(rows + 1, sizeof(*labels));
    for (size_t row = 0; labels && row < rows; row++) {
        const char *text = nvt_table_text(table, row, column);
        labels[row].name =
            nvt_people_is_kernel(table, row, column) ? nvt_kernel_labels_get(kernels, text) : text;
    }
    return labels;
}

/* A function in C++, or what has a shorter name, has its whole name as a tip. */
static void put_name(const struct nvt_labels *labels, size_t row, const char *whole, FILE *out)
{
    char label[NVT_LABEL_SIZE(NAME_MOST)];
    const char *name = labels->items[row].name ? labels->items[row].name : whole;
    const int is_cut =
        nvt_text_width(name) > NAME_MOST && strpbrk(whole, "<(") && strchr(whole, ')');
    if (!is_cut && !strcmp(name, whole)) {
        fputs(strlen(name) > LONG_TEXT ? "<td class=\"w\">" : "<td>", out);
        nvt_render_html_text(name, out);
    } else {
        fputs("<td class=\"w\" title=\"", out);
        nvt_render_html_text(whole, out);
        fputs("\">", out);
        if (is_cut)
            nvt_label_write(labels, row, NAME_MOST, label, sizeof(label));
        nvt_render_html_text(is_cut ? label : name, out);
    }
    fputs("</td>", out);
}

static void put_cell(const struct nvt_table *table, size_t row, size_t column, FILE *out)
{
    char number[NVT_NUMBER_MAX], bare[NVT_NUMBER_MAX];
    if (nvt_table_column(table, column)->type == NVT_BOOL)
        fputs("<td>", out);
    else
        fprintf(out, "<td class=\"n\" data-v=\"%s\">",
                nvt_render_number(table, row, column, 0, bare));
    nvt_render_html_text(nvt_people_cell(table, row, column, NULL, number), out);
    fputs("</td>", out);
}

static void put_head(const struct nvt_table *table, FILE *out)
{
    char heading[NVT_NUMBER_MAX];
    fputs("<table>\n<thead><tr>", out);
    for (size_t column = 0; column < nvt_table_columns(table); column++) {
        enum nvt_type type = nvt_table_column(table, column)->type;
        fputs(type == NVT_TEXT || type == NVT_BOOL ? "<th>" : "<th class=\"n\">", out);
        nvt_render_html_text(nvt_people_heading(table, column, heading, sizeof(heading)), out);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

void nvt_document_html_table(const struct nvt_table *table, FILE *out)
{
    const size_t columns = nvt_table_columns(table);
    struct nvt_label **labels = calloc(columns + 1, sizeof(*labels));
    struct nvt_kernel_labels kernels = {0};
    if (nvt_people_kernels(table, &kernels))
        nvt_kernel_labels_free(&kernels);
    put_head(table, out);
    for (size_t column = 0; labels && column < columns; column++)
        if (nvt_table_column(table, column)->type == NVT_TEXT)
            labels[column] = labels_of(table, column, &kernels);
    for (size_t row = 0; labels && row < nvt_table_rows(table); row++) {
        fputs("<tr>", out);
        for (size_t column = 0; column < columns; column++)
            if (labels[column])
                put_name(&(struct nvt_labels){labels[column], nvt_table_rows(table)}, row,
                         nvt_table_text(table, row, column), out);
            else
                put_cell(table, row, column, out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n", out);
    for (size_t column = 0; labels && column < columns; column++)
        free(labels[column]);
    free((void *)labels);
    nvt_kernel_labels_free(&kernels);
}

/* A share of what is above all of them as a bar behind the cell in front of it. */
static void put_share(const struct nvt_table *table, size_t row, size_t column, FILE *out)
{
    char number[NVT_NUMBER_MAX], bare[NVT_NUMBER_MAX];
    const double share =
        nvt_table_is_null(table, row, column) ? 0 : nvt_table_real(table, row, column);
    fprintf(out, "<td class=\"n s %s\" style=\"--s:%.1f%%\" data-v=\"%s\">",
            column > 2 ? "gpu" : "cpu", share > 100 ? 100 : share,
            nvt_render_number(table, row, column, 0, bare));
    nvt_render_html_text(nvt_people_cell(table, row, column, NULL, number), out);
    fputs("</td>", out);
}

void nvt_document_html_tree(const struct nvt_table *table, FILE *out)
{
    put_head(table, out);
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        fputs("<tr>", out);
        for (size_t column = 0; column < nvt_table_columns(table); column++) {
            const struct nvt_column *spec = nvt_table_column(table, column);
            if (spec->type == NVT_TEXT) {
                fputs("<td>", out);
                nvt_render_html_text(nvt_table_text(table, row, column), out);
                fputs("</td>", out);
            } else if (!strcmp(spec->unit, "%"))
                put_share(table, row, column, out);
            else
                put_cell(table, row, column, out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table>\n", out);
}
