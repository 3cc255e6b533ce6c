/* Rows of nsys's SQLite exports, for scripts that make one (kit_make_export). */
#ifndef NVT_TESTS_NSYS_KIT_H
#define NVT_TESTS_NSYS_KIT_H

#ifdef HAVE_SQLITE
/* Threads 7 and 8 of process 5, thread 7 of process 6; ((1 << 24) + pid) << 24 | tid. */
#define P5  "281475060596736"
#define T57 "281475060596743"
#define T58 "281475060596744"
#define P6  "281475077373952"
#define T67 "281475077373959"

/* The table of strings. */
#define NSYS_STRINGS                                                                               \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"

/* The columns of schema 3.25, in its order. */
#define NVTX_2026                                                                                  \
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"   \
    " rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,"             \
    " endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,"                \
    " int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,"              \
    " floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);"

/* Tables as nsys 2020 and 2024 have them. */
#define RUNTIME_2020                                                                               \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,"    \
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
#define KERNEL_2020                                                                                \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"       \
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"              \
    " demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,"        \
    " gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"               \
    " staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryTotal INTEGER);"

#define OSRT_2024                                                                                  \
    "CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL,"                         \
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"                      \
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER,"                \
    " callchainId INTEGER NOT NULL);"
#endif

#endif
