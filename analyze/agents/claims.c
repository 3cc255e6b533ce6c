#include "claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"
#include "../../lib/grow.h"
#include "../../lib/read_file.h"

#define FILE_MOST    (1 << 20)
#define TOLERANCE    0.5 /* percent */
#define MEMBER_NAME  64
#define NUMBER_WORDS 160
#define WHY_MOST     160

void nvt_claims_free(struct nvt_claims *claims)
{
    for (size_t i = 0; i < claims->count; i++)
        nvt_record_free(&claims->items[i]);
    free(claims->items);
    *claims = (struct nvt_claims){0};
}

/* The end of an object that begins at `at`; NULL: it has none. */
static const char *end_of_object(const char *at)
{
    int depth = 0, is_text = 0;
    for (; *at; at++) {
        if (is_text) {
            if (*at == '\\' && at[1])
                at++;
            else if (*at == '"')
                is_text = 0;
            continue;
        }
        if (*at == '"')
            is_text = 1;
        else if (*at == '{')
            depth++;
        else if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* --- checking --- */

static const struct nvt_column columns[] = {
    {"id", NVT_NAMES},      {"claim", NVT_NAMES},
    {"holds", NVT_NAMES},   {"measured", NVT_REALS("", NVT_SHORTEST)},
    {"claimed", NVT_NAMES}, {"why unknown", NVT_NAMES}};

struct nvt_table *nvt_claims_table(void)
{
    return nvt_table_new("claims", "Claims", columns, NVT_COUNT_OF(columns));
}

static const struct nvt_member *member(const struct nvt_record *claim, const char *before,
                                       const char *name)
{
    char key[MEMBER_NAME];
    snprintf(key, sizeof(key), "%s%s", before, name);
    return nvt_record_find(claim, key);
}

static const char *text_of(const struct nvt_record *claim, const char *before, const char *name)
{
    const struct nvt_member *found = member(claim, before, name);
    return found && found->type == NVT_VALUE_TEXT ? found->text : NULL;
}

/*
 * A number that was given as one, or as a text that is one; NaN: it was not. Integers are exact, as SQL's are: a long double holds all
 * of 64 bits. What has a fraction is the double that SQL would have. 0, or -1 with err.
 */
static int number_of(const struct nvt_record *claim, const char *before, const char *name,
                     long double *number, struct nvt_error *err)
{
    const struct nvt_member *found = member(claim, before, name);
    char *end;
    *number = NAN;
    if (!found || found->type == NVT_VALUE_NULL)
        return 0;
    *number = strpbrk(found->text, ".eE") ? strtod(found->text, &end) : strtold(found->text, &end);
    return found->type == NVT_VALUE_BOOL || end == found->text || *end || !isfinite(*number)
               ? nvt_fail(err, "%s must be a number, not '%.40s'", name, found->text)
               : 0;
}

/* What is claimed of a number; NaN: nothing. */
struct bounds {
    long double equals, tolerance, at_least, at_most;
};

static int holds(const struct bounds *bounds, long double number)
{
    return !(fabsl(number - bounds->equals) > fabsl(bounds->equals) * bounds->tolerance / 100) &&
           !(number < bounds->at_least) && !(number > bounds->at_most);
}

/* Appends to a text of NUMBER_WORDS: integers with all of their digits. */
static void append_number(char *out, const char *words, long double number)
{
    const size_t length = strlen(out);
    const int is_whole = fabsl(number) < 1e19L && rintl(number) == number;
    snprintf(out + length, NUMBER_WORDS - length, is_whole ? "%s%s%.0Lf" : "%s%s%.10Lg",
             length ? ", " : "", words, number);
}

static void write_bounds(const struct bounds *bounds, char out[NUMBER_WORDS])
{
    out[0] = 0;
    if (!isnan(bounds->equals)) {
        append_number(out, "", bounds->equals);
        const size_t length = strlen(out);
        snprintf(out + length, NUMBER_WORDS - length, " within %Lg %%", bounds->tolerance);
    }
    if (!isnan(bounds->at_least))
        append_number(out, "at least ", bounds->at_least);
    if (!isnan(bounds->at_most))
        append_number(out, "at most ", bounds->at_most);
}

/* The statement of a claim, malloc'ed: its own, or that which asks for a finding: its share, how often it is there, and whether a
 * rule of that name looked. NULL with err. */
static char *statement_of(const char *query, const char *finding, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    if (query)
        (void)nvt_buffer_printf(&text, "%s", query);
    else {
        (void)nvt_buffer_printf(&text, "WITH asked(name) AS (SELECT '");
        for (; finding && *finding; finding++)
            (void)nvt_buffer_printf(&text, *finding == '\'' ? "''" : "%c", *finding);
        (void)nvt_buffer_printf(
            &text, "') SELECT (SELECT max(share_percent) FROM "
                   "findings, asked WHERE cause = name COLLATE NOCASE), "
                   "(SELECT count(*) FROM findings, asked WHERE cause = name COLLATE NOCASE), "
                   "(SELECT count(*) FROM rules, asked WHERE cause = name COLLATE NOCASE), "
                   "(SELECT lacks FROM rules, asked WHERE cause = name COLLATE NOCASE)");
    }
    (void)nvt_buffer_append(&text, "", 1);
    if (!text.failed)
        return (char *)text.data;
    nvt_buffer_free(&text);
    nvt_fail(err, "out of memory");
    return NULL;
}

/* The number that a table answers with; NaN with why not. */
static long double answer_of(const struct nvt_table *table, const char **why)
{
    *why = nvt_table_rows(table) == 0                     ? "the query has no row"
           : nvt_table_rows(table) > 1                    ? "the query has several rows"
           : nvt_table_columns(table) > 1                 ? "the query has several columns"
           : nvt_table_is_null(table, 0, 0)               ? "the query answers NULL"
           : nvt_table_column(table, 0)->type == NVT_TEXT ? "the query answers a text"
                                                          : NULL;
    return *why                                          ? NAN
           : nvt_table_column(table, 0)->type == NVT_INT ? (long double)nvt_table_int(table, 0, 0)
                                                         : nvt_table_real(table, 0, 0);
}

/* Of a finding, which may be none: NaN, too. A rule that found nothing says no more than that its threshold was not reached. */
static long double share_of(const struct nvt_table *table, const struct bounds *bounds,
                            int has_bounds, char why[WHY_MOST])
{
    if (nvt_table_int(table, 0, 1)) {
        if (has_bounds && nvt_table_is_null(table, 0, 0))
            snprintf(why, WHY_MOST, "the finding has no share of the time");
        return nvt_table_is_null(table, 0, 0) ? NAN : nvt_table_real(table, 0, 0);
    }
    if (!nvt_table_int(table, 0, 2))
        snprintf(why, WHY_MOST, "diagnose has no finding of that name (nvtally diagnose --rules)");
    else if (!nvt_table_is_null(table, 0, 3))
        snprintf(why, WHY_MOST, "it needs %s, which the input has not",
                 nvt_table_text(table, 0, 3));
    else if (!isnan(bounds->equals) || !isnan(bounds->at_most))
        snprintf(why, WHY_MOST, "not found, so its share is below the rule's threshold");
    return NAN;
}

static int read_bounds(const struct nvt_record *claim, const char *before, struct bounds *bounds,
                       struct nvt_error *err)
{
    if (number_of(claim, before, "equals", &bounds->equals, err) ||
        number_of(claim, before, "tolerance", &bounds->tolerance, err) ||
        number_of(claim, before, "at_least", &bounds->at_least, err) ||
        number_of(claim, before, "at_most", &bounds->at_most, err))
        return -1;
    if (bounds->tolerance < 0)
        return nvt_fail(err, "tolerance must not be below 0");
    bounds->tolerance = isnan(bounds->tolerance) ? TOLERANCE : bounds->tolerance;
    return 0;
}

/* --- reading --- */

/* Whether a claim has no more than what is known: a bound with a slip in its name would not be looked at. 0, or -1 with err. */
static int look_at(const struct nvt_record *claim, struct nvt_error *err)
{
    static const char *const known[] = {"id",     "claim",     "query",    "finding",
                                        "equals", "tolerance", "at_least", "at_most"};
    struct bounds bounds;
    for (size_t i = 0; i < claim->count; i++) {
        size_t k = 0;
        while (k < NVT_COUNT_OF(known) && strcmp(known[k], claim->members[i].key) != 0)
            k++;
        if (k == NVT_COUNT_OF(known))
            return nvt_fail(err, "unknown key '%.40s'", claim->members[i].key);
    }
    return read_bounds(claim, "", &bounds, err);
}

static int add(struct nvt_claims *claims, const char *at, size_t length, struct nvt_error *err)
{
    if (nvt_grow(&claims->items, claims->count, sizeof(*claims->items)))
        return nvt_fail(err, "out of memory");
    claims->items[claims->count] = (struct nvt_record){0};
    struct nvt_record *claim = &claims->items[claims->count];
    if (nvt_record_parse(claim, at, length, err) || look_at(claim, err)) {
        char why[1100];
        struct nvt_error problem = *err;
        nvt_record_free(claim);
        *err = (struct nvt_error)NVT_ERROR_INIT;
        return nvt_fail(err, "claim %zu: %s", claims->count + 1,
                        nvt_error_text(&problem, why, sizeof(why)));
    }
    claims->count++;
    return 0;
}

static int take_all(struct nvt_claims *claims, const char *text, struct nvt_error *err)
{
    static const char between[] = " \t\r\n,[]";
    const char *at = text + strspn(text, between);
    while (*at) {
        const char *end = *at == '{' ? end_of_object(at) : NULL;
        if (!end)
            return nvt_fail(err, "is no list of JSON objects (at byte %zu)", (size_t)(at - text));
        if (add(claims, at, (size_t)(end - at), err))
            return -1;
        at = end + strspn(end, between);
    }
    return claims->count ? 0 : nvt_fail(err, "has no claim");
}

int nvt_claims_read(const char *path, struct nvt_claims *claims, struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    int status = nvt_read_file(path, FILE_MOST, &text, err);
    if (!status && take_all(claims, (const char *)text.data, err))
        status = nvt_error_in(err, path);
    nvt_buffer_free(&text);
    return status;
}

/* --- answers --- */

int nvt_claim_check(struct nvt_sql *sql, const struct nvt_record *claim, const char *before,
                    const struct nvt_sql_limits *limits, struct nvt_table *table,
                    struct nvt_error *err)
{
    static const char *const words[] = {"yes", "no", "unknown"};
    const char *query = text_of(claim, before, "query"),
               *finding = text_of(claim, before, "finding"), *why = NULL;
    struct bounds bounds;
    struct nvt_tables tables = {0};
    struct nvt_error problem = NVT_ERROR_INIT;
    char claimed[NUMBER_WORDS];
    if ((query == NULL) == (finding == NULL))
        return nvt_fail(err, "a claim has a query or a finding");
    if (read_bounds(claim, before, &bounds, err))
        return -1;
    const int has_bounds =
        !isnan(bounds.equals) || !isnan(bounds.at_least) || !isnan(bounds.at_most);
    if (query && !has_bounds)
        return nvt_fail(err, "a claim with a query has equals, at_least or at_most");
    char *statement = statement_of(query, finding, err);
    if (!statement)
        return -1;
    long double number = NAN;
    int is_there = 1;
    char unknown[WHY_MOST] = "";
    if (nvt_sql_answer(sql, statement, limits, &tables, &problem))
        why = problem.message;
    else if (query && tables.count > 1)
        why = "the query has several statements";
    else if (query && nvt_sql_lacks(sql))
        why = nvt_sql_lacks(sql);
    else if (query)
        number = answer_of(tables.items[0], &why);
    else {
        is_there = nvt_table_int(tables.items[0], 0, 1) > 0;
        number = share_of(tables.items[0], &bounds, has_bounds, unknown);
        why = *unknown ? unknown : NULL;
    }
    const int verdict = why                                  ? NVT_CLAIM_UNKNOWN
                        : is_there && holds(&bounds, number) ? NVT_CLAIM_HOLDS
                                                             : NVT_CLAIM_FAILS;
    write_bounds(&bounds, claimed);
    /* The column of what was measured has doubles. */
    if (*claimed && !isnan(number) && (double)number != number)
        append_number(claimed, "not ", number);
    nvt_table_put(table, text_of(claim, before, "id"), text_of(claim, before, "claim"),
                  words[verdict], (double)number, has_bounds ? claimed : "found", why);
    free(statement);
    nvt_tables_free(&tables);
    return verdict;
}
