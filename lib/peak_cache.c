#include "peak_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "count_of.h"
#include "create_file.h"
#include "folder.h"

#define PATH_ROOM 4096
#define LINE_ROOM 1024
#define FIELDS    12 /* the last, of products of int8, is not in lines of old: then it is not known */

/* 0, or -1 where there is no cache. */
static int find_file(char path[PATH_ROOM])
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"NVTALLY_CACHE", ""}, {"XDG_CACHE_HOME", "/nvtally"}, {"HOME", "/.cache/nvtally"}};
    for (size_t i = 0; i < NVT_COUNT_OF(places); i++) {
        const char *folder = getenv(places[i].variable);
        int length = folder && *folder == '/'
                         ? snprintf(path, PATH_ROOM, "%s%s/peaks.tsv", folder, places[i].below)
                         : -1;
        if (length >= 0)
            return length < PATH_ROOM ? 0 : -1;
        if (folder && !i) /* nothing is to be kept */
            return -1;
    }
    return -1;
}

/* The next of the fields between tabs, "" behind the last. */
static char *next_field(char **rest)
{
    char *field = strsep(rest, "\t\n");
    return field ? field : "";
}

/* 1, or 0 when it is no line of ours. The host's name goes to `host`. */
static int read_line(char *line, char *host, size_t size, struct nvt_cached_peak *kept)
{
    char *rest = line;
    size_t tabs = 0;
    for (const char *at = line; *at; at++)
        tabs += *at == '\t';
    if (tabs != FIELDS - 1 && tabs != FIELDS - 2)
        return 0;
    memset(kept, 0, sizeof(*kept));
    snprintf(host, size, "%s", next_field(&rest));
    snprintf(kept->backend.name, sizeof(kept->backend.name), "%s", next_field(&rest));
    snprintf(kept->backend.device, sizeof(kept->backend.device), "%s", next_field(&rest));
    snprintf(kept->backend.libraries, sizeof(kept->backend.libraries), "%s", next_field(&rest));
    kept->backend.threads = (int)strtol(next_field(&rest), NULL, 10);
    snprintf(kept->date, sizeof(kept->date), "%s", next_field(&rest));
    for (int i = NVT_FP32; i <= NVT_FP16; i++)
        kept->peak.flops[i] = strtod(next_field(&rest), NULL);
    kept->peak.bytes = strtod(next_field(&rest), NULL);
    kept->peak.int8 = strtod(next_field(&rest), NULL);
    return *kept->date != 0;
}

/* A text as a field has it. */
static const char *as_field(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text);
    for (char *at = out; *at; at++)
        *at = *at == '\t' || *at == '\n' ? ' ' : *at;
    return out;
}

static int is_same(const struct nvt_backend_facts *kept, const struct nvt_backend_facts *backend)
{
    char device[sizeof(backend->device)], libraries[sizeof(backend->libraries)];
    return !strcmp(kept->name, backend->name) && kept->threads == backend->threads &&
           !strcmp(kept->device, as_field(backend->device, device, sizeof(device))) &&
           !strcmp(kept->libraries, as_field(backend->libraries, libraries, sizeof(libraries)));
}

/* The lines of the file, one after the other. */
struct cache_lines {
    FILE *file;
    struct utsname system;
    const char *host; /* that is asked for, NULL: this machine */
    char line[LINE_ROOM];
    struct nvt_cached_peak peak; /* what it says */
    int is_ours;                 /* it is of that machine; the folder may be shared */
};

static void open_lines(struct cache_lines *lines, const char *host)
{
    char path[PATH_ROOM];
    uname(&lines->system);
    lines->host = host;
    lines->file = find_file(path) ? NULL : fopen(path, "re");
}

/* The next one that is a line of ours. 1, or 0 behind the last, which closes the file. */
static int next_line(struct cache_lines *lines)
{
    char host[sizeof(lines->system.nodename)], copy[LINE_ROOM];
    while (lines->file && fgets(lines->line, sizeof(lines->line), lines->file)) {
        memcpy(copy, lines->line, sizeof(copy));
        if (!read_line(copy, host, sizeof(host), &lines->peak))
            continue;
        lines->is_ours = !strcmp(host, lines->host ? lines->host : lines->system.nodename);
        return 1;
    }
    if (lines->file)
        fclose(lines->file);
    return 0;
}

int nvt_peak_cache_find(const struct nvt_backend_facts *backend, struct nvt_cached_peak *kept)
{
    struct cache_lines lines;
    int found = 0;
    for (open_lines(&lines, NULL); next_line(&lines);)
        if (!found && lines.is_ours && is_same(&lines.peak.backend, backend)) {
            *kept = lines.peak;
            found = 1;
        }
    return found;
}

size_t nvt_peak_cache_read(const char *host, struct nvt_cached_peak *items, size_t room)
{
    struct cache_lines lines;
    size_t count = 0;
    for (open_lines(&lines, host); next_line(&lines);)
        if (lines.is_ours && count < room)
            items[count++] = lines.peak;
    return count;
}

static void put_line(const struct nvt_backend_facts *backend, const struct nvt_peak *peak,
                     const struct utsname *system, FILE *out)
{
    char device[sizeof(backend->device)], libraries[sizeof(backend->libraries)];
    char date[NVT_DATE_SIZE];
    nvt_date(time(NULL), date);
    fprintf(out, "%s\t%s\t%s\t%s\t%d\t%s", system->nodename, backend->name,
            as_field(backend->device, device, sizeof(device)),
            as_field(backend->libraries, libraries, sizeof(libraries)), backend->threads, date);
    for (int i = NVT_FP32; i <= NVT_FP16; i++)
        fprintf(out, "\t%.6g", peak->flops[i]);
    fprintf(out, "\t%.6g\t%.6g\n", peak->bytes, peak->int8);
}

int nvt_peak_cache_put(const struct nvt_backend_facts *backend, const struct nvt_peak *peak,
                       struct nvt_error *err)
{
    char path[PATH_ROOM], fresh[PATH_ROOM + 16];
    struct cache_lines lines;
    if (find_file(path))
        return nvt_fail(err, "there is no folder to keep it in");
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    FILE *out = nvt_folder_make_above(path) ? NULL : nvt_create_stream(fresh);
    if (!out)
        return nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    for (open_lines(&lines, NULL); next_line(&lines);)
        if (!lines.is_ours || !is_same(&lines.peak.backend, backend))
            fputs(lines.line, out);
    put_line(backend, peak, &lines.system, out);
    int failed = ferror(out);
    failed |= fclose(out);
    if (!failed && !rename(fresh, path))
        return 0;
    nvt_fail_at(err, path, -1, "cannot be written: %s", strerror(errno));
    unlink(fresh);
    return -1;
}
