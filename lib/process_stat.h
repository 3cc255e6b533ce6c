/*
 * What the system says of a process in /proc/PID/stat (proc(5)).
 */
#ifndef NVT_PROCESS_STAT_H
#define NVT_PROCESS_STAT_H

#include <stdint.h>
#include <sys/types.h>

struct nvt_process_stat {
    char state;       /* 'R' it runs or would, 'S', 'D', 'T', 'Z' … */
    uint64_t started; /* clock ticks since boot */
    /* addresses of its command line; 0 without the right to know */
    uint64_t arguments, arguments_end;
    /* address; 0: it has none, in the midst of exec or at its end, or as above */
    uint64_t environment;
};

/* Of a process, 0: the calling one. Allocates nothing, and takes no lock. 0; -1: there is none of that number, or no /proc. */
int nvt_process_stat(pid_t process, struct nvt_process_stat *stat);

#endif
