/* Programs and our libraries: where they are, and how a program ended. */
#ifndef NVT_PROGRAM_H
#define NVT_PROGRAM_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "error.h"

/* Whether there is such a program, and we may start it. */
int nvt_is_program(const char *path);

/* The path that a shell would run, as it finds it. 0, or why it would run none: ENOENT, EACCES. `path` may be NULL. */
int nvt_command_find(const char *command, char *path, size_t size);

/* What a program that is started says: the reading end of a pipe from its standard error; with `all` also from its standard output,
 * and its standard input is empty. *child is to be waited for. NULL with errno set. */
FILE *nvt_program_start(const char *path, char *const *argv, int all, pid_t *child);

/* Wait for it: what waitpid() says, -1 if that fails. */
int nvt_program_wait(pid_t child);

/* Look where execvp() does: in the folders of PATH, without PATH in the system's. path[size] gets an
 * absolute one. 0, or -1: there is none. */
int nvt_find_program(const char *name, char *path, size_t size);

/* Find one of nvtally's libraries: in $NVTALLY_LIBDIR, next to the executable, or in ../lib/nvtally from there. 0 with
 * the path in out, or -1 with err. */
int nvt_find_library(const char *name, char *out, size_t size, struct nvt_error *err);

/* The exit status of a shell for a wait status: its own, or 128 + signal. */
int nvt_exit_code(int wait_status);

/* For a child behind fork(): that it gets SIGTERM when its parent ends in whatever way, and at once when that has
 * happened already. It holds behind execve() too. */
void nvt_end_with_parent(pid_t parent);

#endif
