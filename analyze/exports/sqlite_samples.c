/*
 * Samples of what threads run in nsys's schema: COMPOSITE_EVENTS, a row a sample, and SAMPLING_CALLCHAINS, a row a function on its
 * stack. Only where there are some, as nsys takes the tables for a sign that it sampled. Beyond nsys: the column cpuNs, the
 * processor time that a sample stands for, as nsys has one period for all of them. A sample of which nobody looked for callers has
 * no method of unwinding, as in nsys; others have the method "Undefined", since the model does not know which it was.
 */
#ifdef HAVE_SQLITE
#include <inttypes.h>
#include <stdio.h>

#include "export.h"
#include "sqlite.h"

#define NO_METHOD 0
#define UNDEFINED 1000
#define RUNNING   1

static const char tables[] =
    "CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL,"
    " cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL,"
    " cpuNs INTEGER);"
    "CREATE TABLE ENUM_SAMPLING_THREAD_STATE (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);"
    "CREATE TABLE ENUM_STACK_UNWIND_METHOD (id INTEGER NOT NULL PRIMARY KEY, name TEXT,"
    " label TEXT);"
    "INSERT INTO ENUM_SAMPLING_THREAD_STATE VALUES (0, 'Unknown', 'Unknown'),"
    " (1, 'Running', 'Running');"
    "INSERT INTO ENUM_STACK_UNWIND_METHOD VALUES (0, 'Unknown', 'Unknown'),"
    " (1000, 'Undefined', 'Undefined');";

/* Cycles: 1, as nsys has it where a clock was the trigger. */
static int put_sample(struct nvt_sql *sql, uint32_t i)
{
    const struct nvt_cpu_samples *samples = &sql->trace->cpu_samples;
    return nvt_sql_put(sql, (int64_t)i + 1, samples->time[i], NVT_NULL, RUNNING,
                       nvt_sql_thread(sql, samples->thread[i]), 1, samples->cpu_ns[i]);
}

static int put_sqlite_samples_stacks(struct nvt_sql *sql)
{
    const struct nvt_cpu_samples *samples = &sql->trace->cpu_samples;
    if (nvt_sql_stacks(sql, "SAMPLING_CALLCHAINS"))
        return -1;
    for (uint32_t i = 0; i < samples->count; i++) {
        int is_alone = samples->flags[i] & NVT_CPU_SAMPLE_NO_CALLERS;
        if (nvt_sql_stack(sql, (int64_t)i + 1, samples->frame[i], is_alone ? NO_METHOD : UNDEFINED,
                          is_alone ? 1 : NVT_EXPORT_STACK_DEPTH))
            return -1;
    }
    return 0;
}

/* The period is there if all samples have the same. */
static int put_settings(struct nvt_sql *sql)
{
    const struct nvt_cpu_samples *samples = &sql->trace->cpu_samples;
    char period[24];
    uint32_t same = 0;
    while (same < samples->count && samples->cpu_ns[same] == samples->cpu_ns[0])
        same++;
    snprintf(period, sizeof(period), "%" PRId64, samples->cpu_ns[0]);
    if (nvt_sql_prepare(sql, "META_DATA_CAPTURE", 2) ||
        nvt_sql_put(sql, "LINUX_PERF_OPTIONS:COLLECTION_MODE", "ProcessTree"))
        return -1;
    if (same < samples->count || samples->cpu_ns[0] <= 0)
        return 0;
    return nvt_sql_put(sql, "LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE", "Software") ||
                   nvt_sql_put(sql, "LINUX_PERF_OPTIONS:SAMPLING_PERIOD", period)
               ? -1
               : 0;
}

int nvt_sql_samples(struct nvt_sql *sql)
{
    const uint32_t count = sql->trace->cpu_samples.count;
    if (!count)
        return 0;
    return nvt_sql_run(sql, tables) || put_settings(sql) ||
                   nvt_sql_rows(sql, "COMPOSITE_EVENTS", 7, count, put_sample) ||
                   put_sqlite_samples_stacks(sql)
               ? -1
               : 0;
}
#endif
