/*
 * Calls of the operating system's libraries that may block (nsys profile --trace=osrt), as far as they took long enough
 * to be written (--osrt-threshold). The table also has a thread's start and end, which are events of other classes.
 */
#ifdef HAVE_SQLITE
#include "nsys.h"

#include "../exports/export.h"

enum { OS_START, OS_END, OS_NAME, OS_TID, OS_CLASS, OS_RESULT };

static int os_call(struct nvt_nsys *reader, struct nvt_nsys_table *table)
{
    if (nvt_nsys_int(table, OS_CLASS, NVT_EXPORT_OS_CALL) != NVT_EXPORT_OS_CALL)
        return 0;
    struct nvt_os_call call = {.start = nvt_nsys_time(table, OS_START),
                               .end = nvt_nsys_time(table, OS_END),
                               .thread = nvt_nsys_thread(reader, table, OS_TID),
                               .name = nvt_nsys_name(reader, table, OS_NAME),
                               .result = nvt_nsys_int(table, OS_RESULT, 0)};
    if (call.thread == NVT_NONE || call.name == NVT_NO_STRING)
        return -1;
    return nvt_os_call_add(reader->trace, &call) == NVT_NONE ? -1 : 0;
}

int nvt_nsys_read_os(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec calls = {
        "OSRT_API",
        NULL,
        3,
        {"start", "end", "nameId", "globalTid", "eventClass", "returnValue"},
        os_call};
    return nvt_nsys_read(reader, &calls);
}
#endif
