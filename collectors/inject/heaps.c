#include "heaps.h"

#include <string.h>
#include <sys/mman.h>

#include "dormant.h"
#include "late.h"

int nvt_heaps_watch;
struct nvt_heaps_state *_Atomic nvt_heaps_state;

void nvt_heaps_begin(void)
{
    nvt_heaps_watch = nvt_session.control->is_dormant || nvt_session.control->has_window ||
                      nvt_capture_mode() != NVT_CAPTURE_ALL;
}

/* NULL: there is no memory. */
static struct nvt_heaps_state *state_of(void)
{
    struct nvt_heaps_state *none = NULL, *state = atomic_load(&nvt_heaps_state);
    if (state)
        return state;
    state = nvt_heap_pages(sizeof(*state));
    if (!state || atomic_compare_exchange_strong(&nvt_heaps_state, &none, state))
        return state;
    munmap(state, sizeof(*state));
    return none;
}

/* --- as events ------------------------------------------------------------------------------------ */

void nvt_heaps_record(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                      uint32_t message_type, nvtxMessageValue_t message, uint64_t told)
{
    nvtxEventAttributes_t attributes;
    const nvtxPayloadData_t payload = {0, sizeof(*said), said};
    const struct nvt_ring_sample sample = {NVT_SAMPLE_OF_HEAP, (int64_t)told};
    memset(&attributes, 0, sizeof(attributes));
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = (int32_t)message_type;
    attributes.message = message;
    const struct nvt_event event = {.kind = NVT_EVENT_MARK,
                                    .domain = domain,
                                    .attributes = &attributes,
                                    .payloads = &payload,
                                    .payload_count = 1,
                                    .sample = &sample,
                                    .clock = told ? NVT_SAMPLE_TICKS : NVT_SAMPLE_EVENT};
    if (nvt_heaps_watch)
        nvt_event_mark_now(&event);
    else
        nvt_event_mark(&event);
}

static void record_named(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                         const struct nvtxStringRegistration *name, uint64_t told)
{
    nvtxMessageValue_t message = {NULL};
    message.registered = (nvtxStringHandle_t)name;
    nvt_heaps_record(domain, said, name ? NVTX_MESSAGE_TYPE_REGISTERED : NVTX_MESSAGE_UNKNOWN,
                     message, told);
}

/* --- telling -------------------------------------------------------------------------------------- */

struct telling {
    uint64_t recorder, time; /* ticks */
};

/* To whom it is told now, and as of when. */
static struct telling telling_now(void)
{
    const uint64_t opening = nvt_heaps_opening();
    return (struct telling){(uint64_t)atomic_load(&nvt_session.control->epoch) + 1,
                            opening ? opening : nvt_session.image};
}

/* What began before is told by whoever comes first; what has ended, by who goes through all. Whether this is to be told. */
static int is_to_tell(struct nvt_heap_place *place, const struct telling *telling)
{
    uint64_t told = atomic_load(&place->told);
    if (atomic_load(&place->is_gone))
        return 0;
    return told != telling->recorder &&
           atomic_compare_exchange_strong(&place->told, &told, telling->recorder);
}

static void tell_end(struct nvt_heap_place *place, uint64_t number,
                     enum nvt_heap_operation operation, const struct telling *telling)
{
    const int is_known = (atomic_load(&place->told) & ~NVT_HEAP_CHANGED) == telling->recorder;
    const struct nvt_heap_said said = {
        .operation = operation,
        .heap = operation == NVT_HEAP_UNREGISTER ? number : atomic_load(&place->heap),
        .address = operation == NVT_HEAP_UNREGISTER ? 0 : number};
    nvtxDomainHandle_t domain = atomic_load(&place->domain);
    nvt_heap_clear(place);
    if (is_known)
        record_named(domain, &said, NULL, telling->time);
}

static void tell_heap(struct nvt_heap_place *place, uint64_t number, void *context)
{
    const struct telling *telling = context;
    if (atomic_load(&place->is_gone)) {
        tell_end(place, number, NVT_HEAP_UNREGISTER, telling);
        return;
    }
    if (!is_to_tell(place, telling))
        return;
    const struct nvt_heap_said said = {NVT_HEAP_REGISTER, number, atomic_load(&place->address),
                                       atomic_load(&place->bytes)};
    record_named(atomic_load(&place->domain), &said, atomic_load(&place->name), telling->time);
}

/* One that there is. */
static void tell_here(struct nvt_heap_place *place, uint64_t number, const struct telling *telling)
{
    if (!is_to_tell(place, telling))
        return;
    nvtxDomainHandle_t domain = atomic_load(&place->domain);
    const struct nvtxStringRegistration *name = atomic_load(&place->name);
    struct nvt_heap_said said = {NVT_HEAP_ADD_REGION, atomic_load(&place->heap), number,
                                 atomic_load(&place->bytes)};
    record_named(domain, &said, NULL, telling->time);
    if (!name)
        return;
    said = (struct nvt_heap_said){.operation = NVT_HEAP_NAME_REGION, .address = number};
    record_named(domain, &said, name, telling->time);
}

static void tell_region(struct nvt_heap_place *place, uint64_t number, void *context)
{
    if (atomic_load(&place->is_gone))
        tell_end(place, number, NVT_HEAP_REMOVE_REGION, context);
    else
        tell_here(place, number, context);
}

static int is_recording(void)
{
    return !(nvt_dormant_watches && nvt_dormant_sleeps()) && nvt_capture_in_window() &&
           (nvt_capture_mode() == NVT_CAPTURE_ALL || atomic_load(&nvt_capture_opened));
}

void nvt_heaps_tell(void)
{
    struct nvt_heaps_state *state = atomic_load(&nvt_heaps_state);
    if (!state || !nvt_heaps_are_due() || !is_recording())
        return;
    struct nvt_thread *thread = nvt_thread_get();
    if (!thread || nvt_thread_busy(thread))
        return;
    uint64_t before = atomic_load(&state->opening);
    const uint64_t opening = nvt_heaps_opening() + 1;
    struct telling telling = telling_now();
    if (before == opening || !atomic_compare_exchange_strong(&state->opening, &before, opening))
        return;
    const int is_new = atomic_exchange(&state->recorder, telling.recorder) != telling.recorder;
    if (!atomic_exchange(&state->changed, 0) && !is_new)
        return;
    nvt_heap_each(&state->heaps, tell_heap, &telling);
    nvt_heap_each(&state->regions, tell_region, &telling);
    const struct nvt_heap_said said = {.operation = NVT_HEAP_TOLD,
                                       .bytes = atomic_load(&state->heaps.lost) +
                                                atomic_load(&state->regions.lost)};
    record_named(NULL, &said, NULL, telling.time);
}

/* --- keeping -------------------------------------------------------------------------------------- */

/* A name that lasts; NULL: there is none, or no room for it. */
static const struct nvtxStringRegistration *name_of(struct nvt_heaps_state *state, uint32_t type,
                                                    nvtxMessageValue_t message)
{
    char narrow[256] = "";
    const char *text = narrow;
    if (type == NVTX_MESSAGE_TYPE_REGISTERED)
        return (const struct nvtxStringRegistration *)message.registered;
    if (type == NVTX_MESSAGE_TYPE_ASCII && message.ascii)
        text = message.ascii;
    else if (type == NVTX_MESSAGE_TYPE_UNICODE && message.unicode)
        nvt_utf8(narrow, sizeof(narrow), message.unicode);
    if (!*text)
        return NULL;
    const struct nvtxStringRegistration *known = nvt_registry_known(text);
    const size_t bytes = sizeof(*known) + strnlen(text, NVT_STRING_MAX);
    if (known || atomic_fetch_add(&state->names, bytes) + bytes <= NVT_LATE_MOST)
        return known ? known : nvt_registry_string(text);
    atomic_fetch_sub(&state->names, bytes);
    return NULL;
}

/* Who changes something, and whether that is recorded: by whom, 0: it is not. */
struct change {
    struct nvt_heaps_state *state;
    const struct nvt_heap_said *said;
    uint64_t recorder;
};

static void note_change(const struct change *change)
{
    if (!change->recorder)
        atomic_store(&change->state->changed, 1);
}

/* What was at that place is over. */
static void end_place(struct nvt_heap_place *place, const struct change *change)
{
    note_change(change);
    if (!change->recorder && atomic_load(&place->told))
        atomic_store(&place->is_gone, 1);
    else
        nvt_heap_clear(place);
}

static void end_of_heap(struct nvt_heap_place *place, uint64_t number, void *context)
{
    const struct change *change = context;
    (void)number;
    if (atomic_load(&place->heap) == change->said->heap && !atomic_load(&place->is_gone))
        end_place(place, change);
}

/* A region is there that was not told: it is before anything is said of it. NULL: it is unknown. */
static struct nvt_heap_place *known_region(const struct change *change)
{
    struct nvt_heap_place *place = nvt_heap_find(&change->state->regions, change->said->address);
    if (!place || atomic_load(&place->is_gone))
        return NULL;
    if (change->recorder) {
        const struct telling telling = telling_now();
        tell_here(place, change->said->address, &telling);
    }
    return place;
}

/* Who knows of what a change leaves, of what `told` knew before. */
static uint64_t told_behind(uint64_t told, const struct change *change)
{
    if (change->recorder)
        return change->recorder;
    return told ? told | NVT_HEAP_CHANGED : 0;
}

static void put(struct nvt_heap_table *table, uint64_t number, const struct change *change,
                nvtxDomainHandle_t domain, const struct nvtxStringRegistration *name)
{
    const struct nvt_heap_said *said = change->said;
    const struct nvt_heap_place *before = nvt_heap_find(table, number);
    const uint64_t told = before ? atomic_load(&before->told) : 0;
    const struct nvt_heap_place values = {.told = told_behind(told, change),
                                          .heap = said->heap,
                                          .bytes = said->bytes,
                                          .address = said->address,
                                          .domain = domain,
                                          .name = name};
    note_change(change);
    nvt_heap_put(table, number, &values);
}

static void alter(struct nvt_heap_place *place, const struct change *change)
{
    note_change(change);
    atomic_store(&place->told, told_behind(atomic_load(&place->told), change));
}

static void keep(struct change *change, nvtxDomainHandle_t domain, uint32_t type,
                 nvtxMessageValue_t message)
{
    const struct nvt_heap_said *said = change->said;
    struct nvt_heaps_state *state = change->state;
    struct nvt_heap_place *place = NULL;
    switch (said->operation) {
    case NVT_HEAP_REGISTER:
        put(&state->heaps, said->heap, change, domain, name_of(state, type, message));
        break;
    case NVT_HEAP_ADD_REGION:
        put(&state->regions, said->address, change, domain, NULL);
        break;
    case NVT_HEAP_UNREGISTER:
    case NVT_HEAP_RESET:
        nvt_heap_each(&state->regions, end_of_heap, change);
        if (said->operation == NVT_HEAP_UNREGISTER)
            place = nvt_heap_find(&state->heaps, said->heap);
        if (place)
            end_place(place, change);
        break;
    case NVT_HEAP_RESIZE_REGION:
        place = known_region(change);
        if (place) {
            atomic_store(&place->bytes, said->bytes);
            alter(place, change);
        }
        break;
    case NVT_HEAP_REMOVE_REGION:
        place = known_region(change);
        if (place)
            end_place(place, change);
        else if (atomic_load(&state->regions.lost))
            atomic_fetch_sub(&state->regions.lost, 1); /* one of these, as a rule */
        break;
    default: /* NVT_HEAP_NAME_REGION */
        place = known_region(change);
        if (place) {
            atomic_store(&place->name, name_of(state, type, message));
            alter(place, change);
        }
        break;
    }
}

void nvt_heaps_take(nvtxDomainHandle_t domain, const struct nvt_heap_said *said,
                    uint32_t message_type, nvtxMessageValue_t message)
{
    const int is_left_out = (nvt_dormant_watches && nvt_dormant_skips_event()) || !is_recording();
    struct change change = {.state = state_of(), .said = said};
    if (!is_left_out) {
        nvt_heaps_tell();
        change.recorder = telling_now().recorder;
    }
    if (change.state)
        keep(&change, domain, message_type, message);
    if (!is_left_out)
        nvt_heaps_record(domain, said, message_type, message, 0);
}
