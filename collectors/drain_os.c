#include "drain_os.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/keyed_number.h"
#include "../lib/os_calls.h"

/* Ids of files that the recorder defines itself are above those of programs. */
#define FIRST_OWN_FILE (UINT64_C(1) << 32)

void nvt_drain_os_free(struct nvt_drain_os *os)
{
    nvt_buffer_free(&os->rows);
}

/* `is_open`: its end is not known, and call->end is when that was noticed. */
static void put(struct nvt_drain_os *os, unsigned number, const struct nvt_ring_os_call *call,
                uint64_t file, int is_open)
{
    const char *name = number < NVT_OS_CALLS ? nvt_os_calls[number].name : "";
    uint32_t id = nvt_output_string(os->output, name, strlen(name));
    uint8_t row[NVT_OS_ROW_FIELDS * NVT_VARINT_MAX], *end = row;
    if (!os->count) {
        os->first = os->start = call->start;
        os->last = os->address = 0;
    }
    const uint64_t fields[NVT_OS_ROW_FIELDS] = {
        [NVT_OS_ROW_NAME] = id,
        [NVT_OS_ROW_START] = nvt_zigzag((int64_t)(call->start - os->start)),
        [NVT_OS_ROW_LENGTH] = call->end > call->start ? call->end - call->start : 0,
        [NVT_OS_ROW_FLAGS] = is_open != 0,
        [NVT_OS_ROW_RESULT] = nvt_zigzag(call->result),
        [NVT_OS_ROW_FILE] = file,
        [NVT_OS_ROW_ADDRESS] = nvt_zigzag((int64_t)(call->address - os->address)),
        [NVT_OS_ROW_BYTES] = call->bytes,
        [NVT_OS_ROW_CALLER] = call->caller,
        [NVT_OS_ROW_HOLDER] = call->holder};
    for (size_t i = 0; i < NVT_OS_ROW_FIELDS; i++)
        end = nvt_varint_put(end, fields[i]);
    size_t size = (size_t)(end - row);
    if (id == NVT_NO_STRING || nvt_buffer_reserve(&os->rows, size + NVT_VARINT_MAX) ||
        nvt_buffer_varint(&os->rows, size) || nvt_buffer_append(&os->rows, row, size)) {
        os->failed = 1;
        return;
    }
    os->start = call->start;
    os->address = call->address;
    os->last = call->end > os->last ? call->end : os->last;
    os->count++;
    os->ended++;
}

void nvt_drain_os_take(struct nvt_drain_os *os, unsigned number, const uint8_t *data, size_t size)
{
    struct nvt_ring_os_call call;
    if (size < sizeof(call))
        return;
    memcpy(&call, data, sizeof(call));
    put(os, number, &call, call.file, 0);
}

/* The id of a path, which is defined for it; 0 without memory. */
static uint64_t define_path(struct nvt_drain_os *os, const char *path)
{
    uint32_t string = nvt_output_string(os->output, path, strlen(path));
    uint64_t id = FIRST_OWN_FILE + string;
    return string == NVT_NO_STRING ||
                   nvt_output_define(os->output, os->process, NVT_DEFINITION_FILE, 0, id, 0, path,
                                     strlen(path))
               ? 0
               : id;
}

/* What a thread is in. It may leave it meanwhile, and enter another one. */
struct seen {
    uint32_t number; /* 0: nothing */
    uint32_t file;
    struct nvt_ring_os_call call;
    char path[sizeof(((struct nvt_ring_calling *)0)->path)];
};

static void look_at_call(const struct nvt_ring_calling *calling, struct seen *seen)
{
    seen->number = atomic_load_explicit(&calling->number, memory_order_acquire);
    seen->call = (struct nvt_ring_os_call){
        .start = atomic_load_explicit(&calling->since, memory_order_relaxed),
        .caller = atomic_load_explicit(&calling->caller, memory_order_relaxed),
        .address = atomic_load_explicit(&calling->address, memory_order_relaxed),
        .holder = atomic_load_explicit(&calling->holder, memory_order_relaxed)};
    seen->file = atomic_load_explicit(&calling->file, memory_order_relaxed);
    memcpy(seen->path, calling->path, sizeof(seen->path));
    seen->path[sizeof(seen->path) - 1] = 0;
}

static void put_open(struct nvt_drain_os *os, struct seen *seen, uint64_t now)
{
    seen->call.end = now;
    put(os, seen->number - 1, &seen->call, seen->path[0] ? define_path(os, seen->path) : seen->file,
        1);
}

void nvt_drain_os_take_open(struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                            uint64_t now)
{
    struct seen seen;
    look_at_call(calling, &seen);
    if (seen.number && seen.call.start <= now)
        put_open(os, &seen, now);
}

/* Whether a process handles a signal, as the system has it: it would end one that does not, such as another program that the
 * process runs by now (exec). */
static int handles(pid_t pid, uint32_t signal)
{
    char path[64];
    uint64_t caught = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return signal && signal <= 64 && nvt_keyed_number(path, "SigCgt:", 16, &caught) > 0 &&
           caught >> (signal - 1) & 1;
}

/* Ask a thread in a call where that is: its sampler's signal, which no other one is taken for. */
static void ask(const struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                const struct seen *seen)
{
    siginfo_t info;
    uint32_t signal = atomic_load_explicit(&calling->signal, memory_order_relaxed);
    if (!os->pid || signal < (uint32_t)SIGRTMIN || signal > (uint32_t)SIGRTMAX ||
        !nvt_os_waits_on(seen->number - 1) || !handles(os->pid, signal))
        return;
    memset(&info, 0, sizeof(info));
    info.si_signo = (int)signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr =
        (void *)(uintptr_t)atomic_load_explicit(&calling->value, memory_order_relaxed);
    syscall(SYS_rt_tgsigqueueinfo, os->pid, os->tid, (int)signal, &info);
}

void nvt_drain_os_take_long(struct nvt_drain_os *os, const struct nvt_ring_calling *calling,
                            uint64_t now, uint64_t least, uint64_t most)
{
    struct seen seen;
    uint64_t since = atomic_load_explicit(&calling->since, memory_order_relaxed);
    if (!atomic_load_explicit(&calling->number, memory_order_relaxed) || since > now ||
        now - since < least ||
        (since == os->told && now - os->told_at < os->told_at - since && now - os->told_at < most))
        return;
    look_at_call(calling, &seen);
    /* Still the same one: then all of it is. */
    atomic_thread_fence(memory_order_acquire);
    if (!seen.number || seen.call.start != since ||
        atomic_load_explicit(&calling->number, memory_order_relaxed) != seen.number ||
        atomic_load_explicit(&calling->since, memory_order_relaxed) != since)
        return;
    uint32_t before = os->count;
    put_open(os, &seen, now);
    os->ended -= os->count - before;
    if (since != os->told)
        ask(os, calling, &seen);
    os->told = since;
    os->told_at = now;
}

void nvt_drain_os_was_cut(struct nvt_drain_os *os)
{
    os->told = 0;
}

void nvt_drain_os_flush(struct nvt_drain_os *os, int force, struct nvt_drain_totals *totals)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const struct nvt_chunk chunk = {.kind = NVT_CHUNK_OS_CALLS,
                                    .process = os->process,
                                    .thread = os->thread,
                                    .count = os->count,
                                    .first = os->first,
                                    .last = os->last};
    if ((!os->count && !os->failed) ||
        (os->rows.size < nvt_output_chunk_bytes(os->output) && !force))
        return;
    int status = os->failed
                     ? nvt_fail(&err, "out of memory")
                     : nvt_output_chunk(os->output, &chunk, os->rows.data, os->rows.size, &err);
    *(status ? &totals->unwritten : &totals->os_calls) += os->ended;
    if (status && !totals->error.message[0])
        totals->error = err;
    os->rows.size = 0;
    os->count = os->ended = 0;
    os->failed = 0;
}
