/*
 * nvtally ctl --to of two hosts at once: network namespaces of their own, host names of their own, a network between them, no folder for
 * sessions in common. Made in a user namespace, so that it takes no rights; where that is not allowed either, it is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record_kit.h"

/* $0 is nvtally, $1 a client, $2 the folder. The other host is a process that sleeps in its namespaces. */
static const char hosts[] =
    "cd $2; (umask 077; head -c 32 /dev/urandom >key); hostname near; ip link set lo up; "
    "unshare -n -u sh -c 'hostname far && echo $$ >pid && exec sleep 600' & far=$!; i=0; "
    "until [ -s pid ] || [ $i = 100 ]; do sleep 0.1; i=$((i+1)); done; "
    "ip link add near type veth peer name away netns $(cat pid) && ip addr add 10.78.0.1/24 dev "
    "near && ip link set near up && nsenter -t $far -n sh -c 'ip addr add 10.78.0.2/24 dev away && "
    "ip link set away up' || { echo none; kill $far; exit 0; }; "
    "record() { mkdir -p $1.d; export NVTALLY_TMPDIR=$2/$1.d; shift 2; exec \"$@\"; }; "
    "(record near $2 \"$0\" record -o near.nvt --dormant --iteration step --trace nvtx --listen "
    "10.78.0.1:7118 --key key \"$1\" 120000) & one=$!; "
    "(record far $2 nsenter -t $far -n -u \"$0\" record -o far.nvt --dormant --iteration step "
    "--trace nvtx --listen 10.78.0.2:7118 --key key \"$1\" 120000) & two=$!; "
    "c() { \"$0\" ctl --to 10.78.0.1:7118,10.78.0.2:7118 --key key \"$@\"; echo \"status $?\"; }; "
    "i=0; until [ \"$(c status 2>/dev/null | grep -c '^iterating.1$')\" = 2 ] || [ $i = 600 ]; do "
    "sleep 0.1; i=$((i+1)); done; "
    "c steps 4; c start; c mark here; c dump; c stop; kill $one $two; wait $one; wait $two; "
    "kill $far";

static uint64_t first_step(const char *name)
{
    uint64_t first = UINT64_MAX;
    uint32_t marks = 0;
    struct nvt_trace *trace = recorded_trace_at(recorded_in(name));
    for (uint32_t i = 0; i < trace->ranges.count; i++) {
        const char *payload = nvt_name(trace, trace->ranges.payload[i]);
        const uint64_t number = strtoull(payload, NULL, 10);
        if (!strcmp(nvt_name(trace, trace->ranges.name[i]), "step") && number < first)
            first = number;
    }
    for (uint32_t i = 0; i < trace->marks.count; i++)
        marks += !strcmp(nvt_name(trace, trace->marks.name[i]), "here");
    assert_int_equal(marks, 1);
    assert_memory_equal(nvt_trace_meta(trace, "recorded"), "2 parts, ", 9);
    nvt_trace_free(trace);
    return first;
}

static void expect_out(const struct cli_result *result, const char *text)
{
    if (!strstr(result->out, text))
        fail_msg("no '%s':\n%s\n%s", text, result->out, result->err);
}

static void two_hosts_record_the_same(void **state)
{
    (void)state;
    const char *const argv[] = {
        "sh",
        "-c",
        "unshare -r -n -u true 2>/dev/null && command -v ip nsenter hostname >/dev/null || { echo "
        "none; exit; }; exec unshare -r -n -u sh -c \"$3\" \"$0\" \"$1\" \"$2\"",
        cli_built("nvtally"),
        cli_client("flight"),
        recorded_in("."),
        hosts,
        NULL};
    struct cli_result result = cli_run(argv);
    if (strstr(result.out, "none")) {
        print_message("no two hosts can be made here\n");
        cli_result_free(&result);
        skip();
    }
    cli_expect_status(&result, 0);
    expect_out(&result, "10.78.0.1:7118: recording to /");
    expect_out(&result, "10.78.0.2:7118: recording to /");
    expect_out(&result, "/near-dump1.nvt\n");
    expect_out(&result, "/far-dump1.nvt\nstatus 0\n");
    expect_out(&result, "10.78.0.2:7118: stopped: ");
    const char *said = strstr(result.out, "iterations ");
    expect_out(&result, "iterations ");
    const uint64_t first = said ? strtoull(said + strlen("iterations "), NULL, 10) : 0;
    cli_result_free(&result);
    assert_int_equal(first_step("near.nvt"), first);
    assert_int_equal(first_step("far.nvt"), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hosts_record_the_same),
    };
    return cmocka_run_group_tests(tests, recorded_set_up, recorded_tear_down);
}
