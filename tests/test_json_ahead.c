/*
 * Profiles in parts of a few bytes, so that each ends somewhere else: what several threads read of them is what one does, whatever has
 * been done to the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NVT_JSON_PART 48
#include "../analyze/readers/json_source.c"

#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"

static const char profile[] =
    "{\"schemaVersion\":1,\"traceEvents\":[\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"python\"}},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":5,\"tid\":\"main\",\"ts\":10,"
    "\"dur\":9},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":5,\"tid\":6,"
    "\"ts\":11,\"dur\":2,"
    "\"args\":{\"correlation\":1,\"list\":[{\"a\":1},{\"b\":[2,3]}]}} , "
    "{\"ph\":\"X\",\"cat\":\"kernel\","
    "\"name\":\"void "
    "k<int>(int)\",\"pid\":0,\"tid\":7,\"ts\":14,\"dur\":3.5,\"args\":{\"correlation\":1,\"grid\":["
    "1,2,3]}},\n"
    "{\"ph\":\"C\",\"name\":\"queue\",\"pid\":5,\"ts\":12,\"args\":{\"depth\":3,\"width\":2.5}},"
    "null,\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a \\\"},{\\\" "
    "b\",\"pid\":5,\"tid\":6,\"ts\":20,\"dur\":5},\n"
    "{\"args\":{\"bytes\":4},\"ph\":\"B\",\"name\":\"step\",\"pid\":\"Spans\",\"tid\":-9,\"ts\":30}"
    ",\n"
    "{\"ph\":\"E\",\"pid\":\"Spans\",\"tid\":-9,\"ts\":40},\n"
    "{\"ph\":\"b\",\"cat\":\"async\",\"name\":\"caf\\u00e9\",\"id\":\"0x1\",\"pid\":5,\"tid\":6,"
    "\"ts\":41},\n"
    "{\"ph\":\"e\",\"cat\":\"async\",\"name\":\"caf\\u00e9\",\"id\":\"0x1\",\"pid\":5,\"tid\":6,"
    "\"ts\":42},\n"
    "{\"ph\":\"s\",\"id\":3,\"pid\":5,\"tid\":6,\"ts\":43,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":5,\"tid\":\"main\",\"ts\":50,"
    "\"dur\":9}\n"
    "],\"distributedInfo\":{\"rank\":1},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"late\",\"pid\":5,"
    "\"tid\":6,\"ts\":60,\"dur\":1}]}";

/* 1: it can be read. */
static int compare(const char *text, size_t size)
{
    const char *path = cli_in(cli_folder, "parts.json");
    char what[sizeof(profile)];
    snprintf(what, sizeof(what), "%.*s", (int)size, text);
    cli_write_file(path, text, size);
    struct nvt_trace *trace = kit_read_on_threads(path, "4", what);
    const int is_read = trace != NULL;
    nvt_trace_free(trace);
    return is_read;
}

static void whole_and_cut(void **state)
{
    (void)state;
    assert_true(compare(profile, sizeof(profile) - 1));
    for (size_t size = 1; size < sizeof(profile) - 1; size++)
        compare(profile, size);
}

/* A few bytes of it become others that mean something. */
static void changed_anywhere(void **state)
{
    (void)state;
    static const char bytes[] = "{}[],:\"\\ 0a-\n\x01";
    const int rounds = getenv("NVTALLY_LONG") ? 20000 : 1000;
    int read = 0;
    kit_srand(4711);
    for (int round = 0; round < rounds; round++) {
        char text[sizeof(profile)];
        memcpy(text, profile, sizeof(profile));
        for (int changes = 1 + rand() % 3; changes; changes--)
            text[(size_t)rand() % (sizeof(profile) - 1)] =
                bytes[(size_t)rand() % (sizeof(bytes) - 1)];
        read += compare(text, sizeof(profile) - 1);
    }
    assert_true(read > rounds / 10 && read < rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_cut),
        cmocka_unit_test(changed_anywhere),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
