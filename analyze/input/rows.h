/*
 * Rows that traces carry themselves. At its end a run of `nvtally run` leaves its row, the one of results.jsonl, in
 * the trace, as the mark "result {…}" of the domain nvtally (kernels/worker.c). So what is made of a directory can be
 * made of its traces alone, whoever recorded them.
 *
 * A trace without one, in which all ranges that name a configuration ("<workload> key=value …" of the domain nvtally,
 * phases.h) name the same, is the run of that: so anybody's program can be swept over its own parameters. Those that
 * lie in an iteration do not count, nor those of a run of nvtally's that was killed before it had a row. Keys that number repetitions (run, rep, repeat, repetition, seed, trial) are none.
 */
#ifndef NVT_ROWS_H
#define NVT_ROWS_H

#include "input.h"

/*
 * The rows of all traces that were given by themselves become a directory at the end of input->runs, and a trace with a
 * single row becomes that row's, as if the directory had named it. To be called before the traces of directories are
 * read (nvt_input_traces). Of a run over several ranks the row is that of
 * rank 0, and every rank's trace becomes its. A trace of several runs belongs to none of its rows. A mark that is no
 * row is a note. Changes nothing where there is no row, or a window (rows are of all of a trace). 0, or -1 with err.
 */
int nvt_input_rows(struct nvt_input *input, struct nvt_error *err);

/*
 * The only configuration that a trace's ranges name: *name gets its string, NVT_NO_STRING where there is none or several.
 * 0, or -1 when out of memory.
 */
int nvt_rows_configuration(const struct nvt_trace *trace, uint32_t *name);

#endif
