#include "read_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli.h"
#include "trace_same.h"

struct nvt_trace *kit_read(const char *path)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    if (!trace)
        fail_msg("%s", nvt_error_text(&err, text, sizeof(text)));
    return trace;
}

struct nvt_trace *kit_read_text(const char *name, const char *text)
{
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, text, strlen(text));
    return kit_read(path);
}

void kit_expect_unreadable(const char *path, const char *needle)
{
    struct nvt_error err = NVT_ERROR_INIT;
    char text[1100];
    struct nvt_trace *trace = nvt_trace_read(path, &err);
    assert_null(trace);
    nvt_error_text(&err, text, sizeof(text));
    if (!strstr(text, needle))
        fail_msg("\"%s\" does not hold \"%s\"", text, needle);
    assert_null(strchr(text, '\n'));
}

static struct nvt_trace *read_with(const char *path, const char *threads, struct nvt_error *err)
{
    setenv("NVTALLY_THREADS", threads, 1);
    struct nvt_trace *trace = nvt_trace_read(path, err);
    unsetenv("NVTALLY_THREADS");
    return trace;
}

struct nvt_trace *kit_read_on_threads(const char *path, const char *threads, const char *what)
{
    struct nvt_error one = NVT_ERROR_INIT, several = NVT_ERROR_INIT;
    struct nvt_trace *alone = read_with(path, "1", &one),
                     *ahead = read_with(path, threads, &several);
    char difference[512];
    if (!alone != !ahead || strcmp(one.message, several.message) != 0 ||
        one.offset != several.offset)
        fail_msg("%s\n'%s' at %lld with one thread, '%s' at %lld with several", what, one.message,
                 (long long)one.offset, several.message, (long long)several.offset);
    const char *found =
        alone ? trace_difference(alone, ahead, difference, sizeof(difference)) : NULL;
    if (found)
        fail_msg("%s\n%s", what, found);
    nvt_trace_free(ahead);
    return alone;
}

void kit_survives_changed_bytes(const char *path, const char *name, size_t step)
{
    size_t size;
    const char *changed = cli_in(cli_folder, name);
    char *data = cli_read_file(path, &size);
    for (size_t at = 0; at < size; at += 1 + at / step) {
        char before = data[at];
        data[at] = (char)(before ^ 0x41);
        cli_write_file(changed, data, size);
        data[at] = before;
        struct nvt_error err = NVT_ERROR_INIT;
        struct nvt_trace *trace = nvt_trace_read(changed, &err);
        assert_true(trace || *err.message);
        nvt_trace_free(trace);
    }
    free(data);
}

const char *kit_exported(const char *from, const char *to, const char *name)
{
    const char *path = cli_in(cli_folder, name);
    remove(path);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "export", from, "--to", to, "-o", path, NULL});
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    return path;
}

#ifdef HAVE_SQLITE
#include <sqlite3.h>

int64_t kit_asked(const char *path, const char *query)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", query, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

const char *kit_make_export(const char *script)
{
    sqlite3 *db;
    char *message = NULL;
    const char *path = cli_in(cli_folder, "t.sqlite");
    remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, script, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}
#endif
