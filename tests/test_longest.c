/*
 * The longest recording, in a short time: one recorder, started and stopped every moment, while ranks come and go and the disk is
 * full now and then (tests/clients/longest.c). Nothing that was promised is lost: each pair of a range that was recorded is in the
 * file, or counted as lost where the disk was full; and the recorder needs no more at the end than at the beginning.
 *
 * NVTALLY_LONGEST=EVENTS (make check-longest: a billion); 10 million otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../analyze/readers/reader.h"
#include "cli.h"
#include "trace_tally.h"

/* On a disk of its own, so that it can be full. Mounted where nobody else sees it; behind it the trace is ours. */
static const char script[] =
    "disk=$4/disk && mkdir -p \"$disk\" &&\n"
    "{ mount -t tmpfs -o size=\"$3\" none \"$disk\" 2>/dev/null || { echo none; exit 0; }; }\n"
    "\"$0\" record --dormant -o \"$disk/t.nvt\" -- \"$1\" \"$0\" \"$disk\" \"$2\"\n"
    "status=$?\n"
    "cp \"$disk/t.nvt\" \"$4/t.nvt\" && umount \"$disk\" && exit $status\n";

struct seen {
    unsigned long long pairs, starts, ranks, fulls;
    long memory[2], descriptors[2], files[2];
};

static struct seen run(unsigned long long events, int seconds)
{
    char count[32];
    struct seen seen;
    snprintf(count, sizeof(count), "%llu", events);
    const struct cli_options options = {.timeout_s = seconds};
    const char *const argv[] = {"unshare",
                                "-m",
                                "--propagation",
                                "private",
                                "sh",
                                "-c",
                                script,
                                cli_built("nvtally"),
                                cli_client("longest"),
                                count,
                                events > 100000000 ? "4g" : "200m",
                                cli_folder,
                                NULL};
    struct cli_result result = cli_run_with(&options, argv);
    if (!strncmp(result.out, "none\n", 5) || strstr(result.err, "unshare")) {
        cli_result_free(&result);
        print_message("no right to mount a small disk here: not run\n");
        skip();
    }
    if (sscanf(result.out, "%llu %llu %llu %llu %ld %ld %ld %ld %ld %ld", &seen.pairs, &seen.starts,
               &seen.ranks, &seen.fulls, &seen.memory[0], &seen.memory[1], &seen.descriptors[0],
               &seen.descriptors[1], &seen.files[0], &seen.files[1]) != 10)
        fail_msg("%s %s (status %d)", result.out, result.err, result.status);
    print_message("%s%s", result.out, result.err);
    cli_result_free(&result);
    return seen;
}

static void nothing_promised_is_lost(void **state)
{
    (void)state;
    CLI_SKIP_THREAD_SANITIZED("it rests on what the recorder's memory is");
    const char *asked = getenv("NVTALLY_LONGEST");
    const unsigned long long events = asked ? strtoull(asked, NULL, 10) : 10000000;
    const struct seen seen = run(events, asked ? 7200 : 120);
    struct nvt_error err = NVT_ERROR_INIT;
    struct trace_tally tally;
    if (trace_tally_read(cli_in(cli_folder, "t.nvt"), &tally, &err))
        fail_msg("%s", err.message);
    print_message(
        "%llu starts, %llu ranks, disk full %llu times: %llu events recorded, %llu in the file, "
        "%llu "
        "said to be unwritten, %llu dropped; %llu bytes; recorder %ld to %ld KiB, %ld to %ld "
        "descriptors, %ld to %ld files\n",
        seen.starts, seen.ranks, seen.fulls, 2 * seen.pairs, (unsigned long long)tally.events,
        (unsigned long long)tally.unwritten, (unsigned long long)tally.dropped,
        (unsigned long long)tally.bytes, seen.memory[0], seen.memory[1], seen.descriptors[0],
        seen.descriptors[1], seen.files[0], seen.files[1]);
    assert_true(2 * seen.pairs >= events);
    assert_true(seen.fulls > 0);
    assert_true(tally.unwritten > 0); /* it was really full */
    assert_int_equal(tally.events + tally.unwritten, 2 * seen.pairs);
    assert_int_equal(tally.dropped + tally.nested, 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed for a while */
    assert_true(seen.memory[1] <= seen.memory[0] + seen.memory[0] / 4 + 4096);
#endif
    /* One is open for a moment now and then; one for each of the starts or ranks would be seen. */
    assert_true(seen.descriptors[1] <= seen.descriptors[0] + 2);
    assert_true(seen.files[1] <= seen.files[0] + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_promised_is_lost, cli_folder_set_up,
                                        cli_folder_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
