#include "axes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/count_of.h"
#include "../lib/grow.h"
#include "../lib/wrap.h"

#define COMBINATIONS_MOST 100000

#define NVT_AXES_LINE(name) &nvt_axes_##name,
static const struct nvt_workload_axes *const tables[] = {NVT_WORKLOADS(NVT_AXES_LINE)};
#undef NVT_AXES_LINE

static const char *const flag_words[] = {"off", "on", NULL};

const struct nvt_workload_axes *nvt_axes_at(size_t i)
{
    return i < NVT_COUNT_OF(tables) ? tables[i] : NULL;
}

const struct nvt_workload_axes *nvt_axes_of(const char *workload)
{
    for (size_t i = 0; nvt_axes_at(i); i++)
        if (!strcmp(nvt_axes_at(i)->workload, workload))
            return nvt_axes_at(i);
    return NULL;
}

/* An axis's name as an option has it, without "--". */
static void option_of(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    for (char *at = out; *at; at++)
        if (*at == '_')
            *at = '-';
}

int nvt_axes_find(const struct nvt_workload_axes *axes, const char *option)
{
    char name[64];
    for (size_t i = 0; i < axes->count; i++) {
        option_of(axes->axes[i].name, name, sizeof(name));
        if (axes->axes[i].kind != NVT_AXIS_FIXED && !strcmp(name, option))
            return (int)i;
    }
    return -1;
}

static const char *const *words_of(const struct nvt_axis_spec *spec)
{
    return spec->kind == NVT_AXIS_FLAG ? flag_words : spec->words;
}

static int is_number(const struct nvt_axis_spec *spec)
{
    return spec->kind == NVT_AXIS_NUMBERS || spec->kind == NVT_AXIS_DECIMALS;
}

int nvt_axes_parse(const struct nvt_axis_spec *spec, const char *text, struct nvt_axis *values,
                   struct nvt_error *err)
{
    char name[64], option[72];
    option_of(spec->name, name, sizeof(name));
    snprintf(option, sizeof(option), "--%s", name);
    if (spec->kind == NVT_AXIS_NUMBERS)
        return nvt_axis_numbers(values, option, text, spec->least, spec->most, err);
    if (spec->kind == NVT_AXIS_DECIMALS)
        return nvt_axis_decimals(values, option, text, NVT_AXIS_SCALE, spec->least, spec->most,
                                 err);
    return nvt_axis_words(values, option, text, words_of(spec), err);
}

/* Append to the text of a configuration; a piece that does not fit is refused by add(). */
static size_t append(char *text, size_t at, const char *piece)
{
    size_t length = strlen(piece);
    if (at + length < NVT_CONFIGURATION_MAX)
        memcpy(text + at, piece, length + 1);
    return at + length;
}

/* A number stands behind its axis's name ("size256"), a word for itself ("train"). */
static int write_texts(const struct nvt_workload_axes *axes,
                       struct nvt_configuration *configuration, struct nvt_error *err)
{
    size_t text = 0, label = 0;
    for (size_t i = 0; i < axes->count; i++) {
        const struct nvt_axis_spec *spec = &axes->axes[i];
        char number[32], piece[128];
        if (!configuration->present[i])
            continue;
        nvt_axis_decimal_text(configuration->values[i],
                              spec->kind == NVT_AXIS_DECIMALS ? NVT_AXIS_SCALE : 1, number,
                              sizeof(number));
        const char *value = is_number(spec) ? number : words_of(spec)[configuration->values[i]];
        int is_word = spec->kind == NVT_AXIS_WORDS || spec->kind == NVT_AXIS_FIXED;
        snprintf(piece, sizeof(piece), "%s%s=%s", text ? " " : "", spec->name, value);
        text = append(configuration->text, text, piece);
        snprintf(piece, sizeof(piece), "%s%s%s", label ? "-" : "", is_word ? "" : spec->name,
                 value);
        label = append(configuration->label, label, piece);
    }
    if (text >= NVT_CONFIGURATION_MAX || label >= NVT_CONFIGURATION_MAX)
        return nvt_fail(err, "a configuration of %s is too long to be named", axes->workload);
    return 0;
}

/* What a combination comes to. */
enum outcome { FAILED = -1, DOUBLE, CONFIGURATION, LEFT_OUT };

/* DOUBLE: of another one, but for axes that do not apply; FAILED: with err. */
static enum outcome combine(const struct nvt_workload_axes *axes, const struct nvt_axis *chosen,
                            unsigned typed, const size_t *index,
                            struct nvt_configuration *configuration, struct nvt_error *err)
{
    memset(configuration, 0, sizeof(*configuration));
    for (size_t i = 0; i < axes->count; i++)
        configuration->values[i] = chosen[i].values[index[i]];
    if (axes->settle)
        axes->settle(configuration->values, typed);
    for (size_t i = 0; i < axes->count; i++) {
        configuration->present[i] =
            !axes->applies || axes->applies(configuration->values, i) ? 1 : 0;
        if (!configuration->present[i] && index[i])
            return DOUBLE;
    }
    if (axes->belongs && !axes->belongs(configuration->values, typed))
        return LEFT_OUT;
    if (axes->check && axes->check(configuration->values, typed, err))
        return FAILED;
    return write_texts(axes, configuration, err) ? FAILED : CONFIGURATION;
}

/* The next combination. 0 behind the last one. */
static int advance(const struct nvt_axis *chosen, size_t *index, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (++index[i] < chosen[i].count)
            return 1;
        index[i] = 0;
    }
    return 0;
}

static int count_combinations(const struct nvt_workload_axes *axes, struct nvt_axis *chosen,
                              size_t *combinations, struct nvt_error *err)
{
    *combinations = 1;
    for (size_t i = 0; i < axes->count; i++) {
        if (!chosen[i].count &&
            nvt_axes_parse(&axes->axes[i], axes->axes[i].defaults, &chosen[i], err))
            return -1;
        *combinations *= chosen[i].count;
        if (*combinations > COMBINATIONS_MOST)
            return nvt_fail(err, "more than %d combinations of the axes of %s", COMBINATIONS_MOST,
                            axes->workload);
    }
    return 0;
}

/* Append; 0, or -1 with err. */
static int append_to(struct nvt_expansion *to, const struct nvt_configuration *configuration,
                     struct nvt_error *err)
{
    if (nvt_grow(&to->items, to->count, sizeof(*to->items)))
        return nvt_fail(err, "out of memory");
    to->items[to->count++] = *configuration;
    return 0;
}

int nvt_axes_expand(const struct nvt_workload_axes *axes, struct nvt_axis *chosen,
                    struct nvt_expansion *out, struct nvt_error *err)
{
    size_t index[NVT_AXES_MOST] = {0}, combinations;
    unsigned typed = 0;
    for (size_t i = 0; i < axes->count; i++)
        typed |= chosen[i].count ? 1u << i : 0;
    struct nvt_configuration next;
    int status = count_combinations(axes, chosen, &combinations, err);
    *out = (struct nvt_expansion){0};
    do {
        enum outcome outcome = status ? FAILED : combine(axes, chosen, typed, index, &next, err);
        if (outcome == FAILED || (outcome == CONFIGURATION && append_to(out, &next, err)))
            status = -1;
        out->left_out += outcome == LEFT_OUT;
    } while (!status && advance(chosen, index, axes->count));
    if (status) {
        free(out->items);
        *out = (struct nvt_expansion){0};
    }
    return status;
}

void nvt_axes_put(const struct nvt_workload_axes *axes,
                  const struct nvt_configuration *configuration, struct nvt_json *json)
{
    for (size_t i = 0; i < axes->count; i++) {
        const struct nvt_axis_spec *spec = &axes->axes[i];
        int64_t value = configuration->values[i];
        if (!configuration->present[i])
            nvt_json_null(json, spec->name);
        else if (spec->kind == NVT_AXIS_NUMBERS)
            nvt_json_integer(json, spec->name, value);
        else if (spec->kind == NVT_AXIS_DECIMALS)
            nvt_json_number(json, spec->name, (double)value / NVT_AXIS_SCALE);
        else if (spec->kind == NVT_AXIS_FLAG)
            nvt_json_bool(json, spec->name, (int)value);
        else
            nvt_json_text(json, spec->name, spec->words[value]);
    }
}

void nvt_axes_help(const struct nvt_workload_axes *axes, FILE *out)
{
    char name[64], option[80], about[512];
    for (size_t i = 0; i < axes->count; i++) {
        const struct nvt_axis_spec *spec = &axes->axes[i];
        if (spec->kind == NVT_AXIS_FIXED)
            continue;
        option_of(spec->name, name, sizeof(name));
        snprintf(option, sizeof(option), spec->kind == NVT_AXIS_FLAG ? "--%s [LIST]" : "--%s LIST",
                 name);
        snprintf(about, sizeof(about), "%s (%s)", spec->about, spec->defaults);
        nvt_put_item(option, 27, about, NVT_HELP_WIDTH, out);
    }
}
