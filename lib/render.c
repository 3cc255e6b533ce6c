#include "render.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "count_of.h"
#include "suggest.h"
#include "text.h"

#define NVT_FORMAT_LINE(name, captions, about) {#name, about, captions, nvt_render_##name},
static const struct nvt_format formats[] = {NVT_FORMATS(NVT_FORMAT_LINE)};
#undef NVT_FORMAT_LINE

const struct nvt_format *nvt_formats(size_t *count)
{
    *count = NVT_COUNT_OF(formats);
    return formats;
}

const struct nvt_format *nvt_format_find(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    return NULL;
}

const char *nvt_format_hint(const char *name, char *out, size_t size)
{
    struct nvt_suggestion suggestion = {.name = name};
    for (size_t i = 0; i < NVT_COUNT_OF(formats); i++)
        nvt_suggest(&suggestion, formats[i].name);
    return nvt_suggestion_text(&suggestion, out, size);
}

const char *nvt_render_separated(char out[NVT_NUMBER_MAX])
{
    char plain[NVT_NUMBER_MAX];
    size_t length = strlen(out), start = *out == '-', whole = strspn(out + start, "0123456789");
    if (length + whole / 3 >= NVT_NUMBER_MAX || strpbrk(out, "eE"))
        return out;
    memcpy(plain, out, length + 1);
    char *to = out + start;
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0)
            *to++ = ',';
        *to++ = plain[start + i];
    }
    memcpy(to, plain + start + whole, length - start - whole + 1);
    return out;
}

static void shortest(double value, char out[NVT_NUMBER_MAX])
{
    if (fabs(value) < 1e15 && value == trunc(value)) {
        snprintf(out, NVT_NUMBER_MAX, "%.0f", value);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, NVT_NUMBER_MAX, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

/* Six digits without zeros at their end, but whole numbers as they are up to 2^53. */
static void six_digits(double value, char *out)
{
    double size = fabs(value);
    if (size >= 1e6 && size <= 0x1p53) {
        snprintf(out, NVT_NUMBER_MAX, "%.0f", value);
        return;
    }
    snprintf(out, NVT_NUMBER_MAX, "%.6g", value);
}

/* What is rounded to nothing has no sign. */
static void unsign_zero(char *number)
{
    if (*number == '-' && !number[1 + strspn(number + 1, "0.")])
        memmove(number, number + 1, strlen(number));
}

/* What lies half way goes away from 0, as SQLite rounds, which makes nsys's tables; C's would go to the even digit. */
static double without_tie(double value, int decimals)
{
    double power = 1;
    for (int i = 0; i < decimals; i++)
        power *= 10;
    double scaled = value * power, below = trunc(scaled);
    return fabs(scaled - below) == 0.5 ? (below + copysign(1, value)) / power : value;
}

const char *nvt_render_number(const struct nvt_table *table, size_t row, size_t column,
                              int separators, char out[NVT_NUMBER_MAX])
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    out[0] = 0;
    if (nvt_table_is_null(table, row, column) || spec->type == NVT_TEXT)
        return out;
    if (spec->type == NVT_BOOL)
        snprintf(out, NVT_NUMBER_MAX, "%s", nvt_table_bool(table, row, column) ? "true" : "false");
    else if (spec->type == NVT_INT)
        snprintf(out, NVT_NUMBER_MAX, "%" PRId64, nvt_table_int(table, row, column));
    else if (spec->decimals == NVT_SHORTEST)
        shortest(nvt_table_real(table, row, column), out);
    else if (spec->decimals == NVT_SIX_DIGITS)
        six_digits(nvt_table_real(table, row, column), out);
    else
        snprintf(out, NVT_NUMBER_MAX, "%.*f", spec->decimals,
                 without_tie(nvt_table_real(table, row, column), spec->decimals));
    unsign_zero(out);
    if (separators && !(spec->flags & NVT_PLAIN))
        (void)nvt_render_separated(out);
    return out;
}

/* Whether somebody asked for it by this name, and knows its unit: results of SQL. */
static int is_named(const struct nvt_column *column)
{
    return column->flags & NVT_ASKED && column->flags & NVT_PLAIN;
}

const char *nvt_render_heading(const struct nvt_column *column, char *out, size_t size)
{
    const size_t length = strlen(column->heading), unit = strlen(column->unit);
    const char *end = column->heading + length;
    const int has_unit =
        length > unit && end[-(ptrdiff_t)unit - 1] == '_' && !strcmp(end - unit, column->unit);
    if (!unit || has_unit || is_named(column) || (length && end[-1] == ')'))
        snprintf(out, size, "%s", column->heading);
    else
        snprintf(out, size, "%s (%s)", column->heading, column->unit);
    return out;
}

const char *nvt_render_cell(const struct nvt_table *table, size_t row, size_t column,
                            char number[NVT_NUMBER_MAX])
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    if (row == SIZE_MAX)
        return nvt_render_heading(spec, number, NVT_NUMBER_MAX);
    if (spec->type == NVT_TEXT)
        return nvt_table_text(table, row, column);
    return nvt_render_number(table, row, column, 1, number);
}

static int add_fact(struct nvt_buffer *text, const char *separator, const char *name,
                    const char *value)
{
    return value ? nvt_buffer_printf(text, "%s%s%s", separator, name, value) : 0;
}

char *nvt_render_caption(const struct nvt_table *table)
{
    const struct nvt_provenance *from = nvt_table_provenance(table);
    struct nvt_buffer text = {0};
    const char *title = nvt_table_title(table);
    int failed = nvt_buffer_printf(&text, "%s", title);
    const char *separator = *title ? ". Backend " : "Backend ";
    failed |= add_fact(&text, separator, "", from->backend);
    separator = from->backend ? ", device " : *title ? ". Device " : "Device ";
    failed |= add_fact(&text, separator, "", from->device);
    failed |= add_fact(&text, text.size ? ", " : "", "", from->date);
    failed |= add_fact(&text, text.size ? "; " : "", "", from->condition);
    if (failed || nvt_buffer_append(&text, "", 1)) {
        nvt_buffer_free(&text);
        return NULL;
    }
    return (char *)text.data;
}

void nvt_render_visible(const char *text, FILE *out)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;)
        nvt_utf8_write(nvt_char_visible(character), out);
}

static void delimited_table(const struct nvt_table *table, char delimiter,
                            void (*field)(const char *text, FILE *out), FILE *out)
{
    size_t columns = nvt_table_columns(table);
    char number[NVT_NUMBER_MAX];
    for (size_t column = 0; column < columns; column++) {
        if (column)
            putc(delimiter, out);
        field(nvt_render_heading(nvt_table_column(table, column), number, sizeof(number)), out);
    }
    putc('\n', out);
    for (size_t row = 0; row < nvt_table_rows(table); row++) {
        for (size_t column = 0; column < columns; column++) {
            if (column)
                putc(delimiter, out);
            if (nvt_table_column(table, column)->type == NVT_TEXT)
                field(nvt_table_text(table, row, column), out);
            else
                fputs(nvt_render_number(table, row, column, 0, number), out);
        }
        putc('\n', out);
    }
}

void nvt_render_delimited(const struct nvt_tables *tables, char delimiter,
                          void (*field)(const char *text, FILE *out), FILE *out)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (i)
            putc('\n', out);
        delimited_table(tables->items[i], delimiter, field, out);
    }
}
