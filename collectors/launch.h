/*
 * Starting the command that is recorded: its environment, its signals, its end.
 */
#ifndef NVT_LAUNCH_H
#define NVT_LAUNCH_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/error.h"

struct nvt_control;

#define NVT_LAUNCH_ACTIONS 3 /* signals whose action is another one while we record */

/* These signals (bit N - 1: number N) are the recorder's own and not passed on; which of them have come since the last call. Before
 * the command is started. */
void nvt_launch_keep(uint64_t signals);
uint64_t nvt_launch_kept(void);

struct nvt_launch {
    pid_t pid;
    int exec_error;        /* errno when the command could not be started, else 0 */
    int other_tool;        /* NVTX_INJECTION64_PATH was set to somebody else's library */
    int other_device_tool; /* CUDA_INJECTION64_PATH was set to somebody else's library */
    int other_nccl_plugin; /* NCCL_PROFILER_PLUGIN was set to somebody else's, where ours was wished for */
};

/* Signals as they were, and as the command shall have them. */
struct nvt_launch_signals {
    sigset_t mask;
    struct sigaction actions[NVT_LAUNCH_ACTIONS];
};

/*
 * Block the signals that nvt_launch_listen handles, and have those that would end or mislead the recorder do what
 * it needs, whatever it inherited. The former state goes to *before; restore it with nvt_launch_unblock.
 */
void nvt_launch_block(struct nvt_launch_signals *before);
void nvt_launch_unblock(const struct nvt_launch_signals *before);

/* What is injected into the command besides NVTX. */
struct nvt_launch_wish {
    int devices; /* the library injected into CUDA as well */
    int mpi;     /* preload the MPI library, first of $LD_PRELOAD */
    int os;      /* preload the library that records OS calls, first of $LD_PRELOAD */
    int cpu;     /* preload the library that samples threads, and have Python write its stack */
    int nccl;    /* NCCL's profiler plugin */
    int pytorch; /* ranges of PyTorch, by a folder put first in $PYTHONPATH */
    int ends_with_us;
};

/* Fork and exec argv with our library injected, what is wished for, $NVTALLY_SESSION =
 * folder, and signals as they were before. 0 (exec_error says whether it runs), or -1 with err when no process could
 * be made. */
int nvt_launch_start(char *const argv[], const char *folder, struct nvt_launch_wish wish,
                     const struct nvt_launch_signals *before, struct nvt_launch *launch,
                     struct nvt_error *err);

/* Have somebody who sees which signals come to our whole process group: those the command gets itself. Between nvt_launch_block and
 * nvt_launch_start; without it, and where no process can be had, it gets them twice. Returns its number, 0: there is none. */
pid_t nvt_launch_witness(char *const argv[]);
/* The command has ended, and it is in the way. Whether there was one. */
int nvt_launch_without_witness(void);

/*
 * Handle the signals that nvt_launch_block has blocked, whenever the mask is *hearing: what somebody
 * sent us alone goes to the command by nvt_launch_pass_on, and each ends nvt_recorder_sleep. One launch at a time; nothing else
 * of this process may use those signals until nvt_launch_listen_no_more. What asked to end before the command was there
 * goes to it at once.
 */
void nvt_launch_listen(const struct nvt_launch *launch, struct nvt_control *control,
                       sigset_t *hearing);
void nvt_launch_listen_no_more(void);

/* To be called in between. Whether there is something to pass on in the next milliseconds. */
int nvt_launch_pass_on(void);

/* The command has ended and was waited for: its number may be another process's soon. From now on a
 * signal that asks to end asks the recording to end; whether one has. */
void nvt_launch_ended(void);
int nvt_launch_is_enough(void);

/* A signal that asked to end came before nvt_launch_block; 0: none. */
void nvt_launch_ask(int number);

/* The last signal that asked to end, from nvt_launch_block to nvt_launch_unblock; 0: none did. */
int nvt_launch_asked(void);

#endif
