#ifdef HAVE_SQLITE
#include "lacking.h"

#include <string.h>

#include "../../lib/count_of.h"
#include "../diagnosis/diagnose.h"

/* What a table's rows are, and the level of `record --trace` that has them. What rules need has its words from diagnose. */
static const struct {
    enum nvt_table_number table;
    unsigned need; /* enum nvt_rule_needs; 0: */
    const char *what;
    const char *level;
} kinds[] = {{NVT_TABLE_ops, NVT_RULE_OPS, NULL, "kernel"},
             {NVT_TABLE_kernels, NVT_RULE_OPS, NULL, "kernel"},
             {NVT_TABLE_apis, NVT_RULE_CALLS, NULL, "api"},
             {NVT_TABLE_memory, NVT_RULE_MEMORY, NULL, "memory"},
             {NVT_TABLE_ranges, NVT_RULE_RANGES, NULL, "nvtx"},
             {NVT_TABLE_marks, 0, "NVTX marks", "nvtx"},
             {NVT_TABLE_range_counts, NVT_RULE_COUNTS, NULL, "counters"},
             {NVT_TABLE_counter_samples, 0, "samples of counters", "machine"},
             {NVT_TABLE_collectives, 0, "collectives that a framework describes", NULL},
             {NVT_TABLE_migrations, 0, "events of managed memory", "um"},
             {NVT_TABLE_um_events, 0, "events of managed memory", "um"},
             {NVT_TABLE_os_calls, NVT_RULE_OS_CALLS, NULL, "osrt"},
             {NVT_TABLE_mpi_calls, NVT_RULE_MPI, NULL, "mpi"},
             {NVT_TABLE_syncs, 0, "waits for the device", "sync"},
             {NVT_TABLE_cpu_samples, NVT_RULE_SAMPLES, NULL, "cpu"},
             {NVT_TABLE_segments, 0, "segments of an allocator", NULL},
             {NVT_TABLE_overheads, 0, "overhead of the profiler", "overhead"},
             {NVT_TABLE_externals, 0, "ids that programs gave to calls", "external"}};

void nvt_sql_forget_reads(struct nvt_sql *sql)
{
    sql->read = 0;
    sql->lacks.size = 0;
    sql->lacks_all = 0;
    for (size_t i = 0; i < sql->made_count; i++) {
        sql->made[i].is_read = sql->made[i].has_wanted = 0;
        sql->made[i].lacks.size = 0;
        if (sql->made[i].want)
            sql->made[i].notes.size = 0;
    }
}

void nvt_sql_note_read(struct nvt_sql *sql, const char *table)
{
    _Static_assert(NVT_TABLE_COUNT <= 64, "a bit each");
    const struct nvt_shown_table *shown = nvt_shown_table(table);
    if (shown)
        sql->read |= UINT64_C(1) << shown->number;
    for (size_t i = 0; i < sql->made_count && !shown; i++)
        sql->made[i].is_read |= !strcmp(sql->made[i].name, table);
}

/* Whether operations are not in the model, but were read as launches. */
static int has_launches(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++)
        if (input->traces[i].launches && input->traces[i].launches->names)
            return 1;
    return 0;
}

/* Of the trace model: appends the first that has no rows, and could have none; *others gets how many could. */
static int look_at_model(const struct nvt_sql *sql, struct nvt_buffer *text, size_t *others)
{
    const struct nvt_input *input = sql->input;
    const struct nvt_shown_table *shown = nvt_shown_tables();
    int failed = 0;
    for (size_t i = 0; i < NVT_COUNT_OF(kinds) && !failed; i++) {
        const enum nvt_table_number table = kinds[i].table;
        if (!(sql->read >> table & 1))
            continue;
        if (nvt_model_rows(&sql->model, &shown[table]) ||
            (kinds[i].level && nvt_was_recorded(input, kinds[i].level)) ||
            (input->only_launches && has_launches(input)))
            ++*others;
        else if (!text->size)
            failed = nvt_diagnose_lack(input, kinds[i].need, kinds[i].what, kinds[i].level, text);
    }
    return failed;
}

/* What a table that was made and has no row says of it: the last line that its report noted. */
static int put_last_note(const struct nvt_made *made, struct nvt_buffer *text)
{
    static const char mark[] = "note: ";
    const char *from = (const char *)made->notes.data, *end = from + made->notes.size;
    const char *at = end && end > from ? end - 1 : from;
    while (at > from && at[-1] != '\n')
        at--;
    size_t length = (size_t)(end - at);
    if (length && at[length - 1] == '\n')
        length--;
    if (length > sizeof(mark) - 1 && !memcmp(at, mark, sizeof(mark) - 1)) {
        at += sizeof(mark) - 1;
        length -= sizeof(mark) - 1;
    }
    return nvt_buffer_printf(text, "%s has no row: ", made->name) ||
           (length ? nvt_buffer_append(text, at, length)
                   : nvt_buffer_printf(text, "nothing of the kind is in the input"));
}

/* Of a table that was made: appends why it has none of the rows that were asked for. */
static int put_lack_of_made(const struct nvt_sql *sql, const struct nvt_made *made,
                            struct nvt_buffer *text)
{
    if (made->lacks.size)
        return nvt_buffer_append(text, made->lacks.data, made->lacks.size);
    if (nvt_table_rows(made->table))
        return 0;
    return made->need ? nvt_diagnose_lack(sql->input, made->need, NULL, NULL, text)
           : !strncmp(made->name, "report_", 7) ? put_last_note(made, text)
                                                : 0;
}

static int look_at_made(const struct nvt_sql *sql, struct nvt_buffer *text, size_t *others)
{
    int failed = 0;
    for (size_t i = 0; i < sql->made_count && !failed; i++) {
        const struct nvt_made *made = &sql->made[i];
        struct nvt_buffer lack = {0};
        if (!made->is_read || !made->table)
            continue;
        failed = put_lack_of_made(sql, made, &lack);
        *others += !lack.size || (made->lacks.size && made->has_wanted);
        if (!failed && lack.size && !text->size)
            failed = nvt_buffer_append(text, lack.data, lack.size);
        nvt_buffer_free(&lack);
    }
    return failed;
}

/* A line of its own, unless it is there from `from` on. */
static void note_once(struct nvt_input *input, size_t from, const char *line, size_t length)
{
    const char *notes = (const char *)input->notes.data;
    if (input->notes.size > from && memmem(notes + from, input->notes.size - from, line, length))
        return;
    (void)nvt_buffer_append(&input->notes, line, length);
    (void)nvt_buffer_append(&input->notes, "\n", 1);
}

static void note_made(struct nvt_sql *sql, size_t from)
{
    for (size_t i = 0; i < sql->made_count; i++) {
        const struct nvt_made *made = &sql->made[i];
        const char *at = (const char *)made->notes.data, *end = at ? at + made->notes.size : at;
        while (made->is_read && at < end) {
            const char *line_end = memchr(at, '\n', (size_t)(end - at));
            line_end = line_end ? line_end : end;
            note_once(sql->input, from, at, (size_t)(line_end - at));
            at = line_end + 1;
        }
    }
}

int nvt_sql_look_for_lacks(struct nvt_sql *sql, int notes)
{
    const size_t from = sql->notes_from;
    struct nvt_buffer line = {0};
    size_t others = 0;
    sql->lacks.size = 0;
    int failed = look_at_model(sql, &sql->lacks, &others);
    const int is_of_model = sql->lacks.size > 0;
    failed = failed || look_at_made(sql, &sql->lacks, &others);
    sql->lacks_all = sql->lacks.size && !others;
    if (notes)
        note_made(sql, from);
    /* What a report lacks it has noted itself. */
    if (!failed && notes && sql->lacks.size && (is_of_model || sql->input->notes.size == from)) {
        failed = nvt_buffer_printf(&line, "note: %.*s", (int)sql->lacks.size,
                                   (const char *)sql->lacks.data);
        if (!failed)
            note_once(sql->input, from, (const char *)line.data, line.size);
    }
    nvt_buffer_free(&line);
    return failed || (sql->lacks.size && nvt_buffer_append(&sql->lacks, "", 1)) ? -1 : 0;
}
#endif
