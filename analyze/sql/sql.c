#include "sql.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"

int nvt_sql_refuse_text(size_t size, struct nvt_error *err)
{
    return nvt_fail(err, "sql: a query of %zu bytes; at most %d are allowed", size,
                    NVT_SQL_TEXT_MOST);
}

#ifdef HAVE_SQLITE
#include "../../lib/buffer.h"
#include "../../lib/suggest.h"
#include "guarded.h"
#include "lacking.h"
#include "regroup.h"
#include "result.h"

/* Instructions of SQLite's machine between two looks at the clock: one may make a value of VALUE_MOST bytes. */
#define STEPS_BETWEEN_LOOKS 500
#define VALUE_MOST          (8 << 20)

int nvt_sql_vtab_fail(sqlite3_vtab *table, const struct nvt_error *err)
{
    char text[1100];
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", nvt_error_text(err, text, sizeof(text)));
    return SQLITE_ERROR;
}

/* Statements read, and no more. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *third, const char *fourth)
{
    struct nvt_sql *sql = context;
    (void)third;
    (void)fourth;
    if (sql->is_declaring)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_READ:
        if (sql->is_preparing && first)
            nvt_sql_note_read(sql, first);
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second && !sqlite3_stricmp(second, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

int nvt_sql_declare(struct nvt_sql *sql, struct nvt_buffer *text)
{
    (void)nvt_buffer_append(text, ")", 2);
    sql->is_declaring = 1;
    const int status =
        text->failed ? SQLITE_NOMEM : sqlite3_declare_vtab(sql->db, (const char *)text->data);
    sql->is_declaring = 0;
    nvt_buffer_free(text);
    return status;
}

int nvt_sql_vtab_free(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

void nvt_sql_put_column(struct nvt_buffer *text, const char *name, const char *type,
                        const char *unit)
{
    const int is_first = text->size && text->data[text->size - 1] == '(';
    (void)nvt_buffer_printf(text, "%s\"%s\" %s", is_first ? "" : ",", name, type);
    if (*unit && strcmp(type, "TEXT") != 0)
        (void)nvt_buffer_printf(text, " \"%s\"", unit);
}

static int look_at_clock(void *context)
{
    struct nvt_sql *sql = context;
    sql->is_late = sql->until_ns && nvt_monotonic_ns() > sql->until_ns;
    return sql->is_late || (sql->stop && *sql->stop);
}

static void set_limits(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MOST);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, NVT_SQL_TEXT_MOST);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 1000000);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
}

static int add_views(struct nvt_sql *sql)
{
    int status = SQLITE_OK;
    for (const struct nvt_sql_view *view = nvt_sql_views; view->name && status == SQLITE_OK;
         view++) {
        char *text = sqlite3_mprintf("CREATE VIEW \"%w\" AS %s", view->name, view->select);
        status = text ? sqlite3_exec(sql->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(text);
    }
    return status;
}

/* A name in double quotes that no column has is an error, not a text: "duratoin" would add up to 0. */
static int refuse_quoted_texts(sqlite3 *db)
{
#ifdef SQLITE_DBCONFIG_DQS_DML
    const int status = sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    return status == SQLITE_OK ? sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL) : status;
#else
    (void)db;
    return SQLITE_OK;
#endif
}

static int prepare(struct nvt_sql *sql, struct nvt_error *err)
{
    sql->names = nvt_strings_new();
    if (!sql->names)
        return nvt_fail(err, "out of memory");
    if (nvt_model_make(&sql->model, sql->input, err) || nvt_sql_list_made(sql, err))
        return -1;
    int status =
        sqlite3_open_v2(":memory:", &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (status == SQLITE_OK)
        status = refuse_quoted_texts(sql->db);
    if (status == SQLITE_OK)
        status = sqlite3_exec(sql->db, "PRAGMA temp_store=memory", NULL, NULL, NULL);
    if (status == SQLITE_OK)
        status = nvt_sql_add_model(sql);
    if (status == SQLITE_OK)
        status = nvt_sql_add_made(sql);
    if (status == SQLITE_OK)
        status = add_views(sql);
    if (status != SQLITE_OK)
        return nvt_fail(err, "sql: %s", sql->db ? sqlite3_errmsg(sql->db) : sqlite3_errstr(status));
    set_limits(sql->db);
    sql->guarded = nvt_sql_guard(sql->db);
    if (!sql->guarded)
        return nvt_fail(err, "out of memory");
    sqlite3_set_authorizer(sql->db, authorize, sql);
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_LOOKS, look_at_clock, sql);
    return 0;
}

void nvt_sql_limit_memory(int64_t bytes)
{
    sqlite3_hard_heap_limit64(bytes);
}

struct nvt_sql *nvt_sql_open(struct nvt_input *input, struct nvt_error *err)
{
    struct nvt_sql *sql = calloc(1, sizeof(*sql));
    if (!sql) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    sql->input = input;
    if (!prepare(sql, err))
        return sql;
    nvt_sql_free(sql);
    return NULL;
}

void nvt_sql_free(struct nvt_sql *sql)
{
    if (!sql)
        return;
    sqlite3_close(sql->db);
    nvt_sql_unguard(sql->guarded);
    for (size_t i = 0; i < sql->made_count; i++) {
        nvt_table_free(sql->made[i].table);
        nvt_buffer_free(&sql->made[i].notes);
        nvt_buffer_free(&sql->made[i].lacks);
        free((void *)(uintptr_t)sql->made[i].columns);
    }
    nvt_buffer_free(&sql->lacks);
    free(sql->made);
    nvt_model_free(&sql->model);
    nvt_strings_free(sql->names);
    free(sql);
}

/* "no such table: kernel (did you mean 'kernels'?); …lists them". */
static int fail_unknown(const struct nvt_sql *sql, const char *message, struct nvt_error *err)
{
    static const char table[] = "no such table: ", column[] = "no such column: ";
    const struct nvt_shown_table *shown = nvt_shown_tables();
    struct nvt_suggestion suggestion = {.name = message + sizeof(table) - 1};
    char hint[128];
    if (!strncmp(message, column, sizeof(column) - 1))
        return nvt_fail(err, "sql: %s; SELECT * FROM nvtally_columns lists them", message);
    if (strncmp(message, table, sizeof(table) - 1) != 0)
        return nvt_fail(err, "sql: %s", message);
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        nvt_suggest(&suggestion, shown[i].name);
    for (const struct nvt_sql_view *view = nvt_sql_views; view->name; view++)
        nvt_suggest(&suggestion, view->name);
    for (size_t i = 0; i < sql->made_count; i++)
        nvt_suggest(&suggestion, sql->made[i].name);
    return nvt_fail(err, "sql: %s%s; SELECT * FROM nvtally_tables lists them", message,
                    nvt_suggestion_text(&suggestion, hint, sizeof(hint)));
}

/* Why SQLite did not do it. */
static int fail(const struct nvt_sql *sql, const struct nvt_sql_limits *limits,
                struct nvt_error *err)
{
    const int code = sqlite3_errcode(sql->db);
    if (sql->stop && *sql->stop)
        return nvt_fail(err, "sql: interrupted");
    if (sql->is_late)
        return nvt_fail(err, "sql: stopped after %g s (--timeout)", limits->seconds);
    if (code == SQLITE_NOMEM)
        return nvt_fail(err,
                        "sql: the statement needs more memory than there is, or than it may take");
    /* SQLite says this of a virtual table, before the authorizer is asked. */
    if (code == SQLITE_AUTH || strstr(sqlite3_errmsg(sql->db), " may not be modified"))
        return nvt_fail(err, "sql: only SELECT is allowed (%s)", sqlite3_errmsg(sql->db));
    return fail_unknown(sql, sqlite3_errmsg(sql->db), err);
}

static int run_one(struct nvt_sql *sql, sqlite3_stmt *statement,
                   const struct nvt_sql_limits *limits, struct nvt_tables *tables,
                   struct nvt_error *err)
{
    sqlite3_stmt *grouped;
    int is_cut = 0;
    int status = nvt_sql_regroup(sql, sqlite3_sql(statement), &grouped, err);
    if (!status && !grouped && sql->input->only_launches)
        return NVT_SQL_NEEDS_ROWS;
    if (!status)
        status = nvt_sql_collect(sql, grouped ? grouped : statement, statement, limits, tables,
                                 &is_cut, err);
    if (status > 0)
        status = fail(sql, limits, err);
    else if (!status && is_cut) {
        nvt_table_set_all(tables->items[tables->count - 1], NVT_ROWS_UNKNOWN);
        if (limits->more)
            nvt_note(sql->input, "note: the first %zu rows; %s", limits->rows, limits->more);
    }
    sql->grouped += grouped != NULL;
    sqlite3_finalize(grouped);
    nvt_sql_ungroup(sql);
    return status;
}

int nvt_sql_answer(struct nvt_sql *sql, const char *text, const struct nvt_sql_limits *limits,
                   struct nvt_tables *tables, struct nvt_error *err)
{
    int status = 0, count = 0;
    const size_t size = strlen(text);
    if (size > NVT_SQL_TEXT_MOST)
        return nvt_sql_refuse_text(size, err);
    sql->is_late = 0;
    sql->stop = limits->stop;
    sql->notes_from = sql->input->notes.size;
    nvt_sql_forget_reads(sql);
    sql->until_ns = limits->seconds > 0 ? nvt_monotonic_ns() + (int64_t)(limits->seconds * 1e9) : 0;
    while (*text && !status) {
        sqlite3_stmt *statement = NULL;
        sql->is_preparing = 1;
        const int prepared = sqlite3_prepare_v2(sql->db, text, -1, &statement, &text);
        sql->is_preparing = 0;
        if (prepared != SQLITE_OK)
            return fail(sql, limits, err);
        if (!statement)
            continue;
        count++;
        status = run_one(sql, statement, limits, tables, err);
        sqlite3_finalize(statement);
    }
    if (status || !count)
        return status ? status : nvt_fail(err, "sql: the query is empty");
    return nvt_sql_look_for_lacks(sql, limits->more != NULL) ? nvt_fail(err, "out of memory") : 0;
}

const char *nvt_sql_lacks(const struct nvt_sql *sql)
{
    return sql->lacks.size ? (const char *)sql->lacks.data : NULL;
}

const char *nvt_sql_cannot(const struct nvt_sql *sql)
{
    return sql->lacks_all ? nvt_sql_lacks(sql) : NULL;
}

int nvt_sql_is_complete(const char *text)
{
    return sqlite3_complete(text);
}

#else

void nvt_sql_limit_memory(int64_t bytes)
{
    (void)bytes;
}

struct nvt_sql *nvt_sql_open(struct nvt_input *input, struct nvt_error *err)
{
    (void)input;
    nvt_fail(err, "sql: this build has no SQLite (Debian: libsqlite3-dev, then build again)");
    return NULL;
}

void nvt_sql_free(struct nvt_sql *sql)
{
    (void)sql;
}

int nvt_sql_answer(struct nvt_sql *sql, const char *text, const struct nvt_sql_limits *limits,
                   struct nvt_tables *tables, struct nvt_error *err)
{
    (void)sql;
    (void)text;
    (void)limits;
    (void)tables;
    return nvt_fail(err, "sql: this build has no SQLite");
}

const char *nvt_sql_lacks(const struct nvt_sql *sql)
{
    (void)sql;
    return NULL;
}

const char *nvt_sql_cannot(const struct nvt_sql *sql)
{
    (void)sql;
    return NULL;
}

int nvt_sql_takes_launches(const char *text)
{
    (void)text;
    return 0;
}

int nvt_sql_is_complete(const char *text)
{
    return strchr(text, ';') != NULL;
}
#endif
