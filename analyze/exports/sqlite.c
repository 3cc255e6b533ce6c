#include "export.h"

#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "../model/cuda_names.h"
#include "../model/launchers.h"
#include "sqlite.h"

/* --- statements --- */

static int fail(struct nvt_sql *sql)
{
    return nvt_fail_at(sql->err, sql->path, -1, "cannot be written: %s", sqlite3_errmsg(sql->db));
}

int nvt_sql_run(struct nvt_sql *sql, const char *text)
{
    return sqlite3_exec(sql->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(sql);
}

int nvt_sql_prepare(struct nvt_sql *sql, const char *table, int columns)
{
    struct nvt_buffer text = {0};
    int failed = nvt_buffer_printf(&text, "INSERT INTO %s VALUES (?", table);
    for (int i = 1; i < columns && !failed; i++)
        failed = nvt_buffer_append(&text, ",?", 2);
    failed = failed || nvt_buffer_append(&text, ")", 1);
    sqlite3_finalize(sql->insert);
    sql->insert = NULL;
    int status = failed ? nvt_fail_at(sql->err, sql->path, -1, "out of memory") : 0;
    if (!status && sqlite3_prepare_v2(sql->db, (const char *)text.data, (int)text.size,
                                      &sql->insert, NULL) != SQLITE_OK)
        status = fail(sql);
    nvt_buffer_free(&text);
    sql->column = 0;
    return status;
}

int nvt_sql_rows(struct nvt_sql *sql, const char *table, int columns, uint32_t count,
                 int (*put)(struct nvt_sql *sql, uint32_t item))
{
    int status = nvt_sql_prepare(sql, table, columns);
    for (uint32_t i = 0; i < count && !status; i++)
        status = put(sql, i);
    return status;
}

void nvt_sql_more_cells(struct nvt_sql *sql, const struct nvt_cell *cells)
{
    for (; cells->kind != NVT_CELL_END; cells++)
        if (cells->kind == NVT_CELL_INT)
            sqlite3_bind_int64(sql->insert, ++sql->column, cells->integer);
        else if (cells->kind == NVT_CELL_REAL)
            sqlite3_bind_double(sql->insert, ++sql->column, cells->real);
        else if (cells->kind == NVT_CELL_TEXT)
            sqlite3_bind_text(sql->insert, ++sql->column, cells->text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_null(sql->insert, ++sql->column);
}

void nvt_sql_name(struct nvt_sql *sql, uint32_t id)
{
    size_t length;
    const char *text = nvt_strings_get(sql->trace->strings, id, &length);
    sqlite3_bind_text64(sql->insert, ++sql->column, text, length, SQLITE_STATIC, SQLITE_UTF8);
}

int nvt_sql_row(struct nvt_sql *sql)
{
    sql->column = 0;
    int status = sqlite3_step(sql->insert);
    sqlite3_reset(sql->insert);
    return status == SQLITE_DONE ? 0 : fail(sql);
}

struct nvt_cell nvt_sql_string(struct nvt_sql *sql, uint32_t id)
{
    if (id < sql->string_count)
        sql->used[id] = 1;
    return nvt_cell_int(id);
}

struct nvt_cell nvt_sql_process(const struct nvt_sql *sql, uint32_t process)
{
    return nvt_cell_int(process == NVT_NONE ? 0 : sql->processes[process]);
}

struct nvt_cell nvt_sql_thread(const struct nvt_sql *sql, uint32_t thread)
{
    const struct nvt_threads *threads = &sql->trace->threads;
    return NVT_IF(thread != NVT_NONE,
                  sql->processes[threads->process[thread]] | (threads->tid[thread] & 0xFFFFFF));
}

/* --- the file --- */

/*
 * Global ids: a virtual machine above bit 48, the process above bit 24, the thread below. Processes
 * with one and the same number (a new image after exec, traces of several hosts) are of several
 * machines.
 */
static int number_processes(struct nvt_sql *sql)
{
    const struct nvt_processes *processes = &sql->trace->processes;
    struct nvt_map seen = {0};
    int status = 0;
    sql->processes = malloc(((size_t)processes->count + 1) * sizeof(*sql->processes));
    for (uint32_t i = 0; sql->processes && i < processes->count && !status; i++) {
        int64_t pid = processes->pid[i] & 0xFFFFFF;
        uint32_t *machine = nvt_map_at(&seen, (uint64_t)pid);
        if (!machine) {
            status = -1;
            break;
        }
        *machine = *machine == NVT_MAP_NONE ? 1 : *machine + 1;
        sql->processes[i] = (int64_t)(*machine & 0x7FFF) << 48 | pid << 24;
    }
    nvt_map_free(&seen);
    return sql->processes && !status ? 0 : nvt_fail_at(sql->err, sql->path, -1, "out of memory");
}

static int put_string(struct nvt_sql *sql, uint32_t i)
{
    if (!sql->used[i])
        return 0;
    nvt_sql_more(sql, i);
    nvt_sql_name(sql, i);
    return nvt_sql_row(sql);
}

static int put_strings(struct nvt_sql *sql)
{
    if (nvt_sql_rows(sql, "StringIds", 2, sql->string_count, put_string))
        return -1;
    return sql->has_launches ? nvt_sql_put(sql, sql->string_count, NVT_EXPORT_LAUNCH) : 0;
}

static int write_all(struct nvt_sql *sql)
{
    uint32_t launchers;
    sql->string_count = nvt_strings_count(sql->trace->strings);
    sql->used = calloc((size_t)sql->string_count + 1, 1);
    sql->launchers = nvt_launchers_find(sql->trace, &launchers);
    if (!sql->used || !sql->launchers)
        return nvt_fail_at(sql->err, sql->path, -1, "out of memory");
    /* Nobody reads the file before it is whole, so it needs no journal. */
    if (number_processes(sql) ||
        nvt_sql_run(sql, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN") ||
        nvt_sql_schema(sql) || nvt_sql_nvtx(sql) || nvt_sql_cuda(sql) || nvt_sql_um(sql) ||
        nvt_sql_mpi(sql) || nvt_sql_call_stacks(sql) || nvt_sql_samples(sql) ||
        nvt_sql_facts(sql) || put_strings(sql))
        return -1;
    sqlite3_finalize(sql->insert);
    sql->insert = NULL;
    return nvt_sql_run(sql, "COMMIT");
}

static int write_sqlite(const struct nvt_trace *trace, const char *path, struct nvt_error *err)
{
    struct nvt_sql sql = {.trace = trace, .path = path, .err = err};
    int status = -1;
    if (sqlite3_open_v2(path, &sql.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        nvt_fail_at(err, path, -1, "cannot be opened: %s",
                    sql.db ? sqlite3_errmsg(sql.db) : "out of memory");
    else
        status = write_all(&sql);
    sqlite3_finalize(sql.insert);
    if (sqlite3_close(sql.db) != SQLITE_OK && !status)
        status = nvt_fail_at(err, path, -1, "cannot be closed");
    free(sql.processes);
    free(sql.launchers);
    free(sql.used);
    return status;
}
#else
static int write_sqlite(const struct nvt_trace *trace, const char *path, struct nvt_error *err)
{
    (void)trace;
    return nvt_fail_at(err, path, -1,
                       "cannot be written: this nvtally was built without SQLite "
                       "(libsqlite3-dev)");
}
#endif

const struct nvt_exporter nvt_exporter_sqlite = {.name = "sqlite",
                                                 .about = "the schema of nsys's own export",
                                                 .ending = ".sqlite",
                                                 .is_trace = 1,
                                                 .write_file = write_sqlite};
