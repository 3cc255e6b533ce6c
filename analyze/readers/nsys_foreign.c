/*
 * SQLite databases of other programs, some with tables of nsys's names: they are refused and not read in part. And what nsys
 * itself says of its recording.
 */
#ifdef HAVE_SQLITE
#include "nsys.h"

#include "../../lib/count_of.h"

/* Databases with other columns in tables of these names, by what each has. */
static const struct {
    const char *sql, *says;
} foreign[] = {
    {"SELECT 1 FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS p WHERE m.type = 'table' "
     "AND"
     " m.name GLOB 'CUPTI_ACTIVITY_KIND_*' AND p.name = '_id_' LIMIT 1",
     "is a database of nvprof or DLProf, which is not read: record with nsys or nvtally record, or "
     "open it in the NVIDIA Visual Profiler"},
    {"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name GLOB 'rocpd_*' LIMIT 1",
     NVT_ROCPD_REFUSED},
    {"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('MSTX_EVENTS', 'CANN_API', "
     "'NpuInfo') LIMIT 1",
     "is a database of Ascend's profiler, which is not read: its trace_view.json is"},
    {"SELECT 1 FROM sqlite_master AS m WHERE m.name = 'CUPTI_ACTIVITY_KIND_KERNEL' AND"
     " m.type = 'table' AND m.rootpage > 0 AND NOT EXISTS"
     " (SELECT 1 FROM pragma_table_info(m.name) WHERE name IN ('shortName', 'demangledName'))",
     "is an SQLite file with a table CUPTI_ACTIVITY_KIND_KERNEL, but without nsys's columns"},
};

int nvt_nsys_refuse_foreign(struct nvt_nsys *reader)
{
    for (size_t i = 0; i < NVT_COUNT_OF(foreign); i++) {
        sqlite3_stmt *statement = NULL;
        const int found =
            sqlite3_prepare_v2(reader->db, foreign[i].sql, -1, &statement, NULL) == SQLITE_OK &&
            sqlite3_step(statement) == SQLITE_ROW;
        sqlite3_finalize(statement);
        if (found)
            return nvt_fail_at(reader->err, reader->path, -1, "%s", foreign[i].says);
    }
    return 0;
}

enum { W_TEXT, W_SEVERITY };

/* A text that was not yet passed on. 0, or -1 when out of memory. */
static int warning(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    const uint32_t text = nvt_nsys_text(reader, table, W_TEXT);
    if (table->bad || text == NVT_NO_STRING)
        return text == NVT_NO_STRING ? -1 : 0;
    for (uint32_t i = 0; i < reader->warning_count && i < NVT_NSYS_WARNINGS; i++)
        if (reader->warnings[i] == text)
            return 0;
    if (reader->warning_count < NVT_NSYS_WARNINGS) {
        reader->warnings[reader->warning_count] = text;
        nvt_trace_note(reader->trace, "nsys's own warning: %.300s", nvt_name(reader->trace, text));
    }
    reader->warning_count++;
    return 0;
}

/* Severity 2 is a warning, 3 an error (ENUM_DIAGNOSTIC_SEVERITY_LEVEL). */
int nvt_nsys_note_warnings(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec warnings = {
        "DIAGNOSTIC_EVENT", "severity >= 2", 2, {"text", "severity"}, warning};
    if (nvt_nsys_read(reader, &warnings))
        return -1;
    if (reader->warning_count > NVT_NSYS_WARNINGS)
        nvt_trace_note(reader->trace, "nsys has %u more warnings (table DIAGNOSTIC_EVENT)",
                       reader->warning_count - NVT_NSYS_WARNINGS);
    return 0;
}
#endif
