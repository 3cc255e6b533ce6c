#include "flight.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../../lib/buffer.h"
#include "../../lib/collective_payload.h"
#include "../../lib/date.h"
#include "../../lib/rank_text.h"
#include "../../lib/read_file.h"
#include "../model/flight_payload.h"
#include "reader.h"

/* Entries and frames: each is looked at twice, and takes more than a byte. */
#define ROOM_PER_BYTE 2

uint32_t nvt_flight_text(const struct nvt_flight *flight, uint32_t value)
{
    if (nvt_pickle_kind(&flight->pickle, value) != NVT_PICKLE_TEXT)
        return 0;
    return nvt_strings_add(flight->trace->strings, flight->pickle.values[value].is.text,
                           flight->pickle.values[value].size);
}

/* --- groups --- */

/* "0,1,8" of "[0, 1, 8]", and how many; NVT_NO_STRING when out of memory. */
static uint32_t members_of(const struct nvt_flight *flight, uint32_t value, uint32_t *count)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    *count = 0;
    if (nvt_pickle_kind(pickle, value) != NVT_PICKLE_TEXT)
        return 0;
    const char *text = pickle->values[value].is.text;
    const size_t size = pickle->values[value].size;
    char *members = malloc(size + 1);
    size_t length = 0;
    for (size_t i = 0; members && i < size; i++) {
        const int is_digit = isdigit((unsigned char)text[i]);
        if (is_digit || text[i] == ',')
            members[length++] = text[i];
        *count += is_digit && (!i || !isdigit((unsigned char)text[i - 1]));
    }
    const uint32_t id =
        members ? nvt_strings_add(flight->trace->strings, members, length) : NVT_NO_STRING;
    free(members);
    return id;
}

/* A backend may put all its groups under one empty name: then none of them is known. */
static int read_groups(struct nvt_flight *flight)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    struct nvt_pickle_walk walk =
        nvt_pickle_walk(pickle, nvt_pickle_find(pickle, pickle->root, "pg_config"));
    uint32_t key, group;
    while (nvt_pickle_next(pickle, &walk, &key) && nvt_pickle_next(pickle, &walk, &group)) {
        struct nvt_collective row = {
            .group = nvt_flight_text(flight, key),
            .purpose = nvt_flight_text(flight, nvt_pickle_find(pickle, group, "desc"))};
        row.members = members_of(flight, nvt_pickle_find(pickle, group, "ranks"), &row.ranks);
        if (nvt_flight_take_room(flight))
            return -1;
        if (!row.group || !row.members)
            continue;
        if (row.group == NVT_NO_STRING || row.purpose == NVT_NO_STRING ||
            row.members == NVT_NO_STRING || nvt_collective_add(flight->trace, &row) == NVT_NONE)
            return nvt_flight_no_memory(flight);
    }
    return 0;
}

/* --- what is known of the dump --- */

/* PyTorch appends the rank to a name that the user chooses. Where that has "rank" in it, all know where to look. */
static uint32_t rank_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strchr(base, '.');
    const char *end = dot && dot > base ? dot : base + strlen(base), *digits = end;
    while (digits > base && isdigit((unsigned char)digits[-1]))
        digits--;
    return strcasestr(base, "rank") || digits == end || end - digits > 8
               ? NVT_NONE
               : (uint32_t)strtoul(digits, NULL, 10);
}

static int has_rank_in_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return nvt_rank_in_text(slash ? slash + 1 : path) != NVT_NONE;
}

/* The first call. */
static int find_first(struct nvt_flight *flight, uint32_t entries)
{
    struct nvt_pickle_walk walk = nvt_pickle_walk(&flight->pickle, entries);
    uint32_t entry;
    flight->first = INT64_MAX;
    while (nvt_pickle_next(&flight->pickle, &walk, &entry)) {
        const int64_t time = nvt_pickle_integer(&flight->pickle, entry, "time_created_ns", 0);
        if (nvt_flight_take_room(flight))
            return -1;
        if (time > 0 && time < flight->first)
            flight->first = time;
    }
    if (flight->first == INT64_MAX)
        flight->first = 0;
    return 0;
}

/* The file's last change, where it is a file. */
static int64_t written_ns(const char *path)
{
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode) || status.st_mtim.tv_sec <= 0 ||
        status.st_mtim.tv_sec > INT64_MAX / 2000000000)
        return 0;
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

static int set_facts(const struct nvt_flight *flight)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    struct nvt_trace *trace = flight->trace;
    const uint32_t version =
        nvt_flight_text(flight, nvt_pickle_find(pickle, pickle->root, "version"));
    const uint32_t library =
        nvt_flight_text(flight, nvt_pickle_find(pickle, pickle->root, "comm_lib_version"));
    char written[32], date[NVT_DATE_SIZE] = "";
    const int64_t written_at = written_ns(flight->path);
    snprintf(written, sizeof(written), "%" PRId64, written_at);
    nvt_date((time_t)(flight->first / 1000000000), date);
    trace->origin_ns = flight->first;
    if (version == NVT_NO_STRING || library == NVT_NO_STRING ||
        nvt_trace_set_meta(trace, NVT_FLIGHT_FACT,
                           version ? nvt_name(trace, version) : "unknown version") ||
        (library && nvt_trace_set_meta(trace, "NCCL", nvt_name(trace, library))) ||
        (flight->first && *date && nvt_trace_set_meta(trace, "date", date)) ||
        (written_at && nvt_trace_set_meta(trace, NVT_FLIGHT_WRITTEN, written)))
        return nvt_flight_no_memory(flight);
    return 0;
}

/* What never ended goes on until whatever was noticed last. */
static void end_threads(const struct nvt_flight *flight)
{
    for (uint32_t i = 0; i < flight->trace->threads.count; i++)
        flight->trace->threads.last_ns[i] = flight->last;
    nvt_ranges_close(flight->trace);
}

static int read_dump(struct nvt_flight *flight)
{
    const struct nvt_pickle *pickle = &flight->pickle;
    struct nvt_trace *trace = flight->trace;
    const uint32_t entries = nvt_pickle_find(pickle, pickle->root, "entries");
    const enum nvt_pickle_kind kind = nvt_pickle_kind(pickle, entries);
    if (nvt_pickle_kind(pickle, pickle->root) != NVT_PICKLE_DICT ||
        (entries != NVT_PICKLE_MISSING && kind != NVT_PICKLE_LIST))
        return nvt_fail_at(flight->err, flight->path, -1,
                           "is no dump of PyTorch's flight recorder: it has no list of entries");
    flight->process = nvt_trace_process(trace, 0);
    flight->domain = flight->process == NVT_NONE
                         ? NVT_NONE
                         : nvt_trace_domain(trace, flight->process, NVT_COLLECTIVE_DOMAIN);
    if (flight->domain == NVT_NONE)
        return nvt_flight_no_memory(flight);
    trace->processes.rank[flight->process] = rank_of(trace->path);
    if (read_groups(flight) || find_first(flight, entries) || set_facts(flight) ||
        nvt_flight_entries(flight, entries))
        return -1;
    end_threads(flight);
    if (trace->processes.rank[flight->process] == NVT_NONE && !has_rank_in_name(flight->path))
        nvt_trace_note(trace, "which rank wrote this dump is unknown, so it is not compared with "
                              "others: name it as PyTorch does, with the rank at the end");
    if (entries == NVT_PICKLE_MISSING)
        nvt_trace_note(trace, "this dump was written without its collectives");
    if (flight->unended)
        nvt_trace_note(trace,
                       "%" PRIu64 " ended collectives have no end: their backend notes no times",
                       flight->unended);
    return 0;
}

static int is_json(const uint8_t *head, size_t size)
{
    size_t at = 0;
    while (at < size && isspace(head[at]))
        at++;
    return at < size && head[at] == '{';
}

static int read(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_flight flight = {.trace = trace, .path = path, .err = err};
    struct nvt_buffer bytes = {0};
    int status = nvt_read_file(path, SIZE_MAX, &bytes, err);
    if (!status && !nvt_is_pickle(bytes.data, bytes.size)) {
        bytes.size = 0;
        status = nvt_json_as_pickle(path, &bytes, err) ? nvt_error_in(err, path) : 0;
    }
    if (!status && nvt_pickle_read(&flight.pickle, bytes.data, bytes.size, err))
        status = nvt_error_in(err, path);
    flight.room = ROOM_PER_BYTE * (uint64_t)bytes.size;
    if (!status)
        status = read_dump(&flight);
    nvt_pickle_free(&flight.pickle);
    nvt_buffer_free(&bytes);
    return status;
}

static int has(const uint8_t *head, size_t size, const char *text)
{
    return memmem(head, size, text, strlen(text)) != NULL;
}

/* By keys that an entry has, or, where there is none, the head of a dump. Profiles know of process groups, too. */
static int recognizes(const uint8_t *head, size_t size)
{
    return (nvt_is_pickle(head, size) || is_json(head, size)) && !has(head, size, "traceEvents") &&
           !has(head, size, "device_traces") &&
           ((has(head, size, "profiling_name") && has(head, size, "time_created_ns")) ||
            (has(head, size, "pg_config") && has(head, size, "pg_status")));
}

const struct nvt_reader nvt_reader_flight = {
    .name = "flight", .recorder = NVT_BY_PYTORCH, .recognizes = recognizes, .read = read};
