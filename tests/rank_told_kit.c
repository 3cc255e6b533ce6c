#include "rank_told_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

int rank_told_nobody(int step)
{
    (void)step;
    return -1;
}

const char *rank_told_path_of(const struct job *job, int rank)
{
    char name[64];
    snprintf(name, sizeof(name), "%s-rank%d.json", job->name, rank);
    return cli_in(cli_folder, name);
}

void rank_told_put(FILE *out, const char *name, double start, double end, const char *more)
{
    fprintf(out,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7%s}},\n",
            name, start, end - start, more);
}

int rank_told_is_unnumbered; /* files do not say of which rank they are */

void rank_told_begin(FILE *out, int rank)
{
    fprintf(out,
            "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\"}],");
    if (!rank_told_is_unnumbered)
        fprintf(out, "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d},",
                rank, RANKS);
    fprintf(out, "\"traceEvents\":[\n");
}

void rank_told_put_step(FILE *out, int step, int rank, double start, double end, const char *tail)
{
    fprintf(out,
            "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":%d,"
            "\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"args\":{}}%s\n",
            step, 1000 + rank, start - 20, end - start + 15, tail);
}

struct cli_result rank_told_run(const struct job *job, const char *command, const char *reports,
                                unsigned ranks)
{
    const char *arguments[16] = {"nvtally", command};
    size_t count = 2;
    if (reports) {
        arguments[count++] = "-r";
        arguments[count++] = reports;
        arguments[count++] = "-f";
        arguments[count++] = "csv";
    }
    for (int rank = 0; rank < RANKS; rank++)
        if (ranks >> rank & 1)
            arguments[count++] = rank_told_path_of(job, rank);
    struct cli_result result = cli_run(arguments);
    cli_expect_status(&result, 0);
    return result;
}

void rank_told_expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

void rank_told_expect_none(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in:\n%s", part, text);
}
