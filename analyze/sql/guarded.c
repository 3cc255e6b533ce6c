#ifdef HAVE_SQLITE
#include "guarded.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

enum guard { GUARD_RESULT, GUARD_ARGUMENTS };

static const struct original {
    const char *name;
    int count; /* of arguments, -1: any */
    enum guard guard;
} originals[] = {{"printf", -1, GUARD_RESULT},  {"format", -1, GUARD_RESULT},
                 {"instr", 2, GUARD_ARGUMENTS}, {"replace", 3, GUARD_ARGUMENTS},
                 {"trim", 2, GUARD_ARGUMENTS},  {"ltrim", 2, GUARD_ARGUMENTS},
                 {"rtrim", 2, GUARD_ARGUMENTS}};

struct function {
    const struct original *original;
    sqlite3 *db;        /* that has the original */
    sqlite3_stmt *call; /* of it, with so many arguments */
    int count;
};

struct nvt_sql_guarded {
    sqlite3 *db;
    struct function functions[NVT_COUNT_OF(originals)];
};

/* "SELECT name(?,?)" for the count of arguments. SQLite's status. */
static int prepare_call(struct function *function, int count)
{
    if (function->call && function->count == count)
        return SQLITE_OK;
    sqlite3_finalize(function->call);
    function->call = NULL;
    sqlite3_str *text = sqlite3_str_new(function->db);
    sqlite3_str_appendf(text, "SELECT %s(", function->original->name);
    for (int i = 0; i < count; i++)
        sqlite3_str_appendall(text, i ? ",?" : "?");
    sqlite3_str_appendall(text, ")");
    char *statement = sqlite3_str_finish(text);
    const int status = statement
                           ? sqlite3_prepare_v2(function->db, statement, -1, &function->call, NULL)
                           : SQLITE_NOMEM;
    function->count = count;
    sqlite3_free(statement);
    return status;
}

static int is_too_much(const struct original *original, sqlite3_value **values)
{
    return original->guard == GUARD_ARGUMENTS &&
           (int64_t)sqlite3_value_bytes(values[0]) * sqlite3_value_bytes(values[1]) >
               NVT_SQL_COMPARED_MOST;
}

static void call(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct function *function = sqlite3_user_data(context);
    const struct original *original = function->original;
    if (is_too_much(original, values)) {
        char *why = sqlite3_mprintf("%s(): both texts are too long", original->name);
        sqlite3_result_error(context, why ? why : "too long", -1);
        sqlite3_free(why);
        return;
    }
    int status = prepare_call(function, count);
    for (int i = 0; i < count && status == SQLITE_OK; i++)
        status = sqlite3_bind_value(function->call, i + 1, values[i]);
    if (status == SQLITE_OK)
        status = sqlite3_step(function->call);
    if (status == SQLITE_NOMEM)
        sqlite3_result_error_nomem(context);
    else if (status != SQLITE_ROW)
        sqlite3_result_error(context, sqlite3_errmsg(function->db), -1);
    else if (original->guard == GUARD_RESULT && count > 0 &&
             sqlite3_value_type(values[0]) != SQLITE_NULL &&
             sqlite3_column_type(function->call, 0) == SQLITE_NULL)
        sqlite3_result_error_toobig(context);
    else
        sqlite3_result_value(context, sqlite3_column_value(function->call, 0));
    if (!function->call)
        return;
    sqlite3_reset(function->call);
    sqlite3_clear_bindings(function->call);
}

struct nvt_sql_guarded *nvt_sql_guard(sqlite3 *db)
{
    static const int limits[] = {SQLITE_LIMIT_LENGTH, SQLITE_LIMIT_FUNCTION_ARG};
    struct nvt_sql_guarded *guarded = calloc(1, sizeof(*guarded));
    if (!guarded)
        return NULL;
    int status = sqlite3_open_v2(":memory:", &guarded->db,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    for (size_t i = 0; i < NVT_COUNT_OF(limits) && status == SQLITE_OK; i++)
        sqlite3_limit(guarded->db, limits[i], sqlite3_limit(db, limits[i], -1));
    for (size_t i = 0; i < NVT_COUNT_OF(originals) && status == SQLITE_OK; i++) {
        guarded->functions[i] = (struct function){.original = &originals[i], .db = guarded->db};
        status = sqlite3_create_function_v2(db, originals[i].name, originals[i].count,
                                            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                            &guarded->functions[i], call, NULL, NULL, NULL);
    }
    if (status == SQLITE_OK)
        return guarded;
    nvt_sql_unguard(guarded);
    return NULL;
}

void nvt_sql_unguard(struct nvt_sql_guarded *guarded)
{
    if (!guarded)
        return;
    for (size_t i = 0; i < NVT_COUNT_OF(originals); i++)
        sqlite3_finalize(guarded->functions[i].call);
    sqlite3_close(guarded->db);
    free(guarded);
}
#endif
