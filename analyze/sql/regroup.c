#ifdef HAVE_SQLITE
#include "regroup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "launched.h"

#define TOKENS_MOST 400
#define SUMS        "temp.nvtally_sums"

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_LITERAL, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *text;
    size_t length;
};

struct statement {
    struct token tokens[TOKENS_MOST + 3]; /* ended by some of TOKEN_END */
    size_t count, from;                   /* FROM is that token */
    struct nvt_partial what;
    struct nvt_buffer text; /* the other statement */
};

/* --- tokens --- */

static int is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* The token at `at`; of TOKEN_END with a text that is not its end: what none of these statements has. */
static struct token token_at(const char *at)
{
    struct token token = {.kind = TOKEN_END, .text = at};
    size_t length = 1;
    if (isalpha((unsigned char)*at) || *at == '_') {
        token.kind = TOKEN_WORD;
        while (is_word(at[length]))
            length++;
    } else if (isdigit((unsigned char)*at)) {
        token.kind = TOKEN_LITERAL;
        while (is_word(at[length]) || at[length] == '.')
            length++;
    } else if (*at == '\'' || *at == '"') {
        const char *end = strchr(at + 1, *at);
        if (!end || end[1] == *at)
            return token;
        token.kind = *at == '"' ? TOKEN_QUOTED : TOKEN_LITERAL;
        length = (size_t)(end - at) + 1;
    } else if (*at && strchr("+-*/%,()<>=!|&~", *at)) {
        token.kind = TOKEN_SIGN;
        if ((*at == '-' && at[1] == '-') || (*at == '/' && at[1] == '*'))
            token.kind = TOKEN_END;
    }
    token.length = token.kind == TOKEN_END ? 0 : length;
    return token;
}

/* 0, or -1: there is something else in it, or too much. */
static int take_tokens(struct statement *statement, const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        const struct token token = token_at(text);
        if (token.kind == TOKEN_END)
            break;
        if (statement->count == TOKENS_MOST)
            return -1;
        statement->tokens[statement->count++] = token;
        text += token.length;
    }
    text += strspn(text, "; \t\r\n");
    return *text ? -1 : 0;
}

static int is(const struct token *token, const char *word)
{
    return (token->kind == TOKEN_WORD || token->kind == TOKEN_SIGN) &&
           strlen(word) == token->length &&
           !sqlite3_strnicmp(token->text, word, (int)token->length);
}

static int is_any(const struct token *token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(token, words[i]))
            return 1;
    return 0;
}

/* The column that a token names, or that there is none. */
static uint32_t column_of(const struct statement *statement, const struct token *token)
{
    const struct nvt_shown_table *table = statement->what.table;
    const size_t quotes = token->kind == TOKEN_QUOTED;
    const uint32_t all = table->count + table->hidden;
    uint32_t column = token->kind == TOKEN_WORD || quotes ? 0 : all;
    for (; column < all; column++)
        if (strlen(table->columns[column].name) == token->length - 2 * quotes &&
            !sqlite3_strnicmp(token->text + quotes, table->columns[column].name,
                              (int)(token->length - 2 * quotes)))
            break;
    return column < all ? column : UINT32_MAX;
}

/* --- what the statement asks --- */

/* Words with a meaning of their own; a column of such a name is quoted. */
static const char *const keywords[] = {
    "select", "from", "where", "group",   "by",      "having", "order", "limit", "offset",
    "and",    "or",   "not",   "like",    "glob",    "in",     "is",    "null",  "between",
    "case",   "when", "then",  "else",    "end",     "asc",    "desc",  "as",    "isnull",
    "cast",   "text", "real",  "integer", "notnull", "nulls",  "first", "last"};
/* Of the keywords and names, those that may stand before a bracket: what has the same value for the same arguments. */
static const char *const functions[] = {
    "in",    "and",    "or",     "not",    "like",    "when",    "then",     "else",
    "by",    "where",  "having", "case",   "select",  "as",      "cast",     "abs",
    "round", "substr", "upper",  "lower",  "trim",    "length",  "instr",    "iif",
    "glob",  "ifnull", "nullif", "printf", "between", "replace", "coalesce", "format"};

/* FROM a table, and what it is. 0, or -1: it is another statement. */
static int find_table(struct statement *statement)
{
    static const char *const behind[] = {"where", "group", "having", "order", "limit"};
    const struct token *tokens = statement->tokens;
    if (!is(&tokens[0], "select"))
        return -1;
    for (size_t i = 1; i < statement->count; i++) {
        if (is(&tokens[i], "select") || (is(&tokens[i], "from") && statement->from))
            return -1;
        if (is(&tokens[i], "from"))
            statement->from = i;
    }
    const struct token *name = &tokens[statement->from + 1];
    char text[64];
    if (!statement->from || name->kind != TOKEN_WORD || name->length >= sizeof(text) ||
        (name[1].kind != TOKEN_END && !is_any(&name[1], behind, NVT_COUNT_OF(behind))))
        return -1;
    for (size_t i = 0; i < name->length; i++)
        text[i] = (char)tolower((unsigned char)name->text[i]);
    text[name->length] = 0;
    statement->what.kind = -1;
    for (const struct nvt_sql_view *view = nvt_sql_views; view->name; view++)
        if (!strcmp(view->name, text) && view->kind_and_1) {
            statement->what.kind = view->kind_and_1 - 1;
            memcpy(text, "ops", sizeof("ops"));
        }
    statement->what.table = nvt_shown_table(text);
    return statement->what.table ? 0 : -1;
}

/* The place of a column in a list, where it comes in if it is new. -1: the list is full. */
static int place_of(uint32_t *columns, uint32_t *count, uint32_t column)
{
    for (uint32_t i = 0; i < *count; i++)
        if (columns[i] == column)
            return (int)i;
    if (*count == NVT_PARTIAL_COLUMNS_MOST)
        return -1;
    columns[*count] = column;
    return (int)(*count)++;
}

/* An aggregate at token `i` becomes one of sums. How many tokens it has; 0: there is none, -1: one that is not among these. */
static int put_aggregate(struct statement *statement, size_t i)
{
    static const struct {
        const char *name, *begin, *between, *end;
    } aggregates[] = {{"count", "ifnull(sum(\"#c", NULL, "\"),0) "},
                      {"sum", "sum(\"#s", NULL, "\") "},
                      {"total", "total(\"#s", NULL, "\") "},
                      {"avg", "(total(\"#s", "\")/sum(\"#c", "\")) "},
                      {"min", "min(\"#l", NULL, "\") "},
                      {"max", "max(\"#g", NULL, "\") "}};
    const struct token *token = &statement->tokens[i];
    struct nvt_buffer *out = &statement->text;
    size_t which = 0;
    while (which < NVT_COUNT_OF(aggregates) && !is(token, aggregates[which].name))
        which++;
    if (which == NVT_COUNT_OF(aggregates) || !is(&token[1], "("))
        return 0;
    if (!which && is(&token[2], "*") && is(&token[3], ")"))
        return nvt_buffer_printf(out, "ifnull(sum(\"#n\"),0) ") ? -1 : 4;
    const uint32_t column = column_of(statement, &token[2]);
    if (column == UINT32_MAX || !is(&token[3], ")") ||
        !nvt_partial_has_sum(statement->what.table, column))
        return -1;
    const int place = place_of(statement->what.sums, &statement->what.sum_count, column);
    if (place < 0 || nvt_buffer_printf(out, "%s%d", aggregates[which].begin, place) ||
        (aggregates[which].between &&
         nvt_buffer_printf(out, "%s%d", aggregates[which].between, place)) ||
        nvt_buffer_printf(out, "%s", aggregates[which].end))
        return -1;
    return 4;
}

/* Whether a word or a quoted name may stay as it is: a column, which becomes a key, a keyword, a function or a new name. */
static int may_stay(struct statement *statement, size_t i, int has_case)
{
    const struct token *token = &statement->tokens[i];
    const uint32_t column = has_case && is(token, "end") ? UINT32_MAX : column_of(statement, token);
    if (is(&token[1], "("))
        return is_any(token, functions, NVT_COUNT_OF(functions));
    if (column != UINT32_MAX)
        return nvt_partial_has_key(statement->what.table, column) &&
               place_of(statement->what.keys, &statement->what.key_count, column) >= 0;
    if (is_any(token, keywords, NVT_COUNT_OF(keywords)))
        return 1;
    for (size_t k = 1; k < statement->count; k++)
        if (is(&statement->tokens[k - 1], "as") && statement->tokens[k].length == token->length &&
            !sqlite3_strnicmp(statement->tokens[k].text, token->text, (int)token->length))
            return 1;
    return 0;
}

/* Write the other statement, which finds out what it needs. 0, or -1: it cannot be one. */
static int rewrite(struct statement *statement)
{
    const struct token *tokens = statement->tokens;
    int has_case = 0, aggregates = 0;
    for (size_t i = 0; i < statement->count; i++)
        has_case |= is(&tokens[i], "case");
    for (size_t i = 0; i < statement->count; i++) {
        const int is_table = i == statement->from + 1;
        const int taken = is_table ? 0 : put_aggregate(statement, i);
        if (taken < 0)
            return -1;
        if (taken) {
            aggregates++;
            i += (size_t)taken - 1;
            continue;
        }
        if (is(&tokens[i], "*") && (is(&tokens[i - 1], "select") || is(&tokens[i - 1], ",")))
            return -1;
        if (!is_table && (tokens[i].kind == TOKEN_WORD || tokens[i].kind == TOKEN_QUOTED) &&
            !may_stay(statement, i, has_case))
            return -1;
        if (is_table ? nvt_buffer_printf(&statement->text, "%s ", SUMS)
                     : nvt_buffer_printf(&statement->text, "%.*s ", (int)tokens[i].length,
                                         tokens[i].text))
            return -1;
    }
    return aggregates && !nvt_buffer_append(&statement->text, "", 1) ? 0 : -1;
}

/* --- the table of sums --- */

static int create(struct nvt_sql *sql, const struct nvt_partial *what)
{
    struct nvt_buffer text = {0};
    (void)nvt_buffer_printf(&text, "CREATE TABLE %s(\"#n\" INTEGER", SUMS);
    for (uint32_t i = 0; i < what->key_count; i++) {
        const struct nvt_shown_column *column = &what->table->columns[what->keys[i]];
        (void)nvt_buffer_printf(&text, ",\"%s\" %s", column->name,
                                nvt_shown_type(what->table, column));
    }
    for (uint32_t i = 0; i < what->sum_count; i++)
        (void)nvt_buffer_printf(
            &text, ",\"#c%1$u\" INTEGER,\"#s%1$u\" INTEGER,\"#l%1$u\" INTEGER,\"#g%1$u\" INTEGER",
            i);
    (void)nvt_buffer_append(&text, ")", 2);
    const int status = text.failed
                           ? SQLITE_NOMEM
                           : sqlite3_exec(sql->db, (const char *)text.data, NULL, NULL, NULL);
    nvt_buffer_free(&text);
    return status;
}

static int prepare_insert(struct nvt_sql *sql, const struct nvt_partial *what, sqlite3_stmt **out)
{
    struct nvt_buffer text = {0};
    (void)nvt_buffer_printf(&text, "INSERT INTO %s VALUES(?", SUMS);
    for (uint32_t i = 0; i < what->key_count + 4 * what->sum_count; i++)
        (void)nvt_buffer_append(&text, ",?", 2);
    (void)nvt_buffer_append(&text, ")", 2);
    const int status = text.failed
                           ? SQLITE_NOMEM
                           : sqlite3_prepare_v2(sql->db, (const char *)text.data, -1, out, NULL);
    nvt_buffer_free(&text);
    return status;
}

static void bind(sqlite3_stmt *insert, int place, const struct nvt_value *value)
{
    switch (value->type) {
    case NVT_VALUE_IS_INT:
        sqlite3_bind_int64(insert, place, value->integer);
        break;
    case NVT_VALUE_IS_REAL:
        sqlite3_bind_double(insert, place, value->real);
        break;
    case NVT_VALUE_IS_TEXT:
        sqlite3_bind_text(insert, place, value->text, (int)value->length, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_null(insert, place);
    }
}

static int insert_group(struct nvt_sql *sql, sqlite3_stmt *insert, const struct nvt_partial *what,
                        const struct nvt_partial_group *group)
{
    int place = 1;
    sqlite3_bind_int64(insert, place++, group->rows);
    for (uint32_t i = 0; i < what->key_count; i++) {
        const struct nvt_value value = nvt_partial_key(&sql->model, what, i, group);
        bind(insert, place++, &value);
    }
    for (uint32_t i = 0; i < what->sum_count; i++) {
        const struct nvt_partial_sum *sum = &group->sums[i];
        const int64_t values[] = {sum->sum, sum->least, sum->greatest};
        sqlite3_bind_int64(insert, place++, sum->count);
        for (size_t k = 0; k < NVT_COUNT_OF(values); k++, place++)
            if (sum->count)
                sqlite3_bind_int64(insert, place, values[k]);
            else
                sqlite3_bind_null(insert, place);
    }
    const int status = sqlite3_step(insert);
    sqlite3_reset(insert);
    return status == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
}

static int fill(struct nvt_sql *sql, const struct nvt_partial *what,
                const struct nvt_partial_groups *groups)
{
    sqlite3_stmt *insert = NULL;
    sql->is_declaring = 1;
    sql->is_grouped = 1;
    int status = create(sql, what);
    if (status == SQLITE_OK)
        status = prepare_insert(sql, what, &insert);
    sql->is_declaring = 0;
    for (size_t i = 0; i < groups->count && status == SQLITE_OK; i++)
        status = insert_group(sql, insert, what, &groups->items[i]);
    sqlite3_finalize(insert);
    return status;
}

void nvt_sql_ungroup(struct nvt_sql *sql)
{
    if (!sql->is_grouped)
        return;
    sql->is_declaring = 1;
    (void)sqlite3_exec(sql->db, "DROP TABLE IF EXISTS " SUMS, NULL, NULL, NULL);
    sql->is_declaring = 0;
    sql->is_grouped = 0;
}

int nvt_sql_takes_launches(const char *text)
{
    struct statement statement = {0};
    const int takes = !take_tokens(&statement, text) && !find_table(&statement) &&
                      !rewrite(&statement) && nvt_launched_can(&statement.what);
    nvt_buffer_free(&statement.text);
    return takes;
}

int nvt_sql_regroup(struct nvt_sql *sql, const char *text, sqlite3_stmt **out,
                    struct nvt_error *err)
{
    struct statement statement = {0};
    struct nvt_partial_groups groups = {0};
    *out = NULL;
    int status = take_tokens(&statement, text) || find_table(&statement) || rewrite(&statement);
    if (!status)
        status = nvt_partial_make(&sql->model, &statement.what, &groups, err);
    /* SQLite says of the statement itself what may be wrong. */
    if (!status && (fill(sql, &statement.what, &groups) != SQLITE_OK ||
                    sqlite3_prepare_v2(sql->db, (const char *)statement.text.data, -1, out, NULL) !=
                        SQLITE_OK)) {
        *out = NULL;
        nvt_sql_ungroup(sql);
    }
    free(groups.items);
    nvt_buffer_free(&statement.text);
    return status < 0 ? -1 : 0;
}
#endif
