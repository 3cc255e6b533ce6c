/*
 * A command that cannot be recorded for a limit of this process (ulimit), but may well run: it runs as it would alone.
 */
#ifndef NVT_UNRECORDED_H
#define NVT_UNRECORDED_H

#include "../lib/error.h"

/*
 * Become the command, with the signals and the environment that we have, where `err` says why nothing could be recorded and that is a
 * limit of open files (-n), of file sizes (-f), of processes (-u) or of address space (-v) that is set. One line says so. Returns where
 * it is something else, or there is no such command: then err is as it was. To be called when no recording goes on.
 */
void nvt_run_unrecorded(char *const command[], const struct nvt_error *err);

#endif
