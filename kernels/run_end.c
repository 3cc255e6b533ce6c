#include "run_end.h"

#include <stdio.h>
#include <sys/stat.h>

#include "../lib/commands.h"
#include "../lib/wrap.h"

/* The study's table. */
static int show_table(const struct nvt_sweep *sweep)
{
    char *stats[] = {(char *)"stats", (char *)sweep->directory, NULL};
    return nvt_cmd_stats(2, stats);
}

/* Whether there is a row to show. */
static int has_rows(const struct nvt_sweep *sweep)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof(path), "%.3000s/results.jsonl", sweep->directory);
    return !stat(path, &status) && status.st_size;
}

/* What is left of a sweep that a signal ended. The exit status. */
static int tell_signal(const struct nvt_sweep *sweep, int is_temporary, int number)
{
    const char *left = !is_temporary     ? "finished runs are kept"
                       : has_rows(sweep) ? "the table shows finished runs"
                                         : "no run finished";
    nvt_message(stderr, "stopped by signal %d; %s%s", number, left,
                sweep->ranks.size > 1 ? " (a launcher of MPI ends all ranks when one has ended)"
                                      : "");
    return 128 + number;
}

/* Say what was not ok, and where the results are. The exit status. */
static int tell_end(const struct nvt_sweep *sweep, int is_temporary,
                    const struct nvt_sweep_end *end, int status, const struct nvt_error *err)
{
    char text[1200];
    int not_ok = end->not_ok;
    if (not_ok > 0 && sweep->ranks.size > 1)
        nvt_message(stderr, "rank %d of %d failed: %s", sweep->ranks.rank, sweep->ranks.size,
                    nvt_error_text(err, text, sizeof(text)));
    else if (not_ok > 0)
        nvt_message(
            stderr, "%d of %zu configurations failed: %s%s%s", not_ok, nvt_sweep_runs(sweep),
            is_temporary ? "-o DIR keeps the reason of each" : "see their status and message in ",
            is_temporary ? "" : sweep->directory, is_temporary ? "" : "/results.jsonl");
    if (!is_temporary && !sweep->ranks.rank)
        nvt_message(stderr, "results in %s", sweep->directory);
    if (end->interrupted)
        return tell_signal(sweep, is_temporary, end->interrupted);
    /* The launcher shall end the others. Where memory ran out they have been told, and end by themselves. */
    if (not_ok > 0 && end->status && sweep->ranks.size > 1)
        return 2;
    return end->status ? end->status : status;
}

int nvt_run_end(const struct nvt_sweep *sweep, int is_temporary, const struct nvt_sweep_end *end,
                const struct nvt_error *err)
{
    int status = 0;
    (void)fflush(stdout); /* an error stays with the stream */
    if (!sweep->ranks.rank && (!end->interrupted || has_rows(sweep)))
        status = show_table(sweep);
    return tell_end(sweep, is_temporary, end, status, err);
}
