/*
 * Whether a signal came to the recorder alone, or to its whole process group and so to the command as well: a process of that
 * group that does nothing but keep what signals it gets. Who sends one to every process of a job (a batch system, systemd,
 * pkill -f with the command's name) sends it there, too.
 */
#ifndef NVT_WITNESS_H
#define NVT_WITNESS_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct nvt_witness {
    pid_t pid; /* 0: there is none */
    int question, answer;
};

/* Start it, as a child that ends with us; it keeps the signals of `kept`, which are blocked here. Its command line is that of the
 * command. 0, or -1 where no process can be had. */
int nvt_witness_start(struct nvt_witness *witness, const sigset_t *kept, char *const command[]);

/* The signals that it got since the last question, bit N - 1 for number N. None where there is no witness. */
uint64_t nvt_witness_ask(struct nvt_witness *witness);

void nvt_witness_stop(struct nvt_witness *witness);

#endif
