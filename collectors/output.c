#include "output.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/grow.h"
#include "functions.h"

/* Bytes in a chunk of definitions, where one alone does not need more. */
#define DEFINITIONS_MOST (NVT_CHUNK_MAX / 4)

/* Of events, where nothing asks for less: a chunk that is put together then still fits the cache. */
#define CHUNK_BYTES (512 * 1024)

struct process {
    int pid;
    uint64_t image;
    struct nvt_buffer row;         /* of its PROCESS chunk */
    struct nvt_buffer definitions; /* not yet written */
};

struct thread {
    uint32_t process;
    struct nvt_buffer row; /* of its THREAD chunk */
};

struct nvt_output {
    struct nvt_trace_writer *writer;
    struct nvt_strings *strings;
    uint32_t strings_written;
    _Atomic uint32_t *writing; /* or NULL */
    _Atomic uint64_t *written; /* grows before *writing is 0 again */
    struct process *processes;
    uint32_t process_count, processes_written;
    struct thread *threads;
    uint32_t thread_count, threads_written;
    struct nvt_buffer facts;
    uint32_t fact_count;
    struct nvt_retain *retain; /* NULL: all is kept */
    int64_t origin;            /* CLOCK_MONOTONIC of the first moment, */
    uint64_t origin_ticks;     /* and its ticks */
    int has_origin;
    int takes_samples;
    struct nvt_functions *functions; /* NULL: nobody has asked */
};

static void free_output(struct nvt_output *output)
{
    for (uint32_t i = 0; i < output->process_count; i++) {
        nvt_buffer_free(&output->processes[i].row);
        nvt_buffer_free(&output->processes[i].definitions);
    }
    for (uint32_t i = 0; i < output->thread_count; i++)
        nvt_buffer_free(&output->threads[i].row);
    free(output->processes);
    free(output->threads);
    nvt_buffer_free(&output->facts);
    nvt_strings_free(output->strings);
    nvt_retain_free(output->retain);
    nvt_functions_free(output->functions);
    free(output);
}

struct nvt_output *nvt_output_new(const char *path, int level, struct nvt_error *err)
{
    struct nvt_output *output = calloc(1, sizeof(*output));
    if (output)
        output->strings = nvt_strings_new();
    if (!output || !output->strings) {
        nvt_fail(err, "out of memory");
        free(output);
        return NULL;
    }
    output->writer = nvt_trace_writer_open(path, level, err);
    if (!output->writer) {
        free_output(output);
        return NULL;
    }
    return output;
}

int nvt_output_begin(struct nvt_output *output, struct nvt_error *err)
{
    return nvt_trace_writer_begin(output->writer, err);
}

int nvt_output_keep(struct nvt_output *output, struct nvt_error *err)
{
    return nvt_trace_writer_keep(output->writer, err);
}

const char *nvt_output_kept(const struct nvt_output *output)
{
    return nvt_trace_writer_kept(output->writer);
}

void nvt_output_tell(struct nvt_output *output, _Atomic uint32_t *writing,
                     _Atomic uint64_t *written)
{
    output->writing = writing;
    output->written = written;
}

/* Who waits for us is told that we are writing. */
static void begin_writing(struct nvt_output *output)
{
    if (output->writing)
        atomic_store(output->writing, 1);
}

static void end_writing(struct nvt_output *output)
{
    if (!output->writing)
        return;
    atomic_fetch_add(output->written, 1);
    atomic_store(output->writing, 0);
}

void nvt_output_takes_time(struct nvt_output *output, int begins)
{
    if (begins)
        begin_writing(output);
    else
        end_writing(output);
}

static int write_chunk(struct nvt_output *output, const struct nvt_chunk *chunk,
                       const void *payload, size_t size, struct nvt_error *err)
{
    uint64_t before = nvt_trace_writer_size(output->writer);
    begin_writing(output);
    int status = nvt_trace_writer_chunk(output->writer, chunk, payload, size, err);
    end_writing(output);
    if (!status && output->retain)
        nvt_retain_note(output->retain, chunk, nvt_trace_writer_size(output->writer) - before);
    return status;
}

/* --- the latest part alone ---------------------------------------------------------------------- */

int nvt_output_retain(struct nvt_output *output, const struct nvt_retain_limits *limits,
                      struct nvt_error *err)
{
    if (!nvt_trace_writer_is_file(output->writer))
        return nvt_fail_at(err, nvt_trace_writer_path(output->writer), -1,
                           "is not a regular file, which --max-age and --max-size need");
    output->retain = nvt_retain_new(limits);
    return output->retain ? 0 : nvt_fail(err, "out of memory");
}

size_t nvt_output_chunk_bytes(const struct nvt_output *output)
{
    uint64_t most = output->retain ? nvt_retain_chunk_bytes(output->retain) : CHUNK_BYTES;
    return most < CHUNK_BYTES ? (size_t)most : CHUNK_BYTES;
}

static struct nvt_retain_time time_now(const struct nvt_output *output, enum nvt_clock clock)
{
    uint64_t ticks = nvt_ticks(clock);
    int64_t ns = nvt_monotonic_ns() - output->origin;
    double rate = ns > 0 ? (double)(ticks - output->origin_ticks) / (double)ns : 1;
    return (struct nvt_retain_time){ticks, rate};
}

int nvt_output_cut(struct nvt_output *output, enum nvt_clock clock)
{
    if (!output->retain || !output->has_origin)
        return 0;
    struct nvt_retain_time now = time_now(output, clock);
    begin_writing(output);
    int more = nvt_retain_step(output->retain, output->writer, &now);
    end_writing(output);
    return more;
}

int64_t nvt_output_age(const struct nvt_output *output)
{
    return output->retain ? nvt_retain_age(output->retain) : 0;
}

uint64_t nvt_output_cuts(const struct nvt_output *output)
{
    return output->retain ? nvt_retain_cuts(output->retain) : 0;
}

int nvt_output_cut_all(struct nvt_output *output, enum nvt_clock clock, struct nvt_error *err)
{
    if (!output->retain || !output->has_origin)
        return 0;
    struct nvt_retain_time now = time_now(output, clock);
    begin_writing(output);
    int status = nvt_retain_finish(output->retain, output->writer, &now, err);
    end_writing(output);
    return status;
}

void nvt_output_discard(struct nvt_output *output)
{
    nvt_trace_writer_discard(output->writer);
    free_output(output);
}

uint32_t nvt_output_string(struct nvt_output *output, const char *text, size_t length)
{
    return nvt_strings_add(output->strings, text, length);
}

const char *nvt_output_text(const struct nvt_output *output, uint32_t string)
{
    return nvt_strings_get(output->strings, string, NULL);
}

uint32_t nvt_output_process(struct nvt_output *output, int pid, int parent, uint64_t image,
                            const char *command, const struct nvt_costs *costs)
{
    for (uint32_t i = output->process_count; i-- > 0;)
        if (output->processes[i].pid == pid && output->processes[i].image == image)
            return i;
    uint32_t name = nvt_output_string(output, command, strlen(command));
    if (name == NVT_NO_STRING ||
        nvt_grow(&output->processes, output->process_count, sizeof(struct process)))
        return UINT32_MAX;
    struct process *process = &output->processes[output->process_count];
    *process = (struct process){.pid = pid, .image = image};
    int failed = nvt_buffer_varint(&process->row, (uint64_t)pid) ||
                 nvt_buffer_varint(&process->row, (uint64_t)parent) ||
                 nvt_buffer_varint(&process->row, image) || nvt_buffer_varint(&process->row, name);
    for (int i = 0; i < NVT_COSTS && !failed; i++)
        failed = nvt_buffer_varint(&process->row, costs->ps[i]);
    if (failed) {
        nvt_buffer_free(&process->row);
        return UINT32_MAX;
    }
    return output->process_count++;
}

uint32_t nvt_output_thread(struct nvt_output *output, uint32_t process, int tid, const char *name)
{
    uint32_t id = nvt_output_string(output, name, strlen(name));
    if (id == NVT_NO_STRING ||
        nvt_grow(&output->threads, output->thread_count, sizeof(struct thread)))
        return UINT32_MAX;
    struct thread *thread = &output->threads[output->thread_count];
    *thread = (struct thread){.process = process};
    if (nvt_buffer_varint(&thread->row, (uint64_t)tid) || nvt_buffer_varint(&thread->row, id)) {
        nvt_buffer_free(&thread->row);
        return UINT32_MAX;
    }
    return output->thread_count++;
}

int nvt_output_fact(struct nvt_output *output, const char *key, const char *value)
{
    uint32_t key_id = nvt_output_string(output, key, strlen(key));
    uint32_t value_id = nvt_output_string(output, value, strlen(value));
    if (key_id == NVT_NO_STRING || value_id == NVT_NO_STRING ||
        nvt_buffer_varint(&output->facts, key_id) || nvt_buffer_varint(&output->facts, value_id))
        return -1;
    output->fact_count++;
    return 0;
}

/* --- what must come before -------------------------------------------------------------------- */

static struct nvt_chunk plain(enum nvt_chunk_kind kind, uint32_t count)
{
    return (struct nvt_chunk){
        .kind = (uint16_t)kind, .process = NVT_NO_INDEX, .thread = NVT_NO_INDEX, .count = count};
}

/* New strings, in chunks of at most a few MiB. The chunk's `first` is the id of its first one. */
static int write_strings(struct nvt_output *output, struct nvt_error *err)
{
    uint32_t count = nvt_strings_count(output->strings);
    int status = 0;
    struct nvt_buffer rows = {0};
    while (output->strings_written < count && !status) {
        uint32_t next = output->strings_written;
        rows.size = 0;
        while (next < count && rows.size < NVT_CHUNK_MAX / 4) {
            size_t length;
            const char *text = nvt_strings_get(output->strings, next, &length);
            if (nvt_buffer_varint(&rows, length) || nvt_buffer_append(&rows, text, length)) {
                status = nvt_fail(err, "out of memory");
                break;
            }
            next++;
        }
        struct nvt_chunk chunk = plain(NVT_CHUNK_STRINGS, next - output->strings_written);
        chunk.first = output->strings_written;
        if (!status)
            status = write_chunk(output, &chunk, rows.data, rows.size, err);
        if (!status)
            output->strings_written = next;
    }
    nvt_buffer_free(&rows);
    return status;
}

static int write_facts(struct nvt_output *output, struct nvt_error *err)
{
    if (!output->fact_count)
        return 0;
    struct nvt_chunk chunk = plain(NVT_CHUNK_META, output->fact_count);
    if (write_chunk(output, &chunk, output->facts.data, output->facts.size, err))
        return -1;
    output->facts.size = 0;
    output->fact_count = 0;
    return 0;
}

/* Processes and threads are written in the order of their indices, so that a reader only appends.
 */
static int write_processes(struct nvt_output *output, uint32_t last, struct nvt_error *err)
{
    for (; output->processes_written <= last; output->processes_written++) {
        const struct nvt_buffer *row = &output->processes[output->processes_written].row;
        struct nvt_chunk chunk = plain(NVT_CHUNK_PROCESS, 1);
        chunk.process = output->processes_written;
        if (write_chunk(output, &chunk, row->data, row->size, err))
            return -1;
    }
    return 0;
}

static int write_threads(struct nvt_output *output, uint32_t last, struct nvt_error *err)
{
    for (; output->threads_written <= last; output->threads_written++) {
        const struct thread *thread = &output->threads[output->threads_written];
        struct nvt_chunk chunk = plain(NVT_CHUNK_THREAD, 1);
        chunk.process = thread->process;
        chunk.thread = output->threads_written;
        if (write_processes(output, thread->process, err) ||
            write_chunk(output, &chunk, thread->row.data, thread->row.size, err))
            return -1;
    }
    return 0;
}

/* Bytes of the first definitions that go into one chunk, at least one of them; *count gets how many. */
static size_t next_definitions(const struct nvt_buffer *rows, size_t from, uint32_t *count)
{
    const uint8_t *at = rows->data + from, *end = rows->data + rows->size;
    size_t taken = 0;
    *count = 0;
    while (at < end) {
        uint64_t length = 0;
        for (int field = 0; at && field < 5; field++) /* the last is the length of the bytes */
            at = nvt_varint_get(at, end, &length);
        if (!at)
            break;
        at += length;
        size_t size = (size_t)(at - rows->data) - from;
        if (taken && size > DEFINITIONS_MOST)
            break;
        taken = size;
        ++*count;
    }
    return taken;
}

/* What could not be written stays for the next time. */
static int write_definitions(struct nvt_output *output, uint32_t index, struct nvt_error *err)
{
    struct process *process = &output->processes[index];
    struct nvt_buffer *rows = &process->definitions;
    size_t done = 0, size;
    uint32_t count;
    int status = write_processes(output, index, err);
    while (!status && done < rows->size && (size = next_definitions(rows, done, &count))) {
        struct nvt_chunk chunk = plain(NVT_CHUNK_DEFINITIONS, count);
        chunk.process = index;
        status = write_chunk(output, &chunk, rows->data + done, size, err);
        done += status ? 0 : size;
    }
    if (done) {
        memmove(rows->data, rows->data + done, rows->size - done);
        rows->size -= done;
    }
    return status;
}

int nvt_output_define(struct nvt_output *output, uint32_t process, enum nvt_definition kind,
                      uint32_t domain, uint64_t id, uint32_t value, const char *text, size_t length)
{
    struct nvt_buffer *row = &output->processes[process].definitions;
    size_t before = row->size;
    if (nvt_buffer_varint(row, kind) || nvt_buffer_varint(row, domain) ||
        nvt_buffer_varint(row, id) || nvt_buffer_varint(row, value) ||
        nvt_buffer_varint(row, length) || nvt_buffer_append(row, text, length)) {
        row->size = before;
        return -1;
    }
    /* Many, and no event between them: written now, so that they take no memory. Failing that, they are
     * written before the next event, and that says so. */
    if (row->size / DEFINITIONS_MOST > before / DEFINITIONS_MOST && !write_strings(output, NULL))
        write_definitions(output, process, NULL);
    return 0;
}

int nvt_output_chunk(struct nvt_output *output, const struct nvt_chunk *chunk, const void *payload,
                     size_t size, struct nvt_error *err)
{
    if (write_strings(output, err) || write_facts(output, err))
        return -1;
    if (chunk->thread != NVT_NO_INDEX && write_threads(output, chunk->thread, err))
        return -1;
    if (chunk->process != NVT_NO_INDEX && write_definitions(output, chunk->process, err))
        return -1;
    return write_chunk(output, chunk, payload, size, err);
}

static void put64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

int nvt_output_clock(struct nvt_output *output, enum nvt_clock clock, struct nvt_error *err)
{
    uint8_t row[24];
    struct nvt_clock_sample now = nvt_clock_now(clock);
    struct nvt_chunk chunk = plain(NVT_CHUNK_CLOCK, 1);
    put64(row, now.ticks);
    put64(row + 8, (uint64_t)now.monotonic_ns);
    put64(row + 16, (uint64_t)now.realtime_ns);
    if (!output->has_origin) {
        output->origin = now.monotonic_ns;
        output->origin_ticks = now.ticks;
    }
    output->has_origin = 1;
    chunk.first = chunk.last = now.ticks;
    return nvt_output_chunk(output, &chunk, row, sizeof(row), err);
}

int nvt_output_close(struct nvt_output *output, int wait_status, uint64_t lost,
                     struct nvt_error *err)
{
    int status = 0;
    struct nvt_buffer row = {0};
    struct nvt_chunk chunk = plain(NVT_CHUNK_END, 1);
    for (uint32_t i = 0; i < output->process_count && !status; i++)
        status = write_strings(output, err) || write_definitions(output, i, err);
    if (!status &&
        (nvt_buffer_varint(&row, (uint64_t)wait_status) || nvt_buffer_varint(&row, lost)))
        status = nvt_fail(err, "out of memory");
    if (!status)
        status = nvt_output_chunk(output, &chunk, row.data, row.size, err);
    nvt_buffer_free(&row);
    if (nvt_trace_writer_close(output->writer, status ? NULL : err))
        status = -1;
    free_output(output);
    return status ? -1 : 0;
}

int64_t nvt_output_origin(const struct nvt_output *output)
{
    return output->origin;
}

uint64_t nvt_output_ticks(const struct nvt_output *output, enum nvt_clock clock, int64_t ns)
{
    return (uint64_t)(time_now(output, clock).ticks_per_ns * (double)ns);
}

uint64_t nvt_output_size(const struct nvt_output *output)
{
    return nvt_trace_writer_size(output->writer);
}

uint32_t nvt_output_processes(const struct nvt_output *output)
{
    return output->process_count;
}

uint32_t nvt_output_threads(const struct nvt_output *output)
{
    return output->thread_count;
}

struct nvt_functions *nvt_output_functions(struct nvt_output *output)
{
    if (!output->functions && output->takes_samples)
        output->functions = nvt_functions_new(output);
    return output->functions;
}

void nvt_output_take_samples(struct nvt_output *output)
{
    output->takes_samples = 1;
}
