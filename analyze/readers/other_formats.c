#include "other_formats.h"

#include <string.h>

#include "../../lib/count_of.h"
#include "wire.h"

#define NVT_OF_ROCPROF "is a table of rocprof's (CSV), which is not read: record with "

#define NVT_OF_LTTNG "is a trace of LTTng (CTF), which is not read: babeltrace2 prints it"
#define NVT_OF_ZLIB                                                                                \
    "is compressed by zlib, without a gzip header: unpack it first (pigz -dc, zlib-flate)"

static const struct {
    const char *magic;
    size_t size;
    const char *says;
} kinds[] = {
#define KIND(magic, says)                                                                          \
    {                                                                                              \
        magic, sizeof(magic) - 1, says                                                             \
    }
    KIND("version https://git-lfs.github.com/",
         "is a pointer of Git LFS to a file that was not fetched: git lfs pull"),
    KIND("/annex/objects/",
         "is a pointer of git-annex to a file that was not fetched: git annex get"),
    KIND("NVR\0",
         "is a report of Nsight Compute, which is not read: ncu --import FILE prints it; for "
         "times of the whole program use nsys profile or nvtally record"),
    KIND("PK\3\4", "is a ZIP archive: unpack it with unzip first"),
    KIND("\x28\xb5\x2f\xfd", "is compressed by zstd: unpack it with zstd -d first"),
    KIND("\xfd"
         "7zXZ",
         "is compressed by xz: unpack it with xz -d first"),
    KIND("BZh", "is compressed by bzip2: unpack it with bunzip2 first"),
    KIND("\x04\x22\x4d\x18", "is compressed by LZ4: unpack it with lz4 -d first"),
    KIND("7z\xbc\xaf", "is a 7-Zip archive: unpack it first"),
    KIND("PAR1", "is Parquet, which is not read: export SQLite (nsys export --type sqlite)"),
    KIND("ARROW1", "is Arrow, which is not read: export SQLite (nsys export --type sqlite)"),
    KIND("\x89HDF", "is HDF5, which is not read: export SQLite (nsys export --type sqlite)"),
    KIND("PERFILE2",
         "is a recording of perf, which is not read: perf report shows it; nvtally record "
         "--trace cpu samples as perf does"),
    KIND("tr\xfdP", "is a capture of Tracy, which is not read: tracy-csvexport prints it"),
    KIND("\x7f"
         "ELF",
         "is a program, not a trace: nvtally record -- FILE records one"),
    KIND("<!DOCTYPE html", "is a web page, not a trace (a download that failed?)"),
    KIND(
        "\xff\xfe",
        "is text in UTF-16 (PowerShell's > writes it): iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"),
    KIND("\xfe\xff", "is text in UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"),
    KIND("\"Kind\",\"Agent_Id\"", NVT_OF_ROCPROF "--output-format json or rocpd"),
    KIND("\"Domain\",\"Function\"", NVT_OF_ROCPROF "--output-format json or rocpd"),
    KIND("\"Index\",\"KernelName\"", NVT_OF_ROCPROF "--hip-trace, whose results.json is read"),
    KIND("Time (%),Total Time (ns)", "is a table of a report (CSV), not a trace"),
    KIND("packet {", "is a Perfetto trace as text: traceconv binary FILE makes a .pftrace of it"),
    KIND("# tracer:", "is text of the kernel's tracing (ftrace), which is not read"),
    KIND("/* CTF 1.8", NVT_OF_LTTNG),
    KIND("\xc1\x1f\xfc\xc1", NVT_OF_LTTNG),
    KIND("\x57\x1d\xd1\x75", NVT_OF_LTTNG),
    KIND("go 1.", "is an execution trace of Go, which is not read: go tool trace shows it"),
    KIND("\"ID\",\"Process ID\",\"Process Name\"",
         "is a table of Nsight Compute (CSV), not a trace: for times of the whole program use nsys "
         "profile or nvtally record"),
    KIND("timestamp, ", "is a table of nvidia-smi (CSV), not a trace: nvtally record --trace "
                        "machine samples power, clocks and load"),
    KIND("\x93NUMPY", "is an array of NumPy, not a trace"),
    KIND("HloModule ", "is a program of XLA (HLO), not a trace: its profile is an .xplane.pb"),
    KIND("\x78\x01", NVT_OF_ZLIB),
    KIND("\x78\x9c", NVT_OF_ZLIB),
    KIND("\x78\xda", NVT_OF_ZLIB),
    KIND("<html", "is a web page, not a trace (a download that failed?)"),
#undef KIND
};

static int is_blank(const uint8_t *head, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    return size && at == size;
}

/* Whether it is a message, or its beginning, of which each field is the same, as packets of Perfetto are. */
static int is_of_packets(const uint8_t *head, size_t size)
{
    struct nvt_wire rest = nvt_wire_of(head, size);
    struct nvt_wire_field packet;
    int count = 0;
    while (nvt_wire_next(&rest, &packet) > 0) {
        struct nvt_wire within = nvt_wire_in(&packet);
        struct nvt_wire_field field;
        if (packet.number != 1 || packet.type != NVT_WIRE_BYTES ||
            nvt_wire_next(&within, &field) <= 0)
            return 0;
        count++;
    }
    return count > 0;
}

const char *nvt_other_format(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < NVT_COUNT_OF(kinds); i++)
        if (size >= kinds[i].size && !memcmp(head, kinds[i].magic, kinds[i].size))
            return kinds[i].says;
    if (size > 12 && !memcmp(head + 8, "DUCK", 4))
        return "is a database of DuckDB, not a trace";
    if (size > 262 && !memcmp(head + 257, "ustar", 5))
        return "is a tar archive: unpack it with tar -xf first";
    /* A record of TensorBoard: 8 bytes of length, a checksum of 4, and a message whose text says the version. */
    if (size > 36 && memmem(head + 12, 24, "brain.Event:", 12))
        return "is a log of TensorBoard, which holds no trace: the profile lies in "
               "plugins/profile/*/*.xplane.pb";
    if (is_blank(head, size))
        return "is empty but for white space, not a trace";
    return is_of_packets(head, size)
               ? "holds Protocol Buffers, but no event that is known: a Perfetto trace of another "
                 "kind, or of another program"
               : NULL;
}

const char *nvt_other_json(const char *key, size_t size)
{
    static const struct {
        const char *key, *says;
    } documents[] = {
        {"$schema", "is a speedscope profile or another document with a schema: it "},
        {"timeDeltas", "is a CPU profile of Chrome or Node: it "},
        {"stringTable", "is a profile of Firefox, which is not read: it "},
        {"libs", "is a profile of Firefox, which is not read: it "},
        {"CudaEvent",
         "is an export of nsys as JSON, which is not read (nsys export --type sqlite): it "},
        {"NvtxEvent",
         "is an export of nsys as JSON, which is not read (nsys export --type sqlite): it "},
        {"Time (%)", "is a table of a report (JSON): it "},
        {"resourceSpans", "is an OpenTelemetry trace, which is not read: it "},
        {"nbformat", "is a notebook: it "},
    };
    for (size_t i = 0; i < NVT_COUNT_OF(documents); i++)
        if (strlen(documents[i].key) == size && !memcmp(documents[i].key, key, size))
            return documents[i].says;
    return NULL;
}

int nvt_is_rocprofv3_key(const char *key, size_t size)
{
    static const char own[] = "rocprofiler-sdk-tool";
    return size == sizeof(own) - 1 && !memcmp(key, own, size);
}
