/* Keys of Chrome's events are known by those before them: whatever their order is, each stays what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "cli.h"
#include "random_kit.h"
#include "read_kit.h"

/* Behind a key. */
static const char *const colons[] = {":", ": ", " : ", ":\n\t", ":  "};

static void put_key(FILE *out, const char *key)
{
    fprintf(out, "\"%s\"%s", key, colons[rand() % 5]);
}

/* A key that is none of those that are read: shorter and longer than those that are remembered, and like one that is read. */
static void put_other(FILE *out)
{
    static const char *const alike[] = {"d",  "du",    "durr",  "t", "tss",
                                        "na", "names", "strea", "",  "ts "};
    char key[64];
    if (rand() % 3 == 0)
        snprintf(key, sizeof(key), "%s", alike[(size_t)rand() % NVT_COUNT_OF(alike)]);
    else
        snprintf(key, sizeof(key), "k%0*d", 1 + rand() % 40, rand() % 90);
    put_key(out, key);
    fprintf(out, "%d", rand() % 1000);
}

/* An event that begins at `us` and lasts `us` and 1, with its members in any order. */
static void put_event(FILE *out, int us)
{
    int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const int count = (int)NVT_COUNT_OF(order);
    fprintf(out, "%s{\"ph\":\"X\"", us ? ",\n" : "");
    for (int left = count; left > 1; left--) {
        const int other = rand() % left, kept = order[left - 1];
        order[left - 1] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < count; i++) {
        fprintf(out, ",%s", rand() % 2 ? " " : "");
        switch (order[i]) {
        case 0:
            put_key(out, rand() % 4 ? "ts" : "\\u0074s");
            fprintf(out, "%d", us);
            break;
        case 1:
            put_key(out, "dur");
            fprintf(out, "%d", us + 1);
            break;
        case 2:
            put_key(out, "name");
            fprintf(out, "\"n%d\"", us);
            break;
        case 3:
            put_key(out, "pid");
            fprintf(out, "1");
            break;
        case 4:
            put_key(out, "tid");
            fprintf(out, "2");
            break;
        default:
            put_other(out);
        }
    }
    fputc('}', out);
}

static void any_order_is_read(void **state)
{
    enum { EVENTS = 6000 };
    char name[16];
    (void)state;
    kit_srand(2911);
    const char *path = cli_in(cli_folder, "keys.json");
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputc('[', out);
    for (int us = 0; us < EVENTS; us++)
        put_event(out, us);
    fputc(']', out);
    fclose(out);
    struct nvt_trace *trace = kit_read_on_threads(path, "3", "keys.json");
    assert_non_null(trace);
    assert_int_equal(trace->ranges.count, EVENTS);
    for (int us = 0; us < EVENTS; us++) {
        snprintf(name, sizeof(name), "n%d", us);
        assert_int_equal(trace->ranges.start[us], us * 1000);
        assert_int_equal(trace->ranges.end[us], (2 * us + 1) * 1000);
        assert_string_equal(nvt_name(trace, trace->ranges.name[us]), name);
    }
    assert_int_equal(trace->threads.count, 1);
    assert_true(!trace->notes || !strstr(trace->notes, "repaired"));
    nvt_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_is_read),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
