/*
 * Arrow IPC files of the tables of the model that have rows, as ../arrow/ipc.h writes them.
 *
 * One trace is a file for each table, "ops.arrow". Several are a folder for each table, with a folder for each rank and a file for
 * each trace: "ops/rank=3/0.arrow"; ids go over all traces.
 */
#ifndef NVT_EXPORT_ARROW_H
#define NVT_EXPORT_ARROW_H

#include "../input/input.h"

/* Write the traces of an input, which were read, into a folder that is not there yet, or empty. It is there once all of it was
 * written. 0, or -1 with err filled. */
int nvt_arrow_folder(const struct nvt_input *input, const char *folder, struct nvt_error *err);

#endif
