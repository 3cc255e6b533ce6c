#include "drain_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/event_columns.h"
#include "drain_device.h"

/* Slots are copied into columns in batches, and the producer gets its room back after each. */
#define BATCH 4096u

static void free_drain(struct nvt_drain *drain)
{
    if (drain->ring)
        munmap(drain->ring, drain->size);
    nvt_buffer_free(&drain->tokens);
    nvt_buffer_free(&drain->times);
    nvt_buffer_free(&drain->domains);
    nvt_buffer_free(&drain->attributes);
    nvt_buffer_free(&drain->range_ids);
    nvt_buffer_free(&drain->samples);
    nvt_buffer_free(&drain->tasks);
    nvt_buffer_free(&drain->payload);
    nvt_drain_os_free(&drain->os);
    nvt_drain_cpu_free(&drain->cpu);
    free(drain->path);
    free(drain);
}

/* The ring's own idea of its slots, which must lie in the file; 0: it has none. */
static uint64_t slots_of(const struct nvt_ring *ring, size_t size)
{
    uint64_t slots = atomic_load_explicit(&ring->slots, memory_order_acquire);
    return slots & (slots - 1) || nvt_ring_bytes(slots) > size ? 0 : slots;
}

/* The ring may have grown. Whether it has. */
static int note_size(struct nvt_drain *drain)
{
    uint64_t slots = slots_of(drain->ring, drain->size);
    if (slots <= drain->mask + 1)
        return 0;
    drain->mask = slots - 1;
    drain->sure = drain->sure == UINT64_MAX ? UINT64_MAX : drain->mask;
    return 1;
}

/* A record beyond the ring's end as we know it: its producer has come around, or the ring has grown and that record is another one.
 * It grew before it came around, which the record's word shows. Whether the record is the one at `tail`. */
static int is_around(struct nvt_drain *drain)
{
    if (note_size(drain))
        return 0;
    drain->sure = UINT64_MAX; /* it grows no more */
    return 1;
}

static struct nvt_ring *map_ring(const char *path, size_t *size)
{
    struct stat status;
    struct nvt_ring *ring = MAP_FAILED;
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0)
        return NULL;
    if (!fstat(descriptor, &status) && status.st_size > NVT_RING_HEADER) {
        *size = (size_t)status.st_size;
        ring = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    close(descriptor);
    return ring == MAP_FAILED ? NULL : ring;
}

static int introduce(struct nvt_drain *drain)
{
    char command[sizeof(drain->ring->command)];
    memcpy(command, drain->ring->command, sizeof(command));
    command[sizeof(command) - 1] = 0;
    drain->process = nvt_output_process(drain->output, drain->ring->pid, drain->ring->parent,
                                        drain->ring->image, command, &drain->ring->costs);
    if (drain->process == UINT32_MAX)
        return -1;
    drain->os = (struct nvt_drain_os){.output = drain->output,
                                      .process = drain->process,
                                      .pid = drain->ring->foreign ? 0 : drain->ring->pid};
    drain->cpu = (struct nvt_drain_cpu){.output = drain->output, .process = drain->process};
    return nvt_drain_begin_thread(drain, drain->ring->tid, drain->ring->thread_name);
}

int nvt_drain_open(const char *path, struct nvt_output *output, struct nvt_drain **result,
                   struct nvt_error *err)
{
    size_t size;
    *result = NULL;
    struct nvt_ring *ring = map_ring(path, &size);
    if (!ring)
        return 0;
    if (atomic_load_explicit(&ring->magic, memory_order_acquire) != NVT_RING_MAGIC) {
        munmap(ring, size);
        return 0;
    }
    if (ring->version != NVT_SHARED_VERSION || !slots_of(ring, size)) {
        munmap(ring, size);
        return nvt_fail_at(err, path, -1, "is no ring of this version");
    }
    /* Without memory it is as if the ring were not ready yet. */
    struct nvt_drain *drain = calloc(1, sizeof(*drain));
    if (!drain) {
        munmap(ring, size);
        return 0;
    }
    drain->ring = ring;
    drain->size = size;
    drain->output = output;
    drain->path = strdup(path);
    if (!drain->path || introduce(drain)) {
        free_drain(drain);
        return 0;
    }
    drain->mask = drain->sure = slots_of(ring, size) - 1;
    *result = drain;
    return 0;
}

/* --- events to columns -------------------------------------------------------------------------- */

static void put_varint(struct nvt_drain *drain, struct nvt_buffer *column, uint64_t value)
{
    if (nvt_buffer_varint(column, value))
        drain->partial = 1;
}

static void put_bytes(struct nvt_drain *drain, struct nvt_buffer *column, const void *data,
                      size_t size)
{
    if (nvt_buffer_append(column, data, size))
        drain->partial = 1;
}

static void end_domain_run(struct nvt_drain *drain)
{
    if (!drain->domain_run)
        return;
    put_varint(drain, &drain->domains, drain->domain);
    put_varint(drain, &drain->domains, drain->domain_run);
    drain->domain_run = 0;
}

static void note_domain(struct nvt_drain *drain, uint32_t domain)
{
    if (domain != drain->domain) {
        end_domain_run(drain);
        drain->domain = domain;
    }
    drain->domain_run++;
}

static void note_time(struct nvt_drain *drain, uint64_t ticks)
{
    if (!drain->count)
        drain->first = drain->last = ticks;
    uint64_t step = ticks > drain->last ? ticks - drain->last : 0;
    drain->times.size =
        (size_t)(nvt_varint_put(drain->times.data + drain->times.size, step) - drain->times.data);
    drain->last += step;
    drain->count++;
}

static void put_token(struct nvt_drain *drain, enum nvt_token kind, uint64_t name)
{
    drain->tokens.size =
        (size_t)(nvt_varint_put(drain->tokens.data + drain->tokens.size, name << 3 | kind) -
                 drain->tokens.data);
}

/* Attributes of the event just counted: which event (from the last one that had some), then fields. */
static void put_attributes(struct nvt_drain *drain, const uint8_t *data, size_t size)
{
    struct nvt_attributes from;
    struct nvt_buffer *out = &drain->attributes;
    if (size < sizeof(from))
        return;
    memcpy(&from, data, sizeof(from));
    if (from.payload_bytes > size - sizeof(from))
        from.payload_bytes = size - sizeof(from);
    put_varint(drain, out, drain->count - 1 - drain->last_attribute);
    drain->last_attribute = drain->count - 1;
    put_varint(drain, out, from.flags);
    if (from.flags & NVT_ATTRIBUTE_CATEGORY)
        put_varint(drain, out, from.category);
    if (from.flags & NVT_ATTRIBUTE_COLOR)
        put_bytes(drain, out, &from.color, 4);
    if (from.flags & NVT_ATTRIBUTE_PAYLOAD) {
        put_varint(drain, out, from.payload_type);
        put_varint(drain, out, from.payload);
    }
    if (from.flags & NVT_ATTRIBUTE_SCHEMA) {
        put_varint(drain, out, from.payload_bytes);
        put_bytes(drain, out, data + sizeof(from), (size_t)from.payload_bytes);
    }
}

/* The event just counted is a sample: which event (from the last one that was), of what, when. */
static void put_sample(struct nvt_drain *drain, const uint8_t *data, unsigned clock)
{
    struct nvt_ring_sample from;
    struct nvt_buffer *out = &drain->samples;
    memcpy(&from, data, sizeof(from));
    put_varint(drain, out, drain->count - 1 - drain->last_sample);
    drain->last_sample = drain->count - 1;
    put_varint(drain, out, from.counter);
    put_varint(drain, out, clock);
    if (clock)
        put_varint(drain, out, nvt_zigzag(from.time));
}

static void put_event(struct nvt_drain *drain, const struct nvt_slot *slot, const uint8_t *data,
                      size_t size)
{
    static const uint8_t tokens[] = {[NVT_EVENT_PUSH] = NVT_TOKEN_PUSH,
                                     [NVT_EVENT_POP] = NVT_TOKEN_POP,
                                     [NVT_EVENT_MARK] = NVT_TOKEN_MARK,
                                     [NVT_EVENT_START] = NVT_TOKEN_START,
                                     [NVT_EVENT_END] = NVT_TOKEN_END};
    unsigned kind = NVT_WORD_KIND(slot->word);
    int named = kind != NVT_EVENT_POP && kind != NVT_EVENT_END;
    note_time(drain, slot->ticks);
    note_domain(drain, NVT_WORD_DOMAIN(slot->word));
    put_token(drain, tokens[kind],
              named ? drain->names[NVT_WORD_VALUE(slot->word) % NVT_STRING_SLOTS] : 0);
    if ((kind == NVT_EVENT_START || kind == NVT_EVENT_END) && size >= 16) {
        uint64_t range;
        memcpy(&range, data, 8);
        put_varint(drain, &drain->range_ids, nvt_zigzag((int64_t)(range - drain->last_range)));
        drain->last_range = range;
        data += 16;
        size -= 16;
    }
    if (NVT_WORD_FLAGS(slot->word) & NVT_EVENT_SAMPLE && size >= sizeof(struct nvt_ring_sample)) {
        put_sample(drain, data, NVT_WORD_FLAGS(slot->word) >> NVT_EVENT_CLOCK);
        data += sizeof(struct nvt_ring_sample);
        size -= sizeof(struct nvt_ring_sample);
    }
    if (NVT_WORD_FLAGS(slot->word) & NVT_EVENT_ATTRIBUTES)
        put_attributes(drain, data, size);
}

/* Events are of this task from here on: which event is the first (from the last one that was), and the task. */
static void put_task(struct nvt_drain *drain)
{
    put_varint(drain, &drain->tasks, drain->count - drain->last_task);
    put_varint(drain, &drain->tasks, drain->task);
    drain->last_task = drain->count;
}

static void take_task(struct nvt_drain *drain, uint64_t word)
{
    drain->task = NVT_WORD_VALUE(word) << 16 | NVT_WORD_DOMAIN(word);
    put_task(drain);
}

static void put_definition(struct nvt_drain *drain, const struct nvt_slot *slot,
                           const uint8_t *data, size_t size)
{
    static const uint8_t kinds[] = {
        [NVT_DEFINE_DOMAIN] = NVT_DEFINITION_DOMAIN,
        [NVT_DEFINE_CATEGORY] = NVT_DEFINITION_CATEGORY,
        [NVT_DEFINE_THREAD] = NVT_DEFINITION_THREAD,
        [NVT_DEFINE_RESOURCE] = NVT_DEFINITION_RESOURCE,
        [NVT_DEFINE_SCHEMA] = NVT_DEFINITION_SCHEMA,
        [NVT_DEFINE_ENUM] = NVT_DEFINITION_ENUM,
        [NVT_DEFINE_COUNTER] = NVT_DEFINITION_COUNTER,
        [NVT_DEFINE_FILE] = NVT_DEFINITION_FILE,
        [NVT_DEFINE_TASK] = NVT_DEFINITION_TASK,
    };
    uint64_t header[2];
    unsigned kind = NVT_WORD_KIND(slot->word);
    if (size < sizeof(header))
        return;
    memcpy(header, data, sizeof(header));
    const char *text = (const char *)data + sizeof(header);
    size_t length = size - sizeof(header);
    if (header[1] < length)
        length = (size_t)header[1];
    if (kind == NVT_DEFINE_FILE)
        nvt_drain_cpu_define(&drain->cpu, header[0], text, length);
    if (kind == NVT_DEFINE_STRING) {
        uint32_t id = nvt_output_string(drain->output, text, length);
        drain->names[NVT_WORD_VALUE(slot->word) % NVT_STRING_SLOTS] = id == NVT_NO_STRING ? 0 : id;
        if (id == NVT_NO_STRING)
            nvt_drain_note_no_memory(drain);
    } else if (kind < sizeof(kinds) && kinds[kind]) {
        uint32_t domain = NVT_WORD_DOMAIN(slot->word), value = NVT_WORD_VALUE(slot->word);
        if (kind == NVT_DEFINE_TASK)
            value = drain->thread;
        if (kind == NVT_DEFINE_THREAD) { /* of several names the latest holds, whoever gave it */
            domain = (uint32_t)(slot->ticks >> 32);
            value = (uint32_t)slot->ticks;
        }
        if (nvt_output_define(drain->output, drain->process, kinds[kind], domain, header[0], value,
                              text, length))
            nvt_drain_note_no_memory(drain);
    }
}

/* The bytes of the `extra` slots behind `tail`, in one piece. NULL when out of memory. */
static const uint8_t *gather(struct nvt_drain *drain, uint64_t tail, uint64_t extra)
{
    const struct nvt_slot *slots = nvt_ring_slots(drain->ring);
    uint64_t at = (tail + 1) & drain->mask, whole = drain->mask + 1 - at;
    size_t first = (size_t)(extra < whole ? extra : whole), rest = (size_t)extra - first;
    if (!rest)
        return (const uint8_t *)(slots + at);
    drain->payload.size = 0;
    if (nvt_buffer_append(&drain->payload, slots + at, first * sizeof(*slots)) ||
        nvt_buffer_append(&drain->payload, slots, rest * sizeof(*slots)))
        return NULL;
    return drain->payload.data;
}

/* Words back to zero, so that the producer's next lap is seen; the release is the tail's. Who sees one of these
 * zeros sees what was taken. */
static void clear(struct nvt_drain *drain, uint64_t from, uint64_t to)
{
    struct nvt_slot *slots = nvt_ring_slots(drain->ring);
    atomic_store_explicit(&drain->ring->taken, to, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (; from < to; from++)
        atomic_store_explicit(&slots[from & drain->mask].word, 0, memory_order_relaxed);
}

/* The record at `tail`, whose first word this is, with its data. Returns how many slots it has. */
static uint64_t take_record(struct nvt_drain *drain, uint64_t tail, uint64_t word)
{
    struct nvt_slot *slots = nvt_ring_slots(drain->ring);
    struct nvt_slot slot = {.ticks = slots[tail & drain->mask].ticks};
    unsigned kind = NVT_WORD_KIND(word);
    uint64_t extra = NVT_WORD_EXTRA(word);
    atomic_init(&slot.word, word);
    note_size(drain); /* before the record was published */
    if (extra > drain->mask) {
        drain->broken = 1;
        return 0;
    }
    const uint8_t *data = gather(drain, tail, extra);
    if (!data)
        drain->totals.unwritten++;
    else if (kind >= NVT_EVENT_PUSH && kind <= NVT_EVENT_END)
        put_event(drain, &slot, data, (size_t)extra * sizeof(slot));
    else if (kind == NVT_DEVICE_RECORDS)
        nvt_drain_device_take(drain->output, drain->process, drain->thread, slot.ticks, data,
                              (size_t)extra * sizeof(slot), &drain->totals);
    else if (kind == NVT_OS_CALL)
        nvt_drain_os_take(&drain->os, NVT_WORD_VALUE(word), data, (size_t)extra * sizeof(slot));
    else if (kind == NVT_TASK)
        take_task(drain, word);
    else if (kind == NVT_DEFINE_OWNER)
        nvt_drain_take_owner(drain, slot.ticks, data, (size_t)extra * sizeof(slot));
    else if (kind == NVT_CPU_SAMPLE)
        nvt_drain_cpu_take(&drain->cpu, slot.ticks, data, (size_t)extra * sizeof(slot));
    else
        put_definition(drain, &slot, data, (size_t)extra * sizeof(slot));
    return extra + 1;
}

/*
 * Up to about BATCH slots; the columns have room for all of them. Pushes and pops of the default domain
 * without attributes, which are most of all events, take the short way. Returns whether there was more.
 */
static int take_batch(struct nvt_drain *drain)
{
    struct nvt_slot *slots = nvt_ring_slots(drain->ring);
    /* No further than around once: what was read is cleared at the end. */
    uint64_t tail = drain->tail, start = tail, word = 1,
             end = tail + (drain->mask + 1 < BATCH ? drain->mask + 1 : BATCH);
    while (tail < end && !drain->broken) {
        struct nvt_slot *slot = &slots[tail & drain->mask];
        /* Acquire: the rest of the record was written before its word. */
        word = atomic_load_explicit(&slot->word, memory_order_acquire);
        if (!word)
            break;
        if (tail > drain->sure && !is_around(drain))
            continue;
        if ((word & 0xffffffffffffu) == NVT_EVENT_POP && !drain->domain) {
            note_time(drain, slot->ticks);
            drain->domain_run++;
            drain->tokens.data[drain->tokens.size++] = NVT_TOKEN_POP;
            tail++;
        } else if ((word & 0xffffffffffffu) == NVT_EVENT_PUSH && !drain->domain) {
            note_time(drain, slot->ticks);
            drain->domain_run++;
            put_token(drain, NVT_TOKEN_PUSH, drain->names[(word >> 48) % NVT_STRING_SLOTS]);
            tail++;
        } else {
            tail += take_record(drain, tail, word);
        }
    }
    clear(drain, start, tail);
    drain->tail = tail;
    /* Release: the slots have been read and cleared before the producer may write there again. */
    atomic_store_explicit(&drain->ring->tail, tail, memory_order_release);
    return word != 0;
}

uint64_t nvt_drain_take(struct nvt_drain *drain)
{
    note_size(drain);
    uint64_t start = drain->tail, most = start + 2 * (drain->mask + 1);
    int more = 1;
    while (more && !drain->broken && drain->tail < most) {
        drain->starved = nvt_buffer_reserve(&drain->tokens, BATCH * NVT_VARINT_MAX) ||
                         nvt_buffer_reserve(&drain->times, BATCH * NVT_VARINT_MAX);
        if (drain->starved)
            break;
        more = take_batch(drain);
        nvt_drain_flush(drain, 0);
    }
    drain->fill = (double)(drain->tail - start) / (double)(drain->mask + 1);
    return drain->tail - start;
}

const char *nvt_drain_path(const struct nvt_drain *drain)
{
    return drain->path;
}

uint64_t nvt_drain_bytes(const struct nvt_drain *drain)
{
    return nvt_ring_bytes(atomic_load(&drain->ring->slots));
}

double nvt_drain_fill(const struct nvt_drain *drain)
{
    return drain->fill;
}

/* --- chunks --------------------------------------------------------------------------------------- */

static void start_over(struct nvt_drain *drain)
{
    drain->tokens.size = drain->times.size = drain->domains.size = 0;
    drain->attributes.size = drain->range_ids.size = drain->samples.size = drain->tasks.size = 0;
    drain->count = drain->last_attribute = drain->last_sample = drain->last_task = 0;
    drain->last_range = 0;
    drain->partial = 0;
    if (drain->task)
        put_task(drain);
}

/* One run of the default domain needs no column. */
static int is_default_throughout(const struct nvt_drain *drain)
{
    const uint8_t *data = drain->domains.data;
    uint64_t run = 0;
    return drain->domains.size > 1 && !data[0] &&
           nvt_varint_get(data + 1, data + drain->domains.size, &run) && run == drain->count;
}

void nvt_drain_flush(struct nvt_drain *drain, int force)
{
    nvt_drain_os_flush(&drain->os, force, &drain->totals);
    nvt_drain_cpu_flush(&drain->cpu, force, &drain->totals);
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer *out = &drain->payload;
    size_t size =
        drain->tokens.size + drain->times.size + drain->attributes.size + drain->samples.size;
    if (!drain->count || (size < nvt_output_chunk_bytes(drain->output) && !force))
        return;
    end_domain_run(drain);
    if (is_default_throughout(drain))
        drain->domains.size = 0;
    out->size = 0;
    int status = drain->partial || nvt_event_column_put(out, NVT_COLUMN_TOKENS, &drain->tokens) ||
                 nvt_event_column_put(out, NVT_COLUMN_TIMES, &drain->times) ||
                 nvt_event_column_put(out, NVT_COLUMN_DOMAINS, &drain->domains) ||
                 nvt_event_column_put(out, NVT_COLUMN_ATTRIBUTES, &drain->attributes) ||
                 nvt_event_column_put(out, NVT_COLUMN_RANGE_IDS, &drain->range_ids) ||
                 nvt_event_column_put(out, NVT_COLUMN_SAMPLES, &drain->samples) ||
                 nvt_event_column_put(out, NVT_COLUMN_TASKS, &drain->tasks);
    struct nvt_chunk chunk = {.kind = NVT_CHUNK_EVENTS,
                              .process = drain->process,
                              .thread = drain->thread,
                              .count = drain->count,
                              .first = drain->first,
                              .last = drain->last};
    if (status)
        nvt_fail(&err, "out of memory");
    else
        status = nvt_output_chunk(drain->output, &chunk, out->data, out->size, &err);
    if (!status)
        drain->totals.events += drain->count;
    else
        drain->totals.unwritten += drain->count;
    if (status && !drain->totals.error.message[0])
        drain->totals.error = err;
    start_over(drain);
}

void nvt_drain_take_long_call(struct nvt_drain *drain, uint64_t now, uint64_t least, uint64_t most)
{
    nvt_drain_os_take_long(&drain->os, &drain->ring->calling, now, least, most);
}

void nvt_drain_was_cut(struct nvt_drain *drain)
{
    nvt_drain_os_was_cut(&drain->os);
}

uint64_t nvt_drain_lost(const struct nvt_drain *drain)
{
    return atomic_load(&drain->ring->dropped) + atomic_load(&drain->ring->nested) +
           drain->past.unwritten + drain->totals.unwritten;
}

int nvt_drain_is_over(const struct nvt_drain *drain)
{
    return drain->broken ||
           atomic_load_explicit(&drain->ring->state, memory_order_acquire) == NVT_RING_CLOSED;
}

uint32_t nvt_drain_owner(const struct nvt_drain *drain, struct nvt_owner *owner)
{
    *owner = (struct nvt_owner){
        .pid = drain->ring->pid, .image = drain->ring->image, .foreign = drain->ring->foreign != 0};
    return drain->process;
}

/* What there is, to its last record. */
static void take_all(struct nvt_drain *drain)
{
    while (nvt_drain_take(drain)) {
    }
}

int nvt_drain_is_left(struct nvt_drain *drain, uint64_t now, int64_t patience_ns)
{
    const uint32_t owners = drain->owners;
    uint32_t state = NVT_RING_IDLE;
    if (atomic_load_explicit(&drain->ring->state, memory_order_acquire) != NVT_RING_IDLE) {
        drain->idle_since = 0;
        return 0;
    }
    /* What it left is seen now. If another thread has come meanwhile, its first record has ended it. */
    take_all(drain);
    if (drain->owners != owners || drain->starved)
        return 0;
    nvt_drain_end_thread(drain, now, 0);
    const int64_t at = nvt_monotonic_ns();
    drain->idle_since = drain->idle_since ? drain->idle_since : at;
    return at - drain->idle_since >= patience_ns &&
           atomic_compare_exchange_strong(&drain->ring->state, &state, NVT_RING_GONE);
}

void nvt_drain_close(struct nvt_drain *drain, uint64_t now, int lives,
                     struct nvt_drain_totals *totals)
{
    if (drain->starved) /* once more, before what the ring holds is given up */
        take_all(drain);
    if (drain->starved)
        nvt_drain_note_no_memory(drain);
    drain->past.too_deep |= atomic_load(&drain->ring->too_deep) != 0;
    nvt_drain_end_thread(drain, now, lives);
    nvt_drain_add_totals(totals, &drain->past);
    atomic_store_explicit(&drain->ring->state, NVT_RING_GONE, memory_order_release);
    unlink(drain->path);
    free_drain(drain);
}
