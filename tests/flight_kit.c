#include "flight_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../lib/buffer.h"
#include "cli.h"

const char *const flight_by_pytorch[] = {"tests/fuzz/corpus/flight/nccl_trace_rank_0",
                                         "tests/fuzz/corpus/flight/nccl_trace_rank_1",
                                         "tests/fuzz/corpus/flight/nccl_trace_rank_2"};

struct job flight_job;

void flight_begin(int64_t written)
{
    memset(&flight_job, 0, sizeof(flight_job));
    flight_job.written = written;
}

void flight_put(int rank, struct entry entry)
{
    assert_true(flight_job.counts[rank] < ENTRIES);
    flight_job.entries[rank][flight_job.counts[rank]++] = entry;
}

void flight_call(int rank, int64_t sequence, const char *state)
{
    flight_put(rank, (struct entry){.group = "0",
                                    .purpose = "default_pg",
                                    .name = "nccl:all_reduce",
                                    .state = state,
                                    .sequence = sequence,
                                    .at = sequence});
}

static void put_entry(struct nvt_buffer *out, const struct entry *entry)
{
    const int has_ended = !strcmp(entry->state, "completed");
    assert_int_equal(
        nvt_buffer_printf(
            out,
            "{\"frames\": [{\"name\": \"all_reduce\", \"filename\": "
            "\"/usr/lib/torch/distributed/distributed_c10d.py\", \"line\": 9}, {\"name\": "
            "\"step\", \"filename\": \"/home/me/train.py\", \"line\": %s}], \"record_id\": 0, "
            "\"pg_id\": 0, \"process_group\": [\"%s\", \"%s\"], \"thread_name\": \"main\", "
            "\"thread_id\": \"7\", \"collective_seq_id\": %lld, \"p2p_seq_id\": %lld, \"op_id\": "
            "1, "
            "\"profiling_name\": \"%s\", \"time_created_ns\": %lld, \"input_sizes\": [[%s]], "
            "\"input_dtypes\": [\"Float\"], \"output_sizes\": [[%s]], \"output_dtypes\": "
            "[\"Float\"], \"state\": \"%s\", \"time_discovered_started_ns\": null, "
            "\"time_discovered_completed_ns\": ",
            entry->line ? entry->line : "12", entry->group, entry->purpose,
            (long long)(entry->is_message ? 0 : entry->sequence),
            (long long)(entry->is_message ? entry->sequence : 0), entry->name,
            (long long)(BEGIN + entry->at * S), entry->size ? entry->size : "4, 8",
            entry->size ? entry->size : "4, 8", entry->state),
        0);
    if (has_ended)
        assert_int_equal(nvt_buffer_printf(out, "%lld", (long long)(BEGIN + entry->at * S + S / 2)),
                         0);
    assert_int_equal(nvt_buffer_printf(out,
                                       "%s, \"retired\": %s, \"timeout_ms\": 600000, \"is_p2p\": "
                                       "%s}",
                                       has_ended ? "" : "null",
                                       has_ended || entry->is_retired ? "true" : "false",
                                       entry->is_message ? "true" : "false"),
                     0);
}

const char *flight_write_dump(int rank)
{
    char name[40];
    struct nvt_buffer text = {0};
    snprintf(name, sizeof(name), "trace_rank_%d", rank);
    assert_int_equal(nvt_buffer_printf(&text,
                                       "{\"version\": \"2.10\", \"pg_config\": {%s}, "
                                       "\"comm_lib_version\": \"2.27.5\", \"pg_status\": {}, "
                                       "\"entries\": [",
                                       flight_job.groups[rank]
                                           ? flight_job.groups[rank]
                                           : "\"0\": {\"name\": \"0\", \"desc\": "
                                             "\"default_pg\", \"ranks\": \"[0, 1, 2, 3]\"}"),
                     0);
    for (int i = 0; i < flight_job.counts[rank]; i++) {
        assert_int_equal(nvt_buffer_printf(&text, "%s", i ? ", " : ""), 0);
        put_entry(&text, &flight_job.entries[rank][i]);
    }
    assert_int_equal(nvt_buffer_printf(&text, "]}"), 0);
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, text.data, text.size);
    nvt_buffer_free(&text);
    const struct timespec times[2] = {{BEGIN / S + flight_job.written, 0},
                                      {BEGIN / S + flight_job.written, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}
