#include "people.h"

#include <math.h>
#include <string.h>

#include "one_of.h"
#include "quantity_text.h"

/* What is counted in a unit, in its smallest one. */
enum quantity { OF_TIME, OF_BYTES, OF_BINARY, OF_OTHERS };

struct unit {
    const char *name;
    enum quantity of;
    double size; /* ns or bytes */
};

static const struct unit *unit_of(const char *name)
{
    static const struct unit units[] = {
        {"ns", OF_TIME, 1},         {"us", OF_TIME, 1e3},     {"µs", OF_TIME, 1e3},
        {"ms", OF_TIME, 1e6},       {"s", OF_TIME, 1e9},      {"B", OF_BINARY, 1},
        {"bytes", OF_BINARY, 1},    {"KiB", OF_BINARY, 1024}, {"MiB", OF_BINARY, 1048576},
        {"GiB", OF_BINARY, 0x1p30}, {"kB", OF_BYTES, 1e3},    {"MB", OF_BYTES, 1e6},
        {"GB", OF_BYTES, 1e9},      {"", OF_OTHERS, 1}};
    const struct unit *unit = units;
    while (*unit->name && strcmp(unit->name, name) != 0)
        unit++;
    return unit;
}

static const struct unit *unit_at(const struct nvt_table *table, size_t column)
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    const int is_number = (spec->type == NVT_INT || spec->type == NVT_REAL) &&
                          !(spec->flags & NVT_ASKED && spec->flags & NVT_PLAIN);
    if (spec->flags & NVT_MOMENT && !nvt_table_provenance(table)->has_begin)
        return unit_of("");
    return unit_of(is_number ? spec->unit : "");
}

const char *nvt_binary_text(double bytes, char out[NVT_TIME_MAX])
{
    const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = fabs(bytes);
    size_t unit = 0;
    for (; unit < 4 && size >= 1023.5; unit++)
        size /= 1024;
    const int decimals = !unit || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(out, NVT_TIME_MAX, "%s%.*f %s", bytes < 0 ? "-" : "", decimals, size, units[unit]);
    return out;
}

const char *nvt_digits_text(double value, int decimals, char out[NVT_NUMBER_MAX])
{
    const double size = fabs(value);
    int most = size >= 1 ? 3 - (int)floor(log10(size)) : 4;
    most = most < 0 ? 0 : most;
    if (size > 0 && size < 0.001 && (decimals < 0 || decimals > 4))
        snprintf(out, NVT_NUMBER_MAX, "%.3g", value);
    else
        snprintf(out, NVT_NUMBER_MAX, "%.*f", decimals >= 0 && decimals < most ? decimals : most,
                 value);
    return out;
}

/* Digits that a column of no unit shows, with separators. */
static const char *put_digits(const struct nvt_table *table, size_t row, size_t column, char *out)
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    const double value = nvt_table_real(table, row, column);
    if (spec->type != NVT_REAL || (spec->decimals < 0 && value == floor(value)))
        return nvt_render_number(table, row, column, 1, out);
    nvt_digits_text(value, spec->decimals, out);
    return nvt_render_separated(out);
}

/* A range without the mark of the default domain, and with blanks for its level in a tree. */
static const char *range_name(const char *text, char *out)
{
    size_t level = 0;
    while (text[level] == '-' && text[level + 1] == '-')
        level += 2;
    const char *name = text + level + (text[level] == ':' && text[level + 1]);
    if (!level || level + strlen(name) >= NVT_NUMBER_MAX)
        return level ? text : name;
    snprintf(out, NVT_NUMBER_MAX, "%*s%s", (int)level, "", name);
    return out;
}

/* Of kernels in a comparison, in nsys's summaries, and of operations on the critical path. */
static int is_of_kernel(const char *kind)
{
    static const char *const kinds[] = {"kernel", "CUDA_KERNEL", "Compute", "Communication",
                                        "Gap",    "Stall",       "Launch"};
    return NVT_IS_ONE_OF(kind, kinds);
}

int nvt_people_is_kernel(const struct nvt_table *table, size_t row, size_t column)
{
    if (!(nvt_table_column(table, column)->flags & NVT_OF_KERNELS))
        return 0;
    for (size_t i = 0; i < nvt_table_columns(table); i++)
        if (nvt_table_column(table, i)->flags & NVT_OF_KINDS)
            return is_of_kernel(nvt_table_text(table, row, i));
    return 1;
}

int nvt_people_kernels(const struct nvt_table *table, struct nvt_kernel_labels *kernels)
{
    int failed = 0;
    for (size_t column = 0; column < nvt_table_columns(table); column++)
        for (size_t row = 0; row < nvt_table_rows(table) && !failed; row++) {
            if (nvt_people_is_kernel(table, row, column))
                failed = nvt_kernel_labels_add(kernels, nvt_table_text(table, row, column));
            else if (!(nvt_table_column(table, column)->flags & NVT_OF_KERNELS))
                break;
        }
    return failed ? failed : nvt_kernel_labels_finish(kernels);
}

const char *nvt_people_cell(const struct nvt_table *table, size_t row, size_t column,
                            const struct nvt_kernel_labels *kernels, char number[NVT_NUMBER_MAX])
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    const struct unit *unit = unit_at(table, column);
    *number = 0;
    if (spec->type == NVT_TEXT) {
        const char *text = nvt_table_text(table, row, column);
        if (spec->flags & NVT_OF_RANGES)
            return range_name(text, number);
        return kernels && nvt_people_is_kernel(table, row, column)
                   ? nvt_kernel_labels_get(kernels, text)
                   : text;
    }
    if (nvt_table_is_null(table, row, column))
        return number;
    const double value = nvt_table_real(table, row, column) * unit->size;
    if (spec->flags & NVT_MOMENT && unit->of == OF_TIME)
        return nvt_moment_text(
            nvt_table_int(table, row, column) - nvt_table_provenance(table)->begin, number);
    switch (unit->of) {
    case OF_TIME:
        return nvt_time_text(value, number);
    case OF_BYTES:
        return nvt_bytes_text(value, number);
    case OF_BINARY:
        return nvt_binary_text(value, number);
    case OF_OTHERS:
        break;
    }
    return put_digits(table, row, column, number);
}

const char *nvt_people_heading(const struct nvt_table *table, size_t column, char *out, size_t size)
{
    const struct nvt_column *spec = nvt_table_column(table, column);
    const char *unit = strrchr(spec->heading, '(');
    if (unit_at(table, column)->of == OF_OTHERS)
        return nvt_render_heading(spec, out, size);
    size_t length = unit ? (size_t)(unit - spec->heading) : strlen(spec->heading);
    while (length && spec->heading[length - 1] == ' ')
        length--;
    snprintf(out, size, "%.*s", (int)length, spec->heading);
    return out;
}

int nvt_people_has_unit(const struct nvt_table *table, size_t column)
{
    return unit_at(table, column)->of != OF_OTHERS;
}
