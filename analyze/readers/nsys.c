#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/count_of.h"

static int recognizes(const uint8_t *head, size_t size)
{
    return size >= 16 && !memcmp(head, "SQLite format 3", 16);
}

#ifdef HAVE_SQLITE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "nsys_stacks.h"
#include "spool.h"

enum { ID, VALUE, PRIORITY, OWN_RANK = PRIORITY, OWN_LAUNCHER };

static int string(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t text = nvt_nsys_text(reader, table, VALUE);
    if (text == NVT_NO_STRING)
        return -1;
    return nvt_map_set(&reader->strings, (uint64_t)nvt_nsys_int(table, ID, 0), text);
}

static int process_name(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t process = nvt_map_get(&reader->processes, (uint64_t)nvt_nsys_int(table, ID, 0) >> 24);
    if (process == NVT_MAP_NONE)
        return 0;
    uint32_t name = nvt_nsys_text(reader, table, VALUE);
    reader->trace->processes.name[process] = name;
    if (!nvt_nsys_is_null(table, OWN_RANK))
        reader->trace->processes.rank[process] = nvt_nsys_u32(table, OWN_RANK, NVT_NONE);
    reader->trace->processes.is_launcher[process] = nvt_nsys_int(table, OWN_LAUNCHER, 0) == 1;
    return name == NVT_NO_STRING ? -1 : 0;
}

static int thread_name(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    uint32_t thread = nvt_map_get(&reader->threads, (uint64_t)nvt_nsys_int(table, ID, 0));
    if (thread == NVT_MAP_NONE)
        return 0;
    uint32_t name = nvt_nsys_name(reader, table, VALUE);
    struct nvt_threads *threads = &reader->trace->threads;
    threads->name[thread] = name;
    int64_t priority = nvt_nsys_int(table, PRIORITY, INT64_MIN);
    threads->has_priority[thread] = priority >= INT32_MIN && priority <= INT32_MAX;
    threads->priority[thread] = threads->has_priority[thread] ? (int32_t)priority : 0;
    return name == NVT_NO_STRING ? -1 : 0;
}

static const struct nvt_nsys_spec strings = {"StringIds", NULL, 2, {"id", "value"}, string};

/* nsys lists every process and thread of the machine. These are read last, and name those that did
 * something. */
static const struct nvt_nsys_spec names[] = {
    {"PROCESSES", NULL, 2, {"globalPid", "name", "nvtallyRank", "nvtallyLauncher"}, process_name},
    {"ThreadNames", NULL, 2, {"globalTid", "nameId", "priority"}, thread_name},
};

/* A copy of what came through a pipe (spool.h) has no name for SQLite, which follows links to their
 * ends: it is mapped into memory. */
static int map_copy(struct nvt_nsys *reader, int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) || status.st_size <= 0)
        return SQLITE_CANTOPEN;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return SQLITE_NOMEM;
    reader->mapped = bytes;
    reader->mapped_size = (size_t)status.st_size;
    return SQLITE_OK;
}

static int open_copy(const struct nvt_nsys *reader, sqlite3 **db)
{
    const sqlite3_int64 size = (sqlite3_int64)reader->mapped_size;
    const int opened =
        sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    return opened == SQLITE_OK ? sqlite3_deserialize(*db, "main", reader->mapped, size, size,
                                                     SQLITE_DESERIALIZE_READONLY)
                               : opened;
}

static int open_path(const struct nvt_nsys *reader, sqlite3 **db)
{
    /* As a URI, in which no byte of the path has a meaning of its own; immutable: no locks, no
     * journal or other file beside it is looked at. */
    size_t length = strlen(reader->path);
    char *uri = malloc(length * 3 + 64);
    if (!uri)
        return SQLITE_NOMEM;
    char *at = uri + sprintf(uri, "file:%s", *reader->path == '/' ? "//" : "");
    for (size_t i = 0; i < length; i++)
        at += sprintf(at, reader->path[i] == '/' ? "%c" : "%%%02X", (unsigned char)reader->path[i]);
    sprintf(at, "?mode=ro&immutable=1");
    int status = sqlite3_open_v2(
        uri, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    return status;
}

int nvt_nsys_connect(const struct nvt_nsys *reader, sqlite3 **db)
{
    const int status = reader->mapped ? open_copy(reader, db) : open_path(reader, db);
    if (status != SQLITE_OK)
        return status;
    sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(*db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(*db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    if (reader->length_most)
        sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, reader->length_most);
    return SQLITE_OK;
}

static int open_file(struct nvt_nsys *reader)
{
    const int descriptor = nvt_spool_descriptor(reader->path);
    int status = descriptor < 0 ? SQLITE_OK : map_copy(reader, descriptor);
    if (status == SQLITE_OK)
        status = nvt_nsys_connect(reader, &reader->db);
    if (status != SQLITE_OK)
        return nvt_fail_at(reader->err, reader->path, -1, "cannot be opened: %s",
                           reader->db ? sqlite3_errmsg(reader->db) : "out of memory");
    return 0;
}

static uint32_t big_endian(const uint8_t *bytes, int count)
{
    uint32_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/*
 * The size that the file says it has, 0 when it does not: pages of bytes 16 … 17 (1 means 65536),
 * as many as bytes 28 … 31, if bytes 24 … 27 and 92 … 95 agree (sqlite.org/fileformat.html, 1.3).
 * SQLite itself takes what is missing of the last page for zeros.
 */
static uint64_t stated_size(const uint8_t *header)
{
    uint32_t page = big_endian(header + 16, 2);
    if (big_endian(header + 24, 4) != big_endian(header + 92, 4))
        return 0;
    return (uint64_t)big_endian(header + 28, 4) * (page == 1 ? 65536 : page);
}

/* What the file can hold: see NVT_NSYS_ROW_BYTES; UTF-16 text grows by half when it becomes UTF-8. */
static int measure(struct nvt_nsys *reader)
{
    struct stat status;
    uint8_t header[100] = {0};
    FILE *file = fopen(reader->path, "rbe");
    if (!file || fstat(fileno(file), &status)) {
        if (file)
            fclose(file);
        return nvt_fail_at(reader->err, reader->path, -1, "cannot be read");
    }
    size_t got = fread(header, 1, sizeof(header), file);
    fclose(file);
    uint64_t size = (uint64_t)status.st_size, stated = stated_size(header);
    if (got < sizeof(header) || size < stated)
        return nvt_fail_at(reader->err, reader->path, (int64_t)size,
                           "is cut: an SQLite file that should have %llu bytes",
                           (unsigned long long)stated);
    /* NVTX_EVENTS is read twice, and so may be tables of stacks. */
    reader->rows_left = size / NVT_NSYS_ROW_BYTES * 2;
    reader->text_left = size * 3;
    if (size < INT32_MAX - 4096) {
        reader->length_most = (int)size + 4096;
        sqlite3_limit(reader->db, SQLITE_LIMIT_LENGTH, reader->length_most);
    }
    reader->size = size;
    return 0;
}

/* Changes that SQLite has not put into the file, or that did not end: they lie beside it, and no other file is opened because of one
 * that may be a stranger's. */
static int note_changes(struct nvt_nsys *reader)
{
    static const struct {
        const char *ending, *says;
    } files[] = {{"-wal", "may have changes that are not in the file yet"},
                 {"-journal", "is of a change of the file that did not end"}};
    for (size_t i = 0; i < NVT_COUNT_OF(files) && !reader->mapped; i++) {
        struct stat status;
        char *path;
        if (asprintf(&path, "%s%s", reader->path, files[i].ending) < 0)
            return nvt_fail_at(reader->err, reader->path, -1, "out of memory");
        if (!stat(path, &status) && status.st_size > 0)
            nvt_trace_warn(
                reader->trace,
                "the file of that name with %s behind it %s: it was not read, so that rows "
                "may be missing (sqlite3 FILE 'PRAGMA journal_mode=DELETE' makes one file of "
                "both)",
                files[i].ending, files[i].says);
        free(path);
    }
    return 0;
}

int nvt_nsys_open(struct nvt_nsys *reader)
{
    return open_file(reader) || measure(reader) || note_changes(reader) ? -1 : 0;
}

void nvt_nsys_close(struct nvt_nsys *reader)
{
    for (size_t i = 0; i < NVT_NSYS_HELPERS; i++)
        sqlite3_close(reader->helpers[i]);
    sqlite3_close(reader->db);
    if (reader->mapped)
        munmap(reader->mapped, reader->mapped_size);
}

static int read_all(struct nvt_nsys *reader)
{
    if (nvt_nsys_open(reader) || nvt_nsys_refuse_foreign(reader) ||
        nvt_nsys_read(reader, &strings) || nvt_nsys_read_nvtx(reader) ||
        nvt_nsys_read_cuda(reader) || nvt_nsys_read_um(reader) || nvt_nsys_read_os(reader) ||
        nvt_nsys_read_mpi(reader) || nvt_nsys_read_samples(reader))
        return -1;
    if (!reader->known)
        return nvt_fail_at(reader->err, reader->path, -1,
                           "is an SQLite file, but not nsys's: it has none of the tables "
                           "StringIds, NVTX_EVENTS, CUPTI_ACTIVITY_KIND_KERNEL …");
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++)
        if (nvt_nsys_read(reader, &names[i]))
            return -1;
    if (nvt_nsys_read_facts(reader) || nvt_nsys_read_metrics(reader) ||
        nvt_nsys_note_unread(reader) || nvt_nsys_note_warnings(reader))
        return -1;
    nvt_ranges_close(reader->trace);
    if (reader->untimed)
        nvt_trace_note(reader->trace, NVT_UNTIMED_NOTE, (unsigned long long)reader->untimed);
    return 0;
}

int nvt_nsys_read_file(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    struct nvt_error own = NVT_ERROR_INIT;
    struct nvt_nsys reader = {.trace = trace, .path = path, .err = &own};
    int status = read_all(&reader);
    nvt_nsys_close(&reader);
    struct nvt_map *maps[] = {&reader.strings,     &reader.processes, &reader.threads,
                              &reader.domain_ids,  &reader.domains,   &reader.categories,
                              &reader.gpus,        &reader.calls,     &reader.launched,
                              &reader.collectives, &reader.contexts,  &reader.metric_types,
                              &reader.metrics};
    for (size_t i = 0; i < NVT_COUNT_OF(maps); i++)
        nvt_map_free(maps[i]);
    free(reader.launches);
    free(reader.defined);
    nvt_buffer_free(&reader.words);
    nvt_nsys_stacks_free(&reader);
    nvt_os_names_free(&reader.os_names);
    nvt_recorded_events_free(&reader.events);
    if (status && err)
        *err = own;
    return status;
}

static int is_rocpd(const char *path)
{
    struct nvt_error ignored = NVT_ERROR_INIT;
    struct nvt_nsys reader = {.path = path, .err = &ignored};
    const int is = !open_file(&reader) && nvt_rocpd_holds(&reader);
    nvt_nsys_close(&reader);
    return is;
}

static int read_nsys(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    if (!is_rocpd(path))
        return nvt_nsys_read_file(path, trace, err);
    nvt_reader_state(trace, nvt_reader_rocpd.name);
    return nvt_reader_rocpd.read(path, trace, err);
}
#else
static int read_nsys(const char *path, struct nvt_trace *trace, struct nvt_error *err)
{
    (void)trace;
    return nvt_fail_at(err, path, -1,
                       "is an SQLite file, and this nvtally was built without SQLite "
                       "(libsqlite3-dev)");
}
#endif

const struct nvt_reader nvt_reader_nsys = {
    .name = "nsys", .recorder = NVT_BY_NSYS, .recognizes = recognizes, .read = read_nsys};
