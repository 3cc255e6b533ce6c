/*
 * The temporary folder of a command. SIGINT, SIGTERM, SIGHUP and SIGPIPE end the process as they would
 * have, and take the folder with them; one that is ignored stays so. A process has one at a time, and what
 * it forks does not remove it. Whoever handles these signals meanwhile puts our handlers back.
 */
#ifndef NVT_TEMPORARY_H
#define NVT_TEMPORARY_H

/* Make it: /tmp/nvtally-NAME-XXXXXX. Its path, until it is removed; NULL with errno. */
const char *nvt_temporary_make(const char *name);

/* Remove the files in it, and the folder; nothing where there is none. */
void nvt_temporary_remove(void);

#endif
