/*
 * Tables of nsys's schema that hold what devices did, or memory of theirs, and that the model has no
 * place for: which of them have rows is said, so that nobody takes what they hold for idle time.
 */
#ifdef HAVE_SQLITE
#include "../../lib/buffer.h"
#include "nsys.h"

/* CUDA_EVENT has moments and no work. A name of other characters is none of nsys's. */
static const char sql[] =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND"
    " name NOT GLOB '*[^A-Za-z0-9_]*' AND"
    " (name GLOB 'CUPTI_ACTIVITY_KIND_*' OR name GLOB 'CUDA_GPU_*' OR name GLOB 'CUDA_UM_*' OR"
    " name GLOB 'OPENACC_*_EVENTS' OR name GLOB '*_WORKLOAD' OR"
    " name IN ('GPU_CONTEXT_SWITCH_EVENTS', 'FECS_EVENTS', 'MEMORY_TRANSFER_EVENTS')) AND"
    " name NOT IN ('CUPTI_ACTIVITY_KIND_RUNTIME', 'CUPTI_ACTIVITY_KIND_DRIVER',"
    " 'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE',"
    " 'CUPTI_ACTIVITY_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET',"
    " 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', 'CUPTI_ACTIVITY_KIND_OVERHEAD',"
    " 'CUPTI_ACTIVITY_KIND_CUDA_EVENT', 'CUDA_GPU_MEMORY_USAGE_EVENTS',"
    " 'CUDA_UM_CPU_PAGE_FAULT_EVENTS', 'CUDA_UM_GPU_PAGE_FAULT_EVENTS') ORDER BY name LIMIT 100";

/* Whether a table has a row; one that cannot be read has none. */
static int has_rows(struct nvt_nsys *reader, const char *name)
{
    sqlite3_stmt *statement = NULL;
    char *text = sqlite3_mprintf("SELECT 1 FROM \"%w\" NOT INDEXED LIMIT 1", name);
    int found = text && sqlite3_prepare_v2(reader->db, text, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    sqlite3_free(text);
    return found;
}

int nvt_nsys_note_unread(struct nvt_nsys *reader)
{
    sqlite3_stmt *statement = NULL;
    struct nvt_buffer names = {0};
    int count = 0, failed = 0;
    if (sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) == SQLITE_OK)
        while (!failed && sqlite3_step(statement) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);
            if (name && has_rows(reader, name))
                failed = nvt_buffer_printf(&names, "%s%.64s", count++ ? ", " : "", name);
        }
    sqlite3_finalize(statement);
    if (!failed && count)
        nvt_trace_note(reader->trace, "table%s %.*s %s not read", count > 1 ? "s" : "",
                       (int)names.size, (const char *)names.data, count > 1 ? "are" : "is");
    nvt_buffer_free(&names);
    return failed ? nvt_fail_at(reader->err, reader->path, -1, "out of memory") : 0;
}
#endif
