/*
 * What an earlier sweep left in the directory of a new one. Only kernels/sweep.c uses this.
 */
#ifndef NVT_SWEEP_EARLIER_H
#define NVT_SWEEP_EARLIER_H

/*
 * Remove the traces that the results.jsonl of a directory names, and say on stderr that its results are
 * replaced; nothing where there are none. A trace is a regular file in the directory itself whose name ends
 * in .nvt or .nsys-rep; all else stays. `ranks`: of the new run; what those beside rank 0 may be writing by
 * now stays too.
 */
void nvt_earlier_remove(const char *directory, int ranks);

#endif
