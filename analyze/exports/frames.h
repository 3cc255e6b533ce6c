/*
 * Files of tables, for data frames: Arrow's IPC files (arrow.h) and Parquet, which the Python module over libnvtally-trace writes
 * with pyarrow, so that both have to be there.
 *
 * One trace is a file for each table that has rows, "ops.parquet". Several are a folder for each table, with a folder for
 * each rank and a file for each trace: "ops/rank=3/0.parquet"; ids go over all traces.
 */
#ifndef NVT_FRAMES_H
#define NVT_FRAMES_H

#include "../../lib/error.h"

/* "arrow" or "parquet", or NULL: no such form. */
const char *nvt_frames_form(const char *name);

/* Write traces, a list that NULL ends, as Parquet into a folder that is not there yet, or empty. 0, or -1 with err filled. */
int nvt_frames_write(char *const *paths, const char *folder, struct nvt_error *err);

#endif
