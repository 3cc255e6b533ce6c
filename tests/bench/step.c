/*
 * step FILE: SQLite's own step loop over the columns that nvtally reads of an nsys export's events, each value taken: as little as who
 * reads it by SQLite needs. Prints how many rows.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

#include "../../lib/count_of.h"

static const char *const queries[] = {
    "SELECT eventType, start, end, globalTid, endGlobalTid, text, textId, domainId, category, "
    "color, jsonText, jsonTextId,"
    " int64Value, uint64Value, doubleValue, int32Value, uint32Value, floatValue FROM NVTX_EVENTS",
    "SELECT start, end, nameId, globalTid, correlationId, returnValue, eventClass, callchainId"
    " FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, end, deviceId, streamId, contextId, correlationId, globalPid, demangledName, "
    "shortName, gridX, gridY,"
    " gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, "
    "localMemoryTotal,"
    " graphId, graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL",
};

static uint64_t step(sqlite3 *db, const char *sql, int64_t *sum)
{
    sqlite3_stmt *statement = NULL;
    uint64_t rows = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    for (; statement && sqlite3_step(statement) == SQLITE_ROW; rows++)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            sqlite3_value *value = sqlite3_column_value(statement, i);
            if (sqlite3_value_type(value) == SQLITE_INTEGER)
                *sum += sqlite3_value_int64(value) & 0xff;
            else if (sqlite3_value_type(value) == SQLITE_TEXT)
                *sum += *sqlite3_column_text(statement, i);
        }
    sqlite3_finalize(statement);
    return rows;
}

int main(int argc, char **argv)
{
    sqlite3 *db = NULL;
    uint64_t rows = 0;
    int64_t sum = 0;
    if (argc < 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
        return 2;
    for (size_t i = 0; i < NVT_COUNT_OF(queries); i++)
        rows += step(db, queries[i], &sum);
    printf("%" PRIu64 " %" PRId64 "\n", rows, sum);
    sqlite3_close(db);
    return !rows;
}
