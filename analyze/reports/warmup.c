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

/* A share of that excess above this, in %, is said to be more than there is. */
#define SHARE_MOST 100.05

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
    snprintf(text, size,
             " (inconclusive: change point %zu, first iteration %.2f times a steady one, "
             "confidence %.1f %% of the %.0f %% needed)",
             change->at, first_of(study) / study->steady, 100 * (1 - change->p),
             100 * (1 - NVT_WARMUP_ALPHA));
    return text;
}

/* How many warm-ups are enough, as far as that can be told. */
static void enough_of(const struct nvt_warmup_study *study, char *text, size_t size)
{
    const struct nvt_change_point *change = &study->change;
    char nearly[192];
    if (study->slow && change->high >= change->limit)
        snprintf(text, size, "cannot tell: %zu or more, too few iterations", change->low);
    else if (study->slow)
        snprintf(text, size, "%zu", change->high);
    else if (!change->at || (study->count == 1 && (double)study->length < 1 / NVT_WARMUP_ALPHA + 1))
        snprintf(text, size, "cannot tell: too few iterations");
    else
        snprintf(text, size, "none found in the first %zu%s", change->limit,
                 nearly_found(study, nearly, sizeof(nearly)));
}

static void put_study(struct nvt_table *table, const struct nvt_warmup_study *study)
{
    const struct nvt_change_point *change = &study->change;
    char enough[256];
    enough_of(study, enough, sizeof(enough));
    nvt_table_put(table, study->name, study->level, study->count, study->length, first_of(study),
                  study->steady, first_of(study) / study->steady, NVT_IF(study->slow, change->at),
                  NVT_IF(study->slow, change->low), NVT_IF(study->slow, change->high),
                  100 * (1 - change->p), enough);
}

/* What the timed iterations of processes with this many warm-ups come to. */
static int put_effect(struct nvt_table *table, const struct nvt_warmup_study *study, size_t warmups)
{
    /* level: of those behind the change-point, of the same processes */
    struct nvt_summary summary, level;
    if (nvt_warmup_summary(study, warmups, warmups, &summary) ||
        nvt_warmup_summary(study, warmups > study->slow ? warmups : study->slow, warmups, &level))
        return -1;
    nvt_table_put(table, study->name, study->level, warmups, summary.n, summary.mean, summary.std,
                  NVT_IF(study->slow, 100 * (summary.mean / level.mean - 1)));
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
        nvt_table_put(table, study->name, study->level, i + 1, summary.n, summary.mean, summary.min,
                      summary.max, summary.mean / study->steady);
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
static void put_warmup_whole(struct nvt_table *table, const struct nvt_warmup_study *study,
                             const struct nvt_first *first)
{
    const double excess = first->first_ns - first->later_ns;
    nvt_table_put(table, study->name, study->level, first->processes, "all",
                  first->leaves_out ? "(the iteration, of processes with --warmup 0)"
                                    : "(the iteration)",
                  first->first_ns, first->later_ns, excess, NVT_IF(excess > 0, 100));
}

/* Put what came before the first iteration, which is none of its excess. */
static void put_before(struct nvt_table *table, const struct nvt_warmup_study *study,
                       const struct nvt_first *first)
{
    nvt_table_put(table, study->name, study->level, first->processes, "before",
                  "(API calls before the first iteration)", first->before_ns);
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
        put_warmup_whole(table, study, &first);
    for (size_t i = 0; i < first.count && !status; i++) {
        char text[96];
        const struct nvt_first_part *part = &first.parts[i];
        nvt_table_put(table, study->name, study->level, first.processes, kinds[part->kind],
                      name_of(part, text, sizeof(text)), part->first, part->later,
                      part->first - part->later, 100 * part->share, part->faults_first,
                      part->faults_later, part->faults_ns);
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

/* Of the tables. */
enum { STUDY, EFFECT, CURVE, PARTS };

static int put_studies(const struct nvt_warmups *warmups, const struct nvt_making *making)
{
    struct nvt_table *const *tables = making->tables;
    struct lacking untimed = {0}, without_calls = {0};
    for (size_t i = 0; i < warmups->count; i++) {
        const struct nvt_warmup_study *study = &warmups->studies[i];
        put_study(tables[STUDY], study);
        if (put_effects(tables[EFFECT], study) || put_curve(tables[CURVE], study) ||
            put_first(tables[PARTS], study, &untimed, making->err))
            return -1;
        if (lacks_calls(study))
            add_lacking(&without_calls, study->name);
    }
    tell_lacking(making->input, &untimed,
                 "no process was timed from its first iteration on (--warmup 0), so the cause of a "
                 "slow first iteration is unknown");
    tell_lacking(making->input, &without_calls,
                 "not all API calls were recorded, so their share of the first iteration is "
                 "unknown (run --collect full, record --trace api)");
    return 0;
}

static int put_warmup(struct nvt_table *table, const struct nvt_making *making)
{
    struct nvt_warmups *warmups = nvt_warmups_of(making->input, making->err);
    (void)table;
    if (!warmups)
        return -1;
    tell_late(making->input, warmups->late);
    if (!warmups->count && !warmups->late)
        nvt_note(making->input,
                 "note: no trace has ranges named iteration, so there is no warm-up to show");
    for (size_t i = STUDY; i <= PARTS && !warmups->count; i++)
        nvt_making_leave_out(making, i);
    int status = put_studies(warmups, making);
    nvt_warmups_free(warmups);
    return status;
}

static const struct nvt_table_kind more[] = {
    [EFFECT - 1] = {.title = "Mean after N warm-up iterations",
                    .columns = {{"configuration", NVT_NAMES},
                                {"collect", NVT_NAMES},
                                {"warmup", NVT_COUNTS},
                                {"n", NVT_COUNTS},
                                {"mean", NVT_NS_AVERAGE},
                                {"std", NVT_NS_AVERAGE},
                                {"mean off by", NVT_REALS("%", 2)}}},
    [CURVE - 1] = {.title = "Iterations from the start of a process",
                   .columns = {{"configuration", NVT_NAMES},
                               {"collect", NVT_NAMES},
                               {"iteration", NVT_COUNTS},
                               {"n", NVT_COUNTS},
                               {"mean", NVT_REALS("ns", 0)},
                               {"min", NVT_REALS("ns", 0)},
                               {"max", NVT_REALS("ns", 0)},
                               {"mean/steady", NVT_REALS("", 3)}}},
    [PARTS - 1] = {.title = "Time of the first iteration: ranges add up to its excess, calls and "
                            "causes describe that excess again",
                   .columns = {{"configuration", NVT_NAMES},
                               {"collect", NVT_NAMES},
                               {"processes", NVT_COUNTS},
                               {"kind", NVT_NAMES},
                               {"name", NVT_NAMES},
                               {"first iteration", NVT_REALS("ns", 0)},
                               {"later iterations", NVT_REALS("ns", 0)},
                               {"excess", NVT_REALS("ns", 0)},
                               {"of all excess", NVT_PERCENT},
                               {"page faults, first", NVT_REALS("", 0)},
                               {"later", NVT_REALS("", 1)},
                               {"take about", NVT_REALS("ns", 0)}}},
    {.title = NULL},
};

const struct nvt_report nvt_report_warmup = {
    .name = "warmup",
    .about = "warm-up length: when iterations become level, what makes the first one slow",
    .columns = {{"configuration", NVT_NAMES},
                {"collect", NVT_NAMES},
                {"processes", NVT_COUNTS},
                {"iterations", NVT_COUNTS},
                {"first", NVT_REALS("ns", 0)},
                {"steady", NVT_REALS("ns", 0)},
                {"first/steady", NVT_REALS("", 3)},
                {"change-point", NVT_COUNTS},
                {"low", NVT_COUNTS},
                {"high", NVT_COUNTS},
                {"confidence", NVT_REALS("%", 2)},
                {"warm-ups that are enough", NVT_NAMES}},
    .title = "Warm-up length",
    .of_input = put_warmup,
    .more = more,
};
