/* What diagnose finds, and its rules, as tables. Where the rows of a cause are asked for, it matters whether its rule looked. */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../diagnosis/rule_page.h"
#include "../input/ranks.h"
#include "connection.h"

static const struct nvt_column finding_columns[] = {{"id", NVT_IDS},
                                                    {"cause", NVT_NAMES},
                                                    {"cost", NVT_REALS("ns", 0)},
                                                    {"whole", NVT_REALS("ns", 0)},
                                                    {"share", NVT_REALS("%", 2)},
                                                    {"cost", NVT_REALS("bytes", 0)},
                                                    {"per", NVT_NAMES},
                                                    {"confidence", NVT_NAMES},
                                                    {"place", NVT_NAMES},
                                                    {"what", NVT_NAMES},
                                                    {"evidence", NVT_NAMES},
                                                    {"file", NVT_NAMES},
                                                    {"moment 1", NVT_NS},
                                                    {"moment 2", NVT_NS},
                                                    {"moment 3", NVT_NS},
                                                    {"remedy", NVT_NAMES}};

static const struct nvt_made_meaning finding_meanings[] = {
    {.about = "number of the finding; 1: the costliest"},
    {.about = "which finding it is: rules.cause"},
    {.about = "time that could be saved at most"},
    {.about = "time that the cost is a part of"},
    {.about = "part that the cost is of it"},
    {.about = "memory that could be saved at most"},
    {.about = "what the cost is of, such as per iteration"},
    {.about = "seen, tested, likely or possible"},
    {.about = "configuration or file"},
    {.about = "the finding in one sentence"},
    {.about = "numbers that it rests on"},
    {.about = "path of the trace that the moments are of"},
    {.about = "an example: moment on the trace's time axis"},
    {.about = "a second one"},
    {.about = "a third one"},
    {.about = "what to do about it"}};

static int fill_findings(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    struct nvt_findings findings = {0};
    int status = nvt_diagnose(made->sql->input, NULL, &findings, err);
    for (size_t i = 0; i < findings.count && !status; i++) {
        const struct nvt_finding *finding = &findings.items[i];
        const double share = nvt_finding_share(finding);
        nvt_table_put(table, i + 1, finding->cause, NVT_IF(finding->cost_ns > 0, finding->cost_ns),
                      NVT_IF(!isnan(share) && finding->cost_ns > 0, finding->whole_ns), 100 * share,
                      NVT_IF(finding->cost_bytes > 0, finding->cost_bytes), finding->per,
                      nvt_confidence_name(finding->confidence), finding->where, finding->what,
                      finding->evidence, NVT_IF(finding->trace, finding->trace->path));
        for (uint32_t k = 0; k < NVT_MOMENTS; k++)
            nvt_table_more(table, NVT_IF(k < finding->moment_count, finding->moments[k]));
        nvt_table_more(table, finding->remedy);
    }
    free(findings.items);
    return status;
}

static const struct nvt_column rule_columns[] = {{"cause", NVT_NAMES},
                                                 {"about", NVT_NAMES},
                                                 {"threshold", NVT_NAMES},
                                                 {"remedy", NVT_NAMES},
                                                 {"lacks", NVT_NAMES}};

static const struct nvt_made_meaning rule_meanings[] = {
    {.about = "name of its findings: findings.cause"},
    {.about = "what it finds"},
    {.about = "from where on it finds something"},
    {.about = "what to do about it, unless the finding knows better"},
    {.about = "what it would need and is not in the input; NULL: it looked"}};

static int fill_rules(struct nvt_made *made, struct nvt_table *table, struct nvt_error *err)
{
    const struct nvt_input *input = made->sql->input;
    size_t runs, count, *numbers = nvt_input_run_numbers(input, &runs);
    const struct nvt_rule *const *rules = nvt_rules(&count);
    unsigned has = 0;
    if (!numbers)
        return nvt_fail(err, "out of memory");
    free(numbers);
    if (nvt_diagnose_has(input, &has, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        nvt_table_put(table, rules[i]->cause, rules[i]->about, rules[i]->threshold,
                      rules[i]->remedy,
                      rules[i]->is_along && runs < 2 ? "runs that differ in a number"
                                                     : nvt_rule_lacks(rules[i], has));
    return 0;
}

/* --- findings that nobody has looked for --- */

/* Columns of the two tables. */
enum { FINDING_CAUSE = 1, RULE_CAUSE = 0, RULE_LACKS = 4 };

static int is_wanted(const char *cause, enum nvt_wanted how, const char *value)
{
    switch (how) {
    case NVT_WANTED_SAME:
        return !strcmp(cause, value);
    case NVT_WANTED_NOCASE:
        return !sqlite3_stricmp(cause, value);
    case NVT_WANTED_LIKE:
        return !sqlite3_strlike(value, cause, 0);
    case NVT_WANTED_GLOB:
        return !sqlite3_strglob(value, cause);
    default:
        return 1;
    }
}

/* "deadlock was not looked for: no OS calls in the trace (nvtally record --trace osrt)". 0, or -1 with err. */
static int put_lack(struct nvt_made *findings, const char *cause, const char *lacks,
                    struct nvt_error *err)
{
    const struct nvt_input *input = findings->sql->input;
    struct nvt_buffer *text = &findings->lacks;
    const struct nvt_rule *rule = nvt_rule_named(cause);
    unsigned has = 0;
    if (nvt_diagnose_has(input, &has, err))
        return -1;
    int failed = nvt_buffer_printf(text, "%s was not looked for: ", cause);
    const size_t before = text->size;
    failed = failed || (rule && nvt_rule_put_lack(input, rule, has, text));
    if (!failed && text->size == before)
        failed = nvt_buffer_printf(text, "no %s in the input", lacks);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* Of all findings: how many rules were skipped, which is why there are none where there are none. 0, or -1 with err. */
static int note_skipped(struct nvt_made *findings, const struct nvt_table *rules,
                        struct nvt_error *err)
{
    static const char list[] = "SELECT cause, lacks FROM rules WHERE lacks IS NOT NULL";
    const size_t count = nvt_table_rows(rules);
    size_t skipped = 0;
    int failed = 0;
    for (size_t i = 0; i < count; i++)
        skipped += !nvt_table_is_null(rules, i, RULE_LACKS);
    if (skipped && !nvt_table_rows(findings->table) && !findings->lacks.size)
        failed = nvt_buffer_printf(&findings->lacks,
                                   "no findings, but %zu of %zu rules were "
                                   "skipped: %s",
                                   skipped, count, list);
    else if (skipped && !findings->notes.size)
        failed = nvt_buffer_printf(&findings->notes, "note: %zu of %zu rules were skipped: %s\n",
                                   skipped, count, list);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

static struct nvt_made *rules_of(struct nvt_sql *sql)
{
    size_t i = 0;
    while (i + 1 < sql->made_count && strcmp(sql->made[i].name, "rules") != 0)
        i++;
    return &sql->made[i];
}

static int want_findings(struct nvt_made *findings, enum nvt_wanted how, const char *value,
                         struct nvt_error *err)
{
    struct nvt_made *rules = rules_of(findings->sql);
    size_t wanted = 0;
    int status = nvt_sql_make(rules, err);
    if (status || how == NVT_WANTED_ALL) {
        findings->has_wanted = 1;
        return status ? -1 : note_skipped(findings, rules->table, err);
    }
    for (size_t i = 0; i < nvt_table_rows(rules->table) && !status; i++) {
        const char *cause = nvt_table_text(rules->table, i, RULE_CAUSE);
        if (!is_wanted(cause, how, value))
            continue;
        wanted++;
        if (nvt_table_is_null(rules->table, i, RULE_LACKS))
            findings->has_wanted = 1;
        else if (!findings->lacks.size)
            status = put_lack(findings, cause, nvt_table_text(rules->table, i, RULE_LACKS), err);
    }
    if (!status && !wanted && !findings->lacks.size)
        status = nvt_buffer_printf(&findings->lacks,
                                   "diagnose has no finding that is called %.80s (nvtally diagnose "
                                   "--rules)",
                                   value)
                     ? nvt_fail(err, "out of memory")
                     : 0;
    return status;
}

int nvt_sql_list_findings(struct nvt_sql *sql, struct nvt_error *err)
{
    const struct nvt_made findings = {.name = "findings",
                                      .about = "what diagnose finds",
                                      .meanings = finding_meanings,
                                      .fill = fill_findings,
                                      .want = want_findings,
                                      .key = FINDING_CAUSE};
    const struct nvt_made rules = {
        .name = "rules",
        .about = "what diagnose looks for; lacks: what it would need and is not in the input",
        .meanings = rule_meanings,
        .fill = fill_rules};
    return nvt_sql_add_table(sql, findings, finding_columns, NVT_COUNT_OF(finding_columns), err) ||
                   nvt_sql_add_table(sql, rules, rule_columns, NVT_COUNT_OF(rule_columns), err)
               ? -1
               : 0;
}
#endif
