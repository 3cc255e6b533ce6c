#include "merge.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/clock.h"
#include "../../lib/map.h"
#include "../../lib/text.h"
#include "layout.h"

/* Numbers of processes that others have already: above real ones (2^22 on Linux), and within the 24 bits that nsys has for them. */
#define FIRST_PID (INT64_C(1) << 22)

/* A trace on its way into the whole. */
struct merging {
    struct nvt_trace *whole;
    const struct nvt_trace *from;
    const struct nvt_clock_fit *clock;
    uint32_t bases[NVT_TABLE_COUNT];       /* rows of the whole before it */
    uint32_t *texts, *processes, *domains; /* the whole's, of each of its own; owned */
};

struct pids {
    struct nvt_map taken; /* by traces before: 1 */
    int64_t next;         /* that nobody has */
};

static int64_t moment_of(const struct merging *merging, int64_t moment)
{
    return nvt_clock_within(nvt_clock_fit_apply(merging->clock, moment));
}

/* --- what rows refer to --- */

/* 0, or -1 when out of memory; so are those below. */
static int take_texts(struct merging *merging)
{
    const struct nvt_strings *strings = merging->from->strings;
    const uint32_t count = nvt_strings_count(strings);
    merging->texts = calloc((size_t)count + 1, sizeof(*merging->texts));
    for (uint32_t i = 0; merging->texts && i < count; i++) {
        size_t length;
        const char *text = nvt_strings_get(strings, i, &length);
        merging->texts[i] = nvt_strings_add(merging->whole->strings, text, length);
        if (merging->texts[i] == NVT_NO_STRING)
            return -1;
    }
    return merging->texts ? 0 : -1;
}

/* The number of a process in the whole. 0, or -1. */
static int find_number(struct pids *pids, int64_t pid, int64_t *found)
{
    for (int64_t tried = pid;; tried = ++pids->next) {
        uint32_t *taken = nvt_map_at(&pids->taken, (uint64_t)tried);
        if (!taken)
            return -1;
        if (*taken == NVT_MAP_NONE) {
            *taken = 1;
            *found = tried;
            return 0;
        }
    }
}

/* The numbers of a trace's processes; images of one have the same. */
static int find_numbers(struct pids *pids, const struct nvt_processes *processes, int64_t *numbers)
{
    struct nvt_map seen = {0};
    int failed = 0;
    for (uint32_t i = 0; i < processes->count && !failed; i++) {
        uint32_t *before = nvt_map_at(&seen, (uint64_t)processes->pid[i]);
        failed = !before;
        if (before && *before != NVT_MAP_NONE)
            numbers[i] = numbers[*before];
        else if (before) {
            *before = i;
            failed = find_number(pids, processes->pid[i], &numbers[i]);
        }
    }
    nvt_map_free(&seen);
    return failed ? -1 : 0;
}

/* A parent that is in the trace has its number there. */
static int64_t parent_of(const struct nvt_processes *processes, const int64_t *numbers, uint32_t i)
{
    for (uint32_t k = 0; k < processes->count; k++)
        if (processes->pid[k] == processes->parent_pid[i])
            return numbers[k];
    return processes->parent_pid[i];
}

static int take_processes(struct merging *merging, struct pids *pids)
{
    const struct nvt_processes *processes = &merging->from->processes;
    int64_t *numbers = malloc(((size_t)processes->count + 1) * sizeof(*numbers));
    merging->processes = malloc(((size_t)processes->count + 1) * sizeof(*merging->processes));
    int failed = !numbers || !merging->processes || find_numbers(pids, processes, numbers);
    for (uint32_t i = 0; i < processes->count && !failed; i++) {
        const struct nvt_process row = {.pid = numbers[i],
                                        .parent_pid = parent_of(processes, numbers, i),
                                        .name = merging->texts[processes->name[i]],
                                        .rank = processes->rank[i]};
        merging->processes[i] = nvt_process_add(merging->whole, &row);
        failed = merging->processes[i] == NVT_NONE;
    }
    free(numbers);
    return failed ? -1 : 0;
}

/* Those of any process are found again. */
static int take_domains(struct merging *merging)
{
    const struct nvt_domains *from = &merging->from->domains, *whole = &merging->whole->domains;
    merging->domains = calloc((size_t)from->count + 1, sizeof(*merging->domains));
    if (!merging->domains)
        return -1;
    for (uint32_t i = 1; i < from->count; i++) {
        const int is_of_any = from->process[i] == NVT_NONE;
        const struct nvt_domain row = {.process = is_of_any ? NVT_NONE
                                                            : merging->processes[from->process[i]],
                                       .name = merging->texts[from->name[i]]};
        uint32_t at = 1;
        while (at < whole->count &&
               !(is_of_any && whole->process[at] == NVT_NONE && whole->name[at] == row.name))
            at++;
        merging->domains[i] = at < whole->count ? at : nvt_domain_add(merging->whole, &row);
        if (merging->domains[i] == NVT_NONE)
            return -1;
    }
    return 0;
}

/* --- rows --- */

static uint32_t row_of(const struct merging *merging, enum nvt_table_number target, uint32_t row)
{
    return target == NVT_TABLE_processes ? merging->processes[row]
           : target == NVT_TABLE_domains ? merging->domains[row]
                                         : merging->bases[target] + row;
}

/* Kernels and migrations have tables of their own. */
static void place_details(const struct merging *merging, uint32_t *details, uint32_t count)
{
    const uint8_t *kinds = merging->from->ops.kind;
    for (uint32_t i = 0; i < count; i++)
        if (details[i] != NVT_NONE)
            details[i] +=
                merging
                    ->bases[kinds[i] == NVT_OP_KERNEL ? NVT_TABLE_kernels : NVT_TABLE_migrations];
}

/* 0 is unknown of the end of a thread. */
static void place_times(const struct merging *merging, const struct nvt_layout_column *column,
                        int64_t *times, uint32_t count)
{
    const int zero_is_none = !strcmp(column->name, "ended_ns");
    for (uint32_t i = 0; i < count; i++)
        if (!(column->meaning == NVT_MEANS_TIME_OR_NONE && times[i] == INT64_MIN) &&
            !(zero_is_none && !times[i]))
            times[i] = moment_of(merging, times[i]);
}

/* Values of a column as they are in the whole, of rows that were copied. */
static void place_values(const struct merging *merging, const struct nvt_layout_column *column,
                         void *values, uint32_t count)
{
    uint32_t *rows = values;
    switch (column->meaning) {
    case NVT_MEANS_TEXT:
        for (uint32_t i = 0; i < count; i++)
            rows[i] = merging->texts[rows[i]];
        break;
    case NVT_MEANS_ROW:
    case NVT_MEANS_ROW_OR_NONE:
        for (uint32_t i = 0; i < count; i++)
            if (rows[i] != NVT_NONE)
                rows[i] = row_of(merging, column->target, rows[i]);
        break;
    case NVT_MEANS_ROW_AND_1:
        for (uint32_t i = 0; i < count; i++)
            if (rows[i])
                rows[i] = row_of(merging, column->target, rows[i] - 1) + 1;
        break;
    case NVT_MEANS_DETAIL:
        place_details(merging, rows, count);
        break;
    case NVT_MEANS_TIME:
    case NVT_MEANS_TIME_OR_NONE:
        place_times(merging, column, values, count);
        break;
    case NVT_MEANS_NUMBER:
    case NVT_MEANS_SIGNED:
    case NVT_MEANS_REAL:
    case NVT_MEANS_LINKED:
        break;
    }
}

/* All rows of a table behind those of the whole, for which there is room. */
static void copy_table(const struct merging *merging, const struct nvt_layout_table *table)
{
    const uint32_t count = nvt_layout_rows(merging->from, table),
                   base = nvt_layout_rows(merging->whole, table);
    for (uint32_t i = 0; count && i < table->count; i++) {
        const struct nvt_layout_column *column = &table->columns[i];
        char *values = nvt_layout_values(merging->whole, table, i);
        if (column->meaning == NVT_MEANS_LINKED)
            continue;
        values += (size_t)base * column->width;
        memcpy(values, nvt_layout_values(merging->from, table, i), (size_t)count * column->width);
        place_values(merging, column, values, count);
    }
    nvt_layout_set_rows(merging->whole, table, base + count);
}

/* What a call launched that is there gets its thread and launch from it again (nvt_trace_finish). */
static void unlink_ops(const struct merging *merging)
{
    struct nvt_ops *ops = &merging->whole->ops;
    const uint32_t base = merging->bases[NVT_TABLE_ops];
    for (uint32_t i = 0; i < merging->from->ops.count; i++)
        if (merging->from->ops.api[i] != NVT_NONE) {
            ops->thread[base + i] = NVT_NONE;
            ops->launch[base + i] = INT64_MIN;
        }
}

/* Rows of any process (devices, sequences, resources) are one for each of the trace's. */
static int copy_for_each(struct merging *merging, const struct nvt_layout_table *table)
{
    struct nvt_trace *whole = merging->whole;
    const uint32_t count = nvt_layout_rows(merging->from, table),
                   processes = merging->from->processes.count;
    const uint32_t *owners = nvt_layout_values(merging->from, table, 0);
    uint32_t base = nvt_layout_rows(whole, table);
    for (uint32_t row = 0; row < count; row++) {
        const uint32_t copies = owners[row] == NVT_NONE ? processes : 1;
        if (table->reserve(whole, (uint64_t)base + copies))
            return -1;
        for (uint32_t copy = 0; copy < copies; copy++, base++)
            for (uint32_t i = 0; i < table->count; i++) {
                const struct nvt_layout_column *column = &table->columns[i];
                const char *from = nvt_layout_values(merging->from, table, i);
                char *to = nvt_layout_values(whole, table, i);
                memcpy(to + (size_t)base * column->width, from + (size_t)row * column->width,
                       column->width);
                if (!i && owners[row] == NVT_NONE)
                    memcpy(to + (size_t)base * column->width, &merging->processes[copy],
                           sizeof(*merging->processes));
                else
                    place_values(merging, column, to + (size_t)base * column->width, 1);
            }
        nvt_layout_set_rows(whole, table, base);
    }
    return 0;
}

/* The first thread of a process bears its number. */
static void number_threads(const struct merging *merging)
{
    struct nvt_trace *whole = merging->whole;
    for (uint32_t i = 0; i < merging->from->threads.count; i++)
        if (nvt_is_main_thread(merging->from, i)) {
            const uint32_t at = merging->bases[NVT_TABLE_threads] + i;
            whole->threads.tid[at] = whole->processes.pid[whole->threads.process[at]];
        }
}

static int take_rows(struct merging *merging)
{
    const struct nvt_layout_table *layout = nvt_layout();
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        switch ((enum nvt_table_number)i) {
        case NVT_TABLE_processes:
        case NVT_TABLE_domains:
        case NVT_TABLE_meta:
            break;
        case NVT_TABLE_devices:
        case NVT_TABLE_sequences:
        case NVT_TABLE_resources:
            if (copy_for_each(merging, &layout[i]))
                return -1;
            break;
        default:
            copy_table(merging, &layout[i]);
        }
    unlink_ops(merging);
    number_threads(merging);
    return 0;
}

/* --- what lies beside the tables --- */

static void take_state(const struct merging *merging)
{
    struct nvt_trace *whole = merging->whole;
    const struct nvt_trace *from = merging->from;
    const int64_t open = from->open_ns ? moment_of(merging, from->open_ns) : 0;
    whole->is_part |= from->is_part;
    whole->was_stopped |= from->was_stopped;
    whole->goes_on |= from->goes_on;
    whole->is_late |= from->is_late;
    whole->is_truncated |= from->is_truncated;
    if (open && (!whole->open_ns || open > whole->open_ns))
        whole->open_ns = open;
    if (from->step_name && !whole->step_name)
        whole->step_name = merging->texts[from->step_name];
    if (from->warning)
        nvt_trace_note(whole, "%s: %s", nvt_file_name(from->path), from->warning);
    for (const char *note = from->notes; note && *note;) {
        const size_t length = strcspn(note, "\n");
        nvt_trace_note(whole, "%s: %.*s", nvt_file_name(from->path), (int)length, note);
        note += length + (note[length] == '\n');
    }
}

static int take(struct nvt_trace *whole, const struct nvt_trace *from,
                const struct nvt_clock_fit *clock, struct pids *pids)
{
    struct merging merging = {.whole = whole, .from = from, .clock = clock};
    for (size_t i = 0; i < NVT_TABLE_COUNT; i++)
        merging.bases[i] = nvt_layout_rows(whole, &nvt_layout()[i]);
    const int failed = take_texts(&merging) || take_processes(&merging, pids) ||
                       take_domains(&merging) || take_rows(&merging);
    if (!failed)
        take_state(&merging);
    free(merging.texts);
    free(merging.processes);
    free(merging.domains);
    return failed ? -1 : 0;
}

/* What all traces say alike. */
static int take_facts(struct nvt_trace *whole, const struct nvt_trace *const *traces, size_t count)
{
    const struct nvt_meta *facts = &traces[0]->meta;
    for (uint32_t i = 0; i < facts->count; i++) {
        const char *key = nvt_name(traces[0], facts->key[i]),
                   *value = nvt_name(traces[0], facts->value[i]);
        size_t alike = 1;
        for (; alike < count; alike++) {
            const char *other = nvt_trace_meta(traces[alike], key);
            if (!other || strcmp(other, value) != 0)
                break;
        }
        if (alike == count && strcmp(key, "rank") != 0 && nvt_trace_set_meta(whole, key, value))
            return -1;
    }
    return 0;
}

/* Room for all rows. 0, or -1 with err. */
static int reserve(struct nvt_trace *whole, const struct nvt_trace *const *traces, size_t count,
                   struct nvt_error *err)
{
    for (size_t k = 0; k < NVT_TABLE_COUNT; k++) {
        const struct nvt_layout_table *table = &nvt_layout()[k];
        uint64_t rows = nvt_layout_rows(whole, table);
        for (size_t i = 0; i < count; i++)
            rows += nvt_layout_rows(traces[i], table);
        if (rows >= NVT_NONE)
            return nvt_fail(err, "the traces have %llu %s together, more than one can have",
                            (unsigned long long)rows, table->name);
        if (table->reserve(whole, rows))
            return nvt_fail(err, "out of memory");
    }
    return 0;
}

struct nvt_trace *nvt_merge(const struct nvt_trace *const *traces,
                            const struct nvt_clock_fit *clocks, size_t count, size_t axis,
                            const char *path, struct nvt_error *err)
{
    struct nvt_trace *whole = nvt_trace_new(path, traces[0]->format);
    struct pids pids = {.next = FIRST_PID};
    int status = whole ? reserve(whole, traces, count, err) : nvt_fail(err, "out of memory");
    for (size_t i = 0; i < count && !status; i++)
        if (take(whole, traces[i], &clocks[i], &pids))
            status = nvt_fail(err, "out of memory");
    if (!status && take_facts(whole, traces, count))
        status = nvt_fail(err, "out of memory");
    if (!status) {
        whole->recorder = traces[0]->recorder;
        whole->tells_mpi_peers = traces[0]->tells_mpi_peers;
        whole->lacks_page_faults = traces[0]->lacks_page_faults;
        whole->origin_ns = traces[axis]->origin_ns;
        whole->was_finished = 1;
        status = nvt_trace_finish(whole, err);
    }
    nvt_map_free(&pids.taken);
    if (!status)
        return whole;
    nvt_trace_free(whole);
    return NULL;
}
