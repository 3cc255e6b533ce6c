/*
 * Which processes have joined a session: those that have the collector, and the session's page mapped (/proc/PID/maps). Nothing is kept
 * of them anywhere, so that joining costs nothing, forked children are known, and what has ended or called exec is not.
 */
#ifndef NVT_ATTACHED_H
#define NVT_ATTACHED_H

#include <stddef.h>
#include <sys/types.h>

/* Processes of this user that have joined the session in that folder, at most `most` of them, in the order of their numbers. Returns how
 * many there are, as far as they can be seen from this pid namespace. */
size_t nvt_attached(const char *folder, pid_t *out, size_t most);

/* Whether this one has. */
int nvt_attached_is(const char *folder, pid_t pid);

/* Its command line as words, in memory to be freed together with the list: free(result). NULL: it has ended, or there is no memory. */
char **nvt_attached_command(pid_t pid);

#endif
