/*
 * Axes of `linear` and `fragmented`; the defaults are the published study's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

const char *const nvt_fragment_modes[] = {"linear", "train", "inference", NULL};
const char *const nvt_fragment_variants[] = {"looped", "grouped", NULL};

static void default_to(struct nvt_axis *axis, const int64_t *values, size_t count)
{
    if (axis->count)
        return;
    axis->count = count;
    memcpy(axis->values, values, count * sizeof(*values));
}

static void fill_defaults(struct nvt_fragment_axes *axes)
{
    static const int64_t sizes[] = {2048, 4096, 8192}, batches[] = {1, 8, 16};
    static const int64_t fragments[] = {2, 8, 32, 128}, modes[] = {0, 1, 2}, variants[] = {0, 1};
    default_to(&axes->size, sizes, 3);
    default_to(&axes->batch, batches, 3);
    default_to(&axes->fragments, fragments, 4);
    default_to(&axes->mode, modes, 3);
    default_to(&axes->variant, variants, 2);
}

/* An axis that the configuration has, or null. */
static void put_axis(struct nvt_json *json, const char *text, const char *key, int is_number)
{
    char word[64] = "";
    size_t length = strlen(key);
    for (const char *at = text; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, key, length) && at[length] == '=')
            snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + length + 1, " "),
                     at + length + 1);
    if (!word[0])
        nvt_json_null(json, key);
    else if (is_number)
        nvt_json_integer(json, key, strtoll(word, NULL, 10));
    else
        nvt_json_text(json, key, word);
}

static void put_axes(struct nvt_json *json, const struct nvt_configuration *configuration)
{
    put_axis(json, configuration->text, "size", 1);
    put_axis(json, configuration->text, "batch", 1);
    put_axis(json, configuration->text, "mode", 0);
    put_axis(json, configuration->text, "fragments", 1);
    put_axis(json, configuration->text, "variant", 0);
}

static void add(struct nvt_sweep *sweep, int64_t size, int64_t batch, const char *mode,
                int64_t fragments, const char *variant)
{
    struct nvt_configuration *configuration = &sweep->configurations[sweep->count++];
    int text = snprintf(configuration->text, sizeof(configuration->text),
                        "size=%" PRId64 " batch=%" PRId64 " mode=%s", size, batch, mode);
    int label = snprintf(configuration->label, sizeof(configuration->label),
                         "size%" PRId64 "-batch%" PRId64 "-%s", size, batch, mode);
    configuration->axes = put_axes;
    if (!fragments)
        return;
    text += snprintf(configuration->text + text, sizeof(configuration->text) - (size_t)text,
                     " fragments=%" PRId64, fragments);
    label += snprintf(configuration->label + label, sizeof(configuration->label) - (size_t)label,
                      "-fragments%" PRId64, fragments);
    if (!variant)
        return;
    snprintf(configuration->text + text, sizeof(configuration->text) - (size_t)text, " variant=%s",
             variant);
    snprintf(configuration->label + label, sizeof(configuration->label) - (size_t)label, "-%s",
             variant);
}

static void add_mode(struct nvt_sweep *sweep, const struct nvt_fragment_axes *axes, int64_t size,
                     int64_t batch, int64_t mode)
{
    const char *name = nvt_fragment_modes[mode];
    if (mode == 0) {
        add(sweep, size, batch, name, 0, NULL);
        return;
    }
    for (size_t f = 0; f < axes->fragments.count; f++) {
        if (mode == 1)
            add(sweep, size, batch, name, axes->fragments.values[f], NULL);
        for (size_t v = 0; mode == 2 && v < axes->variant.count; v++)
            add(sweep, size, batch, name, axes->fragments.values[f],
                nvt_fragment_variants[axes->variant.values[v]]);
    }
}

static int check(const struct nvt_fragment_axes *axes, struct nvt_error *err)
{
    int cuts = axes->mode.count > 1 || axes->mode.values[0] != 0;
    for (size_t s = 0; s < axes->size.count; s++) {
        int64_t size = axes->size.values[s];
        if (size % 32)
            return nvt_fail(err, "--size %" PRId64 ": must be a multiple of 32", size);
        for (size_t f = 0; cuts && f < axes->fragments.count; f++)
            if (size % axes->fragments.values[f])
                return nvt_fail(err, "--size %" PRId64 " cannot be cut into %" PRId64 " fragments",
                                size, axes->fragments.values[f]);
    }
    return 0;
}

int nvt_fragment_configurations(struct nvt_sweep *sweep, struct nvt_fragment_axes *axes,
                                struct nvt_error *err)
{
    fill_defaults(axes);
    if (check(axes, err))
        return -1;
    size_t most = axes->size.count * axes->batch.count *
                  (1 + axes->fragments.count * (1 + axes->variant.count));
    sweep->configurations = calloc(most, sizeof(*sweep->configurations));
    if (!sweep->configurations)
        return nvt_fail(err, "out of memory");
    for (size_t s = 0; s < axes->size.count; s++)
        for (size_t b = 0; b < axes->batch.count; b++)
            for (size_t m = 0; m < axes->mode.count; m++)
                add_mode(sweep, axes, axes->size.values[s], axes->batch.values[b],
                         axes->mode.values[m]);
    return 0;
}
