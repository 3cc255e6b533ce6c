/*
 * Calls of the operating system's libraries that may block (nsys profile --trace=osrt), as far as they took long enough
 * to be written (--osrt-threshold). The table also has a thread's start and end, which are events of other classes. Of what a
 * call worked with there is only what it returned: of read, write and the like, bytes. Who called is there of those that took
 * longer still (--osrt-backtrace-threshold): OSRT_CALLCHAINS.
 */
#ifdef HAVE_SQLITE
#include "nsys_stacks.h"

#include "../model/interchange.h"

enum { OS_START, OS_END, OS_NAME, OS_TID, OS_CLASS, OS_RESULT, OS_CHAIN };

/* What a call returned, as bytes where it is that. Of fread it is items, whose size is not recorded. */
static uint64_t bytes_of(struct nvt_nsys *reader, uint32_t name, int64_t result)
{
    if (result <= 0)
        return 0;
    const struct nvt_os_call_info *call = nvt_os_names_find(&reader->os_names, reader->trace, name);
    int is_bytes = call && (call->result == NVT_OS_READS || call->result == NVT_OS_WRITES);
    return is_bytes ? (uint64_t)result : 0;
}

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
    if (nvt_nsys_is_untimed(call.start, call.end))
        return 1;
    call.bytes = bytes_of(reader, call.name, call.result);
    uint32_t row = nvt_os_call_add(reader->trace, &call);
    int64_t chain = nvt_nsys_int(table, OS_CHAIN, 0);
    return row == NVT_NONE || (chain && nvt_nsys_stacks_want(reader, chain, row)) ? -1 : 0;
}

int nvt_nsys_read_os(struct nvt_nsys *reader)
{
    static const struct nvt_nsys_spec calls = {
        "OSRT_API",
        NULL,
        3,
        {"start", "end", "nameId", "globalTid", "eventClass", "returnValue", "callchainId"},
        os_call};
    return nvt_nsys_read(reader, &calls) ||
                   nvt_nsys_stacks_read(reader, "OSRT_CALLCHAINS", reader->trace->os_calls.frame,
                                        NULL)
               ? -1
               : 0;
}
#endif
