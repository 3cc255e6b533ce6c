#include "declared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phases.h"

static const struct nvt_declared nothing = {NAN, NAN, NVT_ROOFS};

/* What a text says. */
static enum nvt_roof roof_said(const char *text)
{
    const enum nvt_roof roof = nvt_roof_named(text);
    return roof == NVT_ROOFS ? NVT_ROOF_OTHER : roof;
}

static double less(double value)
{
    return value < NVT_DECLARED_LESS ? value : NAN;
}

struct nvt_declared nvt_declared_in_payload(const char *payload)
{
    static const char key[] = "\"precision\":";
    struct nvt_declared work = nothing;
    const char *precision = strstr(payload, key);
    work.flops = less(nvt_declared_number(payload, "\"flops\""));
    work.bytes = less(nvt_declared_number(payload, "\"bytes\""));
    if (precision) {
        precision += strlen(key);
        precision += strspn(precision, " ");
        work.roof = *precision == '"' ? roof_said(precision + 1) : NVT_ROOFS;
    }
    return work;
}

/* The number behind `key` ("flops="), which a word of this length is, NaN: it is another word, or has none. */
static double number_of(const char *word, size_t length, const char *key)
{
    const size_t size = strlen(key);
    char *end;
    if (length <= size || strncmp(word, key, size))
        return NAN;
    const double value = strtod(word + size, &end);
    return end == word + length && value >= 0 && value < NVT_DECLARED_LESS ? value : NAN;
}

/* Whether a word says something, which goes into `work`. */
static int take_word(const char *word, size_t length, struct nvt_declared *work)
{
    static const char precision[] = "precision=";
    const double flops = number_of(word, length, "flops="),
                 bytes = number_of(word, length, "bytes=");
    const enum nvt_roof roof = strncmp(word, precision, strlen(precision))
                                   ? NVT_ROOFS
                                   : roof_said(word + strlen(precision));
    work->roof = roof == NVT_ROOFS ? work->roof : roof;
    work->flops = isnan(flops) ? work->flops : flops;
    work->bytes = isnan(bytes) ? work->bytes : bytes;
    return !isnan(flops) || !isnan(bytes) || roof < NVT_ROOFS;
}

struct nvt_declared nvt_declared_in_name(const char *name, char **plain)
{
    struct nvt_declared work = nothing;
    size_t used = 0;
    *plain = strdup(name);
    if (!*plain || !strstr(name, "flops=") || !strstr(name, "bytes="))
        return nothing;
    for (const char *at = name; *at;) {
        const size_t blanks = strspn(at, " "), length = strcspn(at + blanks, " ");
        if (!take_word(at + blanks, length, &work)) {
            memcpy(*plain + used, at, blanks + length);
            used += blanks + length;
        }
        at += blanks + length;
    }
    (*plain)[used] = 0;
    if (nvt_declared_is_work(&work))
        return work;
    memcpy(*plain, name, strlen(name) + 1); /* they are no such words */
    return nothing;
}

int nvt_declared_is_work(const struct nvt_declared *work)
{
    return work->flops >= 0 && work->bytes >= 0 && (work->flops > 0 || work->bytes > 0);
}

enum nvt_roof nvt_declared_roof(const struct nvt_declared *work, const struct nvt_record *record,
                                const char *configuration, const char *phase)
{
    static const char precision[] = " precision=";
    char key[128];
    const char *word = strstr(configuration, precision);
    snprintf(key, sizeof(key), "precision_%s", phase);
    const char *own = record ? nvt_record_text(record, key) : NULL;
    if (work->roof != NVT_ROOFS)
        return work->roof;
    if (own)
        return roof_said(own);
    return word ? roof_said(word + strlen(precision)) : NVT_ROOF_FP32;
}
