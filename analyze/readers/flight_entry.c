/* An entry of a flight recorder's dump as a range. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/buffer.h"
#include "../../lib/count_of.h"
#include "../../lib/json.h"
#include "flight.h"
#include "pickle_text.h"

/* Bytes of the stack that are kept, and of sizes. */
enum { STACK = 600, SIZES = 120 };

/* No later than 127 years behind the first call. */
#define LONGEST INT64_C(4000000000000000000)

static struct nvt_pickle_text member(const struct nvt_flight *flight, uint32_t dict,
                                     const char *key)
{
    return nvt_pickle_member(&flight->pickle, dict, key);
}

/* A moment on the trace's axis; 0 where it is none. */
static int64_t time_of(const struct nvt_flight *flight, uint32_t entry, const char *key)
{
    const int64_t time = nvt_pickle_integer(&flight->pickle, entry, key, 0);
    if (time <= 0)
        return 0;
    const uint64_t since = (uint64_t)time - (uint64_t)flight->first;
    return time < flight->first ? 0 : since > (uint64_t)LONGEST ? LONGEST : (int64_t)since;
}

/* --- what an entry says --- */

/* "[4, 8] Float, [2] Int" */
static void put_sizes(struct nvt_flight *flight, uint32_t entry, const char *sizes,
                      const char *types, struct nvt_buffer *out)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, nvt_pickle_find(pickle, entry, sizes));
    struct nvt_pickle_walk along = nvt_pickle_walk(pickle, nvt_pickle_find(pickle, entry, types));
    uint32_t size, type, extent;
    while (out->size < SIZES && nvt_pickle_next(pickle, &walk, &size)) {
        struct nvt_pickle_walk extents = nvt_pickle_walk(pickle, size);
        const char *between = "";
        (void)nvt_buffer_printf(out, "%s[", out->size ? ", " : "");
        while (out->size < SIZES && nvt_pickle_next(pickle, &extents, &extent)) {
            if (nvt_pickle_kind(pickle, extent) == NVT_PICKLE_INT)
                (void)nvt_buffer_printf(out, "%s%" PRId64, between,
                                        pickle->values[extent].is.integer);
            between = ", ";
        }
        (void)nvt_buffer_printf(out, "]");
        if (nvt_pickle_next(pickle, &along, &type)) {
            const struct nvt_pickle_text name = nvt_pickle_text(pickle, type);
            (void)nvt_buffer_printf(out, " %.*s", (int)(name.size > 20 ? 20 : name.size), name.at);
        }
    }
    (void)nvt_buffer_append(out, "", 1);
}

/* Python's functions, but those by which torch calls itself. */
static int is_of_program(struct nvt_pickle_text file)
{
    static const char *const own[] = {"/torch/distributed/", "/torch/nn/",    "/torch/autograd/",
                                      "/torch/utils/",       "/torch/_",      "/torch/amp/",
                                      "/torch/optim/",       "/torch/fx/",    "/torch/cuda/",
                                      "/threading.py",       "/contextlib.py"};
    if (!nvt_pickle_is_python(file))
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(own); i++)
        if (nvt_pickle_text_has(file, own[i]))
            return 0;
    return 1;
}

/* "step (train.py:12) < main (train.py:80)" of the program's own functions, or of all where it has none. */
static int put_stack(struct nvt_flight *flight, uint32_t frames, int all, struct nvt_buffer *out)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(&flight->pickle, frames);
    uint32_t frame;
    while (out->size < STACK && nvt_pickle_next(&flight->pickle, &walk, &frame)) {
        struct nvt_pickle_text name = member(flight, frame, "name"),
                               file = member(flight, frame, "filename");
        const int64_t line = nvt_pickle_integer(&flight->pickle, frame, "line", 0);
        if (nvt_flight_take_room(flight))
            return -1;
        if ((!all && !is_of_program(file)) || !name.size)
            continue;
        file = nvt_pickle_base(file);
        (void)nvt_buffer_printf(out, "%s%.*s (%.*s:%" PRId64 ")", out->size ? " < " : "",
                                (int)(name.size > 100 ? 100 : name.size), name.at,
                                (int)(file.size > 100 ? 100 : file.size), file.at, line);
    }
    if (!all && !out->size)
        return put_stack(flight, frames, 1, out);
    return nvt_buffer_append(out, "", 1) ? nvt_flight_no_memory(flight) : 0;
}

/* "nccl:send 1->2": the library, the operation and, of a message, ranks of the group. */
struct said {
    char library[24], operation[64];
    int64_t from, to; /* -1: it is no message */
};

/* "1->2", "3<-0", "3<-?" of any sender. */
static void read_ends(const char *text, struct said *said)
{
    char *arrow, *end;
    const long long left = strtoll(text, &arrow, 10);
    const int is_to = !strncmp(arrow, "->", 2), is_from = !strncmp(arrow, "<-", 2);
    if (arrow == text || (!is_to && !is_from))
        return;
    const long long right = strtoll(arrow + 2, &end, 10);
    if (end == arrow + 2)
        return;
    said->from = is_to ? left : right;
    said->to = is_to ? right : left;
}

static struct said read_name(struct nvt_pickle_text name)
{
    struct said said = {.library = "", .from = -1, .to = -1};
    char text[160];
    snprintf(text, sizeof(text), "%.*s", (int)(name.size > 150 ? 150 : name.size), name.at);
    const char *colon = strrchr(text, ':'), *operation = colon ? colon + 1 : text;
    if (colon)
        snprintf(said.library, sizeof(said.library), "%.*s", (int)(colon - text), text);
    const char *space = strchr(operation, ' ');
    snprintf(said.operation, sizeof(said.operation), "%.*s", space ? (int)(space - operation) : 60,
             operation);
    if (space)
        read_ends(space + 1, &said);
    return said;
}

/* The libraries that know when a collective of a device began and ended; others note only that it did. */
static int has_states(const char *library)
{
    return strstr(library, "ccl") != NULL;
}

static const char *state_of(const struct nvt_flight *flight, uint32_t entry, const char *library,
                            int64_t is_retired)
{
    const uint32_t state = nvt_pickle_find(&flight->pickle, entry, "state");
    if (nvt_pickle_is(&flight->pickle, state, "completed"))
        return "completed";
    if (is_retired > 0 && !has_states(library))
        return "ended";
    return nvt_pickle_is(&flight->pickle, state, "started") ? "started" : "scheduled";
}

static void copy(struct nvt_flight *flight, uint32_t value, char *out, size_t size)
{
    const struct nvt_pickle_text text = nvt_pickle_text(&flight->pickle, value);
    snprintf(out, size, "%.*s", (int)(text.size < size ? text.size : size - 1), text.at);
}

/* A group's name and description; before PyTorch 2.4 its name alone, or its number. */
static void put_group(struct nvt_flight *flight, uint32_t entry, struct nvt_json *json)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    const uint32_t group = nvt_pickle_find(pickle, entry, "process_group");
    struct nvt_pickle_walk walk = nvt_pickle_walk(pickle, group);
    char name[128] = "", purpose[128] = "";
    uint32_t item;
    if (nvt_pickle_kind(pickle, group) == NVT_PICKLE_LIST) {
        if (nvt_pickle_next(pickle, &walk, &item))
            copy(flight, item, name, sizeof(name));
        if (nvt_pickle_next(pickle, &walk, &item))
            copy(flight, item, purpose, sizeof(purpose));
    } else
        copy(flight, group, name, sizeof(name));
    if (!*name)
        snprintf(name, sizeof(name), "%" PRId64, nvt_pickle_integer(pickle, entry, "pg_id", 0));
    nvt_json_text(json, "group", name);
    nvt_json_text(json, "purpose", purpose);
}

/* What the payload has, as model/flight_payload.h lists it. 0, or -1 with err. */
static int put_payload(struct nvt_flight *flight, uint32_t entry, const struct said *said,
                       const char *state, struct nvt_buffer *out)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    const int is_message = said->from >= 0 || nvt_pickle_integer(pickle, entry, "is_p2p", 0) > 0;
    const int64_t older = nvt_pickle_integer(pickle, entry, "seq_id", 0);
    struct nvt_buffer given = {0}, taken = {0}, stack = {0};
    struct nvt_json json;
    put_sizes(flight, entry, "input_sizes", "input_dtypes", &given);
    put_sizes(flight, entry, "output_sizes", "output_dtypes", &taken);
    int status = put_stack(flight, nvt_pickle_find(pickle, entry, "frames"), 0, &stack);
    nvt_json_begin(&json, out);
    put_group(flight, entry, &json);
    nvt_json_integer(
        &json, "sequence",
        nvt_pickle_integer(pickle, entry, is_message ? "p2p_seq_id" : "collective_seq_id", older));
    nvt_json_text(&json, "state", state);
    nvt_json_text(&json, "library", said->library);
    if (is_message) {
        nvt_json_integer(&json, "from", said->from);
        nvt_json_integer(&json, "to", said->to);
    }
    nvt_json_text(&json, "given", given.data ? (const char *)given.data : "");
    nvt_json_text(&json, "taken", taken.data ? (const char *)taken.data : "");
    if (nvt_pickle_integer(pickle, entry, "retired", 0) > 0 && strcmp(state, "completed") != 0 &&
        strcmp(state, "ended") != 0)
        nvt_json_integer(&json, "timed_out", 1);
    nvt_json_integer(&json, "timeout_ms", nvt_pickle_integer(pickle, entry, "timeout_ms", 0));
    if (!status && stack.size > 1)
        nvt_json_text(&json, "stack", (const char *)stack.data);
    if (!status && (nvt_json_end(&json) || !given.data || !taken.data))
        status = nvt_flight_no_memory(flight);
    nvt_buffer_free(&given);
    nvt_buffer_free(&taken);
    nvt_buffer_free(&stack);
    return status;
}

/* Since when it is numbered differently, a thread's number is a text. */
static uint32_t thread_of(const struct nvt_flight *flight, uint32_t entry)
{
    const struct nvt_pickle_text id = member(flight, entry, "thread_id");
    char digits[32];
    snprintf(digits, sizeof(digits), "%.*s", (int)(id.size > 30 ? 30 : id.size), id.at);
    const uint32_t thread =
        nvt_trace_thread(flight->trace, flight->process, strtoll(digits, NULL, 10));
    const uint32_t name =
        nvt_flight_text(flight, nvt_pickle_find(&flight->pickle, entry, "thread_name"));
    if (thread == NVT_NONE || name == NVT_NO_STRING)
        return NVT_NONE;
    flight->trace->threads.events[thread]++;
    if (!flight->trace->threads.name[thread])
        flight->trace->threads.name[thread] = name;
    return thread;
}

static int add_entry(struct nvt_flight *flight, uint32_t entry)
{
    const struct said said = read_name(member(flight, entry, "profiling_name"));
    const char *state = state_of(flight, entry, said.library,
                                 nvt_pickle_integer(&flight->pickle, entry, "retired", 0));
    const int has_ended = !strcmp(state, "completed") || !strcmp(state, "ended");
    struct nvt_buffer payload = {0};
    struct nvt_range row = {.start = time_of(flight, entry, "time_created_ns"),
                            .end = time_of(flight, entry, "time_discovered_completed_ns"),
                            .thread = thread_of(flight, entry),
                            .domain = flight->domain,
                            .style = NVT_START_END,
                            .flags = NVT_RANGE_HAS_PAYLOAD};
    int status = put_payload(flight, entry, &said, state, &payload);
    if (!status) {
        if (!has_ended || !row.end)
            row.flags |= NVT_RANGE_UNCLOSED;
        flight->unended += has_ended && !row.end;
        if (row.end < row.start)
            row.end = row.start;
        flight->last = row.end > flight->last ? row.end : flight->last;
        row.end_thread = row.thread;
        row.name = nvt_strings_add_text(flight->trace->strings,
                                        *said.operation ? said.operation : "[unnamed]");
        row.payload = nvt_strings_add(flight->trace->strings, (const char *)payload.data,
                                      payload.size - 1); /* without its line feed */
        status = row.thread == NVT_NONE || row.name == NVT_NO_STRING ||
                         row.payload == NVT_NO_STRING ||
                         nvt_range_add(flight->trace, &row) == NVT_NONE
                     ? nvt_flight_no_memory(flight)
                     : 0;
    }
    nvt_buffer_free(&payload);
    return status;
}

int nvt_flight_entries(struct nvt_flight *flight, uint32_t entries)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(&flight->pickle, entries);
    uint32_t entry;
    for (uint64_t number = 1; nvt_pickle_next(&flight->pickle, &walk, &entry); number++) {
        if (nvt_pickle_kind(&flight->pickle, entry) != NVT_PICKLE_DICT)
            return nvt_fail_at(flight->err, flight->path, -1,
                               "is a damaged dump: entry %" PRIu64 " is no dict", number);
        if (nvt_flight_take_room(flight) || add_entry(flight, entry))
            return -1;
    }
    return 0;
}
