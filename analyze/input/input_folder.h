/* Traces that lie in a directory which no run wrote, or one that did not get as far as a row. */
#ifndef NVT_INPUT_FOLDER_H
#define NVT_INPUT_FOLDER_H

#include <stddef.h>

#include "../../lib/error.h"

/* Paths in the order of their names; free each and the array. */
struct nvt_paths {
    char **items;
    size_t count;
};

/*
 * The files of a directory whose names end as those of traces do: .nvt, .sqlite, .nsys-rep, .json, .json.gz, .pickle,
 * .pkl, .pftrace, .pftrace.gz, .perfetto-trace, .xplane.pb; or as PyTorch names the dumps of its flight recorder. Left out are a
 * report of nsys, a compressed file and what JAX makes of an XPlane for viewers, where the export, the unpacked file or the XPlane lies
 * next to it. Of a trace and a file of tables made of it (`export --to nvt`, by name and
 * size), the older one is left out. So are names that begin with a dot, a run's env.json, and "x.old.nvt" next to "x.nvt",
 * which `record` has kept. Zero-initialise; release with nvt_paths_free, also after a failure. 0, or -1 with err filled.
 */
int nvt_folder_traces(const char *directory, struct nvt_paths *paths, struct nvt_error *err);
void nvt_paths_free(struct nvt_paths *paths);

/* Whether several files are given, or lie in the one folder that is, and all can be read again. Ended by NULL. */
int nvt_folder_has_several(char *const *given);

/* Whether a directory is one that a run wrote. */
int nvt_folder_is_run(const char *directory);

#endif
