/*
 * Stacks in nsys's schema: tables of call chains, a row a function, depth 0 the innermost one. CUDA_CALLCHAINS of calls of CUDA and
 * OSRT_CALLCHAINS of calls of the operating system, only where there are some. All calls of one stack refer to the same one: its
 * id is the row of call_frames of its innermost function, and 1.
 */
#ifdef HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "sqlite.h"

static const char columns[] =
    " (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER,"
    " thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER,"
    " unwindMethod INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));";

int nvt_sql_stacks(struct nvt_sql *sql, const char *table)
{
    struct nvt_buffer text = {0};
    int status = nvt_buffer_printf(&text, "CREATE TABLE %s%s", table, columns) ||
                         nvt_buffer_append(&text, "", 1)
                     ? nvt_fail_at(sql->err, sql->path, -1, "out of memory")
                     : nvt_sql_run(sql, (const char *)text.data);
    nvt_buffer_free(&text);
    return status ? -1 : nvt_sql_prepare(sql, table, 10);
}

/* Without a name a function is its address. */
static int put_function(struct nvt_sql *sql, int64_t id, uint32_t frame, int method, int64_t depth)
{
    const struct nvt_call_frames *frames = &sql->trace->call_frames;
    const char *name = nvt_name(sql->trace, frames->name[frame]);
    const int is_address = name[0] == '0' && name[1] == 'x';
    const int is_kernel = !strncmp(nvt_name(sql->trace, frames->module[frame]), "[kernel", 7);
    return nvt_sql_put(sql, id, nvt_sql_string(sql, frames->name[frame]),
                       nvt_sql_string(sql, frames->module[frame]), NVT_IF(is_kernel, 1), NVT_NULL,
                       NVT_IF(is_address, 1), NVT_NULL,
                       NVT_IF(is_address, strtoull(name + 2, NULL, 16)),
                       NVT_IF(method != NVT_SQL_NO_METHOD, method), depth);
}

int nvt_sql_stack(struct nvt_sql *sql, int64_t id, uint32_t frame, int method, int64_t most)
{
    for (int64_t depth = 0; frame && depth < most; depth++) {
        if (put_function(sql, id, frame - 1, method, depth))
            return -1;
        frame = sql->trace->call_frames.parent[frame - 1];
    }
    return 0;
}

/* Stacks of calls, whose column is given, each once. 0, or -1 with err filled. */
static int put_table(struct nvt_sql *sql, const char *table, const uint32_t *frame, uint32_t count)
{
    const uint32_t frames = sql->trace->call_frames.count;
    unsigned char *wanted = calloc((size_t)frames + 1, 1);
    int status = 0, is_any = 0;
    if (!wanted)
        return nvt_fail_at(sql->err, sql->path, -1, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        if (frame[i])
            is_any = wanted[frame[i] - 1] = 1;
    if (is_any)
        status = nvt_sql_stacks(sql, table);
    for (uint32_t i = 0; is_any && i < frames && !status; i++)
        if (wanted[i])
            status = nvt_sql_stack(sql, (int64_t)i + 1, i + 1, NVT_SQL_NO_METHOD,
                                   NVT_EXPORT_STACK_DEPTH);
    free(wanted);
    return status;
}

int nvt_sql_call_stacks(struct nvt_sql *sql)
{
    const struct nvt_trace *trace = sql->trace;
    return put_table(sql, "CUDA_CALLCHAINS", trace->apis.frame, trace->apis.count) ||
                   put_table(sql, "OSRT_CALLCHAINS", trace->os_calls.frame, trace->os_calls.count)
               ? -1
               : 0;
}
#endif
