/*
 * warmup: the curve of iterations from the start of a process, where it gets level, what too few
 * warm-ups would do to a mean, and where the first iteration's time goes (analyze/studies/warmup.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../studies/warmup_first.h"

#include "report.h"

#define CURVE_LEAST                                                                                \
    16 /* iterations of the curve that are shown, three times the change-point if more */
#define PARTS_MOST 12 /* of ranges, and of calls; the others stand in one row */

/* From this p on nothing is said of a change-point that is not sure enough to count. */
#define NEARLY_ALPHA 0.2

enum {
    CONFIGURATION,
    LEVEL,
    PROCESSES,
    LENGTH,
    FIRST,
    STEADY,
    RATIO,
    AT,
    LOW,
    HIGH,
    CONFIDENCE,
    ENOUGH
};

static const struct nvt_column_spec columns[] = {
    [CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [LEVEL] = {"collect", "", NVT_TEXT, 0, 0},
    [PROCESSES] = {"processes", "", NVT_INT, 0, 0},
    [LENGTH] = {"iterations", "", NVT_INT, 0, 0},
    [FIRST] = {"first", "ns", NVT_REAL, 0, 0},
    [STEADY] = {"steady", "ns", NVT_REAL, 0, 0},
    [RATIO] = {"first/steady", "", NVT_REAL, 3, 0},
    [AT] = {"change-point", "", NVT_INT, 0, 0},
    [LOW] = {"low", "", NVT_INT, 0, 0},
    [HIGH] = {"high", "", NVT_INT, 0, 0},
    [CONFIDENCE] = {"confidence", "%", NVT_REAL, 2, 0},
    [ENOUGH] = {"warm-ups that are enough", "", NVT_TEXT, 0, 0},
};

enum { E_CONFIGURATION, E_LEVEL, E_WARMUP, E_N, E_MEAN, E_STD, E_BIAS };

static const struct nvt_column_spec effect_columns[] = {
    [E_CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [E_LEVEL] = {"collect", "", NVT_TEXT, 0, 0},
    [E_WARMUP] = {"warmup", "", NVT_INT, 0, 0},
    [E_N] = {"n", "", NVT_INT, 0, 0},
    [E_MEAN] = {"mean", "ns", NVT_REAL, 1, 0},
    [E_STD] = {"std", "ns", NVT_REAL, 1, 0},
    [E_BIAS] = {"mean off by", "%", NVT_REAL, 2, 0},
};

enum { C_CONFIGURATION, C_LEVEL, C_ITERATION, C_N, C_MEAN, C_MIN, C_MAX, C_RATIO };

static const struct nvt_column_spec curve_columns[] = {
    [C_CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [C_LEVEL] = {"collect", "", NVT_TEXT, 0, 0},
    [C_ITERATION] = {"iteration", "", NVT_INT, 0, 0},
    [C_N] = {"n", "", NVT_INT, 0, 0},
    [C_MEAN] = {"mean", "ns", NVT_REAL, 0, 0},
    [C_MIN] = {"min", "ns", NVT_REAL, 0, 0},
    [C_MAX] = {"max", "ns", NVT_REAL, 0, 0},
    [C_RATIO] = {"mean/steady", "", NVT_REAL, 3, 0},
};

enum {
    F_CONFIGURATION,
    F_LEVEL,
    F_PROCESSES,
    F_KIND,
    F_NAME,
    F_FIRST,
    F_LATER,
    F_EXCESS,
    F_SHARE,
    F_FAULTS,
    F_FAULTS_LATER,
    F_FAULTS_NS
};

static const struct nvt_column_spec first_columns[] = {
    [F_CONFIGURATION] = {"configuration", "", NVT_TEXT, 0, 0},
    [F_LEVEL] = {"collect", "", NVT_TEXT, 0, 0},
    [F_PROCESSES] = {"processes", "", NVT_INT, 0, 0},
    [F_KIND] = {"kind", "", NVT_TEXT, 0, 0},
    [F_NAME] = {"name", "", NVT_TEXT, 0, 0},
    [F_FIRST] = {"first iteration", "ns", NVT_REAL, 0, 0},
    [F_LATER] = {"later iterations", "ns", NVT_REAL, 0, 0},
    [F_EXCESS] = {"excess", "ns", NVT_REAL, 0, 0},
    [F_SHARE] = {"of all excess", "%", NVT_REAL, 1, 0},
    [F_FAULTS] = {"page faults, first", "", NVT_REAL, 0, 0},
    [F_FAULTS_LATER] = {"later", "", NVT_REAL, 1, 0},
    [F_FAULTS_NS] = {"take about", "ns", NVT_REAL, 0, 0},
};

static const char first_title[] = "Where the first iteration's time goes: ranges add up to all of "
                                  "its excess, calls and causes describe the same excess again";

/* A share of that excess above this, in %, is said to be more than there is. */
#define SHARE_MOST 100.05

/* Another table of the report, with the provenance of its first. */
static struct nvt_table *another(const struct nvt_table *like, const char *title,
                                 const struct nvt_column_spec *specs, size_t count)
{
    struct nvt_table *table = nvt_table_new("warmup", title, specs, count);
    if (table)
        nvt_table_set_provenance(table, nvt_table_provenance(like));
    return table;
}

/* The mean time of the first iteration over all processes. */
static double first_of(const struct nvt_warmup_study *study)
{
    double sum = 0;
    for (size_t s = 0; s < study->count; s++)
        sum += study->series[s].ns[0];
    return sum / (double)study->count;
}

/* What to say of a change-point that is as slow before it as one that counts, and nearly as sure; else "". */
static const char *nearly_found(const struct nvt_warmup_study *study, char *text, size_t size)
{
    const struct nvt_change_point *change = &study->change;
    if (!change->is_slower || change->p >= NEARLY_ALPHA)
        return "";
    snprintf(
        text, size,
        " (nearly %zu: the first took %.2f times a steady one, at %.1f %% of the %.0f %% needed)",
        change->at, first_of(study) / study->steady, 100 * (1 - change->p),
        100 * (1 - NVT_WARMUP_ALPHA));
    return text;
}

static void put_study(struct nvt_table *table, const struct nvt_warmup_study *study)
{
    const struct nvt_change_point *change = &study->change;
    char text[256], nearly[192];
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, CONFIGURATION, study->name);
    nvt_table_set_text(table, row, LEVEL, study->level);
    nvt_table_set_int(table, row, PROCESSES, (int64_t)study->count);
    nvt_table_set_int(table, row, LENGTH, (int64_t)study->length);
    nvt_table_set_real(table, row, FIRST, first_of(study));
    nvt_table_set_real(table, row, STEADY, study->steady);
    nvt_table_set_real(table, row, RATIO, first_of(study) / study->steady);
    nvt_table_set_real(table, row, CONFIDENCE, 100 * (1 - change->p));
    if (study->slow) {
        nvt_table_set_int(table, row, AT, (int64_t)change->at);
        nvt_table_set_int(table, row, LOW, (int64_t)change->low);
        nvt_table_set_int(table, row, HIGH, (int64_t)change->high);
        if (change->high >= change->limit)
            snprintf(text, sizeof(text), "cannot tell: %zu or more, too few iterations",
                     change->low);
        else
            snprintf(text, sizeof(text), "%zu", change->high);
    } else if (!change->at ||
               (study->count == 1 && (double)study->length < 1 / NVT_WARMUP_ALPHA + 1)) {
        snprintf(text, sizeof(text), "cannot tell: too few iterations");
    } else {
        snprintf(text, sizeof(text), "none found in the first %zu%s", change->limit,
                 nearly_found(study, nearly, sizeof(nearly)));
    }
    nvt_table_set_text(table, row, ENOUGH, text);
}

/* What the timed iterations of processes with this many warm-ups come to. */
static int put_effect(struct nvt_table *table, const struct nvt_warmup_study *study, size_t warmups)
{
    struct nvt_summary summary,
        level; /* level: of those behind the change-point, of the same processes */
    if (nvt_warmup_summary(study, warmups, warmups, &summary) ||
        nvt_warmup_summary(study, warmups > study->slow ? warmups : study->slow, warmups, &level))
        return -1;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, E_CONFIGURATION, study->name);
    nvt_table_set_text(table, row, E_LEVEL, study->level);
    nvt_table_set_int(table, row, E_WARMUP, (int64_t)warmups);
    nvt_table_set_int(table, row, E_N, (int64_t)summary.n);
    nvt_table_set_real(table, row, E_MEAN, summary.mean);
    nvt_table_set_real(table, row, E_STD, summary.std);
    if (study->slow)
        nvt_table_set_real(table, row, E_BIAS, 100 * (summary.mean / level.mean - 1));
    return 0;
}

/* A row for each number of warm-ups that a process had, ascending. */
static int put_effects(struct nvt_table *table, const struct nvt_warmup_study *study)
{
    for (size_t last = 0, next, from = 0;; last = next + 1, from = 1) {
        next = SIZE_MAX;
        for (size_t s = 0; s < study->count; s++)
            if ((!from || study->series[s].warmups >= last) && study->series[s].warmups < next)
                next = study->series[s].warmups;
        if (next == SIZE_MAX)
            return 0;
        if (put_effect(table, study, next))
            return -1;
    }
}

static int put_curve(struct nvt_table *table, const struct nvt_warmup_study *study)
{
    struct nvt_summary summary;
    double *scratch = malloc((study->count + 1) * sizeof(*scratch));
    size_t shown = 3 * study->slow > CURVE_LEAST ? 3 * study->slow : CURVE_LEAST;
    if (!scratch)
        return -1;
    for (size_t i = 0; i < study->length && i < shown; i++) {
        nvt_warmup_at(study, i, scratch, &summary);
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, C_CONFIGURATION, study->name);
        nvt_table_set_text(table, row, C_LEVEL, study->level);
        nvt_table_set_int(table, row, C_ITERATION, (int64_t)i + 1);
        nvt_table_set_int(table, row, C_N, (int64_t)summary.n);
        nvt_table_set_real(table, row, C_MEAN, summary.mean);
        nvt_table_set_real(table, row, C_MIN, summary.min);
        nvt_table_set_real(table, row, C_MAX, summary.max);
        nvt_table_set_real(table, row, C_RATIO, summary.mean / study->steady);
    }
    free(scratch);
    return 0;
}

/* How many configurations lack something, and the first of them. */
struct lacking {
    size_t count;
    const char *name;
};

static void add_lacking(struct lacking *lacking, const char *name)
{
    if (!lacking->count++)
        lacking->name = name;
}

/* The first iteration as a whole, of the same processes: not of all where some were warmed up before. */
static void put_whole(struct nvt_table *table, const struct nvt_warmup_study *study,
                      const struct nvt_first *first)
{
    const double excess = first->first_ns - first->later_ns;
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, F_CONFIGURATION, study->name);
    nvt_table_set_text(table, row, F_LEVEL, study->level);
    nvt_table_set_int(table, row, F_PROCESSES, (int64_t)first->processes);
    nvt_table_set_text(table, row, F_KIND, "all");
    nvt_table_set_text(table, row, F_NAME,
                       first->leaves_out ? "(the iteration, of processes with --warmup 0)"
                                         : "(the iteration)");
    nvt_table_set_real(table, row, F_FIRST, first->first_ns);
    nvt_table_set_real(table, row, F_LATER, first->later_ns);
    nvt_table_set_real(table, row, F_EXCESS, excess);
    if (excess > 0)
        nvt_table_set_real(table, row, F_SHARE, 100);
}

/* And what came before it, which is none of its excess. */
static void put_before(struct nvt_table *table, const struct nvt_warmup_study *study,
                       const struct nvt_first *first)
{
    size_t row = nvt_table_add_row(table);
    nvt_table_set_text(table, row, F_CONFIGURATION, study->name);
    nvt_table_set_text(table, row, F_LEVEL, study->level);
    nvt_table_set_int(table, row, F_PROCESSES, (int64_t)first->processes);
    nvt_table_set_text(table, row, F_KIND, "before");
    nvt_table_set_text(table, row, F_NAME, "(API calls before the first iteration)");
    nvt_table_set_real(table, row, F_FIRST, first->before_ns);
}

/* A cause that takes more than there is to explain says so. Returns the part's name, or text. */
static const char *name_of(const struct nvt_first_part *part, char *text, size_t size)
{
    if (part->kind == NVT_FIRST_CAUSE && 100 * part->share > SHARE_MOST) {
        snprintf(text, size, "%.*s: more than the excess)", (int)strlen(part->name) - 1,
                 part->name);
        return text;
    }
    return *part->name ? part->name : "(between phases)";
}

static int put_first(struct nvt_table *table, const struct nvt_warmup_study *study,
                     struct lacking *untimed, struct nvt_error *err)
{
    static const char *const kinds[NVT_FIRST_KINDS] = {"range", "call", "cause"};
    struct nvt_first first = {0};
    int status = nvt_first_make(&first, study, err) || nvt_first_fold(&first, PARTS_MOST, err);
    if (first.before && !status)
        put_before(table, study, &first);
    if (first.count && !status)
        put_whole(table, study, &first);
    for (size_t i = 0; i < first.count && !status; i++) {
        char text[96];
        const struct nvt_first_part *part = &first.parts[i];
        size_t row = nvt_table_add_row(table);
        nvt_table_set_text(table, row, F_CONFIGURATION, study->name);
        nvt_table_set_text(table, row, F_LEVEL, study->level);
        nvt_table_set_int(table, row, F_PROCESSES, (int64_t)first.processes);
        nvt_table_set_text(table, row, F_KIND, kinds[part->kind]);
        nvt_table_set_text(table, row, F_NAME, name_of(part, text, sizeof(text)));
        nvt_table_set_real(table, row, F_FIRST, part->first);
        nvt_table_set_real(table, row, F_LATER, part->later);
        nvt_table_set_real(table, row, F_EXCESS, part->first - part->later);
        nvt_table_set_real(table, row, F_SHARE, 100 * part->share);
        nvt_table_set_real(table, row, F_FAULTS, part->faults_first);
        nvt_table_set_real(table, row, F_FAULTS_LATER, part->faults_later);
        nvt_table_set_real(table, row, F_FAULTS_NS, part->faults_ns);
    }
    if (!status && first.processes && !first.is_timed)
        add_lacking(untimed, study->name);
    nvt_first_free(&first);
    return status ? -1 : 0;
}

/* Whether the calls of a device's API are not on record, or only those that launch: at the level full all are. */
static int lacks_calls(const struct nvt_warmup_study *study)
{
    for (size_t s = 0; s < study->count; s++) {
        const struct nvt_trace *trace = study->series[s].trace;
        const char *backend = nvt_trace_meta(trace, "backend");
        if ((!trace->apis.count || (study->level && !strcmp(study->level, "kernel"))) &&
            (trace->ops.count || (backend && !strcmp(backend, "cuda"))))
            return 1;
    }
    return 0;
}

/* A line, however many configurations a sweep has. */
static void tell_lacking(struct nvt_input *input, const struct lacking *lacking, const char *text)
{
    char others[64] = "";
    if (!lacking->count)
        return;
    if (lacking->count > 1)
        snprintf(others, sizeof(others), " and %zu other%s", lacking->count - 1,
                 lacking->count > 2 ? "s" : "");
    nvt_note(input, "note: %s%s: %s", lacking->name, others, text);
}

static void tell_late(struct nvt_input *input, size_t late)
{
    if (late)
        nvt_note(input,
                 "note: %zu trace%s left out: the beginning was cut off or not captured (record "
                 "--max-age, "
                 "--max-size, --capture)",
                 late, late > 1 ? "s are" : " is");
}

enum { EFFECT, CURVE, PARTS, MORE };

static int fill(const struct nvt_warmups *warmups, struct nvt_input *input, struct nvt_table *table,
                struct nvt_table *const more[MORE], struct nvt_error *err)
{
    struct lacking untimed = {0}, without_calls = {0};
    for (size_t i = 0; i < warmups->count; i++) {
        const struct nvt_warmup_study *study = &warmups->studies[i];
        put_study(table, study);
        if (put_effects(more[EFFECT], study) || put_curve(more[CURVE], study))
            return nvt_fail(err, "out of memory");
        if (put_first(more[PARTS], study, &untimed, err))
            return -1;
        if (lacks_calls(study))
            add_lacking(&without_calls, study->name);
    }
    tell_lacking(input, &untimed,
                 "no process was timed from its first iteration on (--warmup 0), so what made that "
                 "one slow is not known");
    tell_lacking(input, &without_calls,
                 "not all calls of the device's API are on record, so what they take of the first "
                 "iteration is not known (run --collect full, record --trace api)");
    return 0;
}

#define COUNT(specs) (sizeof(specs) / sizeof(specs[0]))

static int make(struct nvt_input *input, struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_warmups *warmups = nvt_warmups_of(input, err);
    if (!warmups)
        return -1;
    tell_late(input, warmups->late);
    if (!warmups->count) {
        if (!warmups->late)
            nvt_note(input,
                     "note: no trace has ranges named iteration, so there is no curve to show");
        nvt_warmups_free(warmups);
        return 0;
    }
    struct nvt_table *table =
        nvt_report_table(&nvt_report_warmup, input, "How long warming up takes", err);
    struct nvt_table *more[MORE] = {NULL};
    int status = table ? 0 : -1;
    if (table) {
        more[EFFECT] = another(table, "What the timed iterations show after that many warm-ups",
                               effect_columns, COUNT(effect_columns));
        more[CURVE] = another(table, "Iterations from the start of a process", curve_columns,
                              COUNT(curve_columns));
        more[PARTS] = another(table, first_title, first_columns, COUNT(first_columns));
    }
    if (!status && (!more[EFFECT] || !more[CURVE] || !more[PARTS]))
        status = nvt_fail(err, "out of memory");
    if (!status)
        status = fill(warmups, input, table, more, err);
    nvt_warmups_free(warmups);
    if (!status)
        status = nvt_report_add(tables, table, err);
    else
        nvt_table_free(table);
    for (int i = 0; i < MORE; i++)
        if (status)
            nvt_table_free(more[i]);
        else
            status = nvt_report_add(tables, more[i], err);
    return status;
}

const struct nvt_report nvt_report_warmup = {
    .name = "warmup",
    .about =
        "how long warming up takes: when iterations become level, what makes the first one slow",
    .needs = NVT_NEEDS_TRACES,
    .columns = columns,
    .column_count = COUNT(columns),
    .make = make,
};
