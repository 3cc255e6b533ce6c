/*
 * Device traces that are made up: a training loop on one thread and one stream, with as much of
 * each trouble as is asked for. What the tests of the diagnosis look at, on either side of a
 * threshold.
 */
#ifndef NVT_MADE_TRACE_H
#define NVT_MADE_TRACE_H

#include "../analyze/model/trace.h"

/* A trace being made: a thread that launches, a device that works off, a clock. ns. */
struct maker {
    struct nvt_trace *trace;
    uint32_t process, thread;
    int64_t now;       /* of the thread */
    int64_t device;    /* when the device has done all that it was given */
    int64_t launch_ns; /* that a launch takes */
    uint32_t domain;   /* of ranges */
    uint64_t correlation;
    uint32_t number; /* of the device */
};

struct maker make_begin(void);
/* The same trace from the beginning, in a process of that id, with a device of that number. */
void make_process(struct maker *maker, int64_t pid, uint32_t device);
/* A range from a moment until now; a call of that length. */
void make_range(struct maker *maker, const char *name, int64_t start);
void make_call(struct maker *maker, const char *name, int64_t ns);
/* A call of the system from one moment to another, of a thread. */
void make_os_call(struct maker *maker, const char *name, uint32_t thread, int64_t start,
                  int64_t end);
/* The same with all that is given of it; of a file, NULL: unknown. */
void make_os_call_row(struct maker *maker, const char *name, const char *file,
                      struct nvt_os_call row);
/* A function below another one, 0: below none; in a module, NULL: none. What samples and the functions that it calls name it by:
 * its row and 1. */
uint32_t make_function(struct maker *maker, uint32_t caller, const char *name, const char *module);
/* A sample of a thread, of so much processor time. */
void make_sample(struct maker *maker, uint32_t thread, int64_t time, int64_t cpu_ns,
                 uint32_t function);
/* An operation of so many ns that is launched at that time and begins 5 us later, or when the device is free: a kernel until the
 * caller says otherwise and adds it. */
struct nvt_op make_op(struct maker *maker, const char *name, int64_t launched, int64_t ns);
/* A kernel of so many ns: launched now, 5 us later on the device, or when that is free. */
void make_launch(struct maker *maker, const char *name, int64_t ns);
/* The device has so many SMs of compute capability 9.0; the kernel launched last has a grid of so many blocks, of 128 threads each. */
void make_device(struct maker *maker, uint32_t multiprocessors);
void make_grid(struct maker *maker, uint32_t blocks);
/* MPI_Allreduce of 8000 bytes, which takes so long; all_reduce of torch.distributed, in a group of so many ranks. */
void make_mpi_call(struct maker *maker, int64_t ns);
void make_all_reduce(struct maker *maker, uint32_t ranks, int64_t ns);
/* A sample of the process's resident memory. */
void make_resident(struct maker *maker, int64_t time, double bytes);
/* A wait until the device has done everything, and 1 us more. */
void make_wait(struct maker *maker);
/* Samples over all of a trace have one more moment than this. */
enum { MADE_SAMPLES = 128 };
/* What was sampled of the machine over all of the trace so far: a quantity of the host; one of GPU `gpu` (its id in strings), which
 * `share` % of the samples have, the others are 0. Ids are of enum nvt_machine_host and nvt_machine_gpu. */
void make_host_samples(struct maker *maker, int id, double value);
void make_gpu_samples(struct maker *maker, uint32_t gpu, int id, double value, int share);
/* A metric of GPU 0 in percent over all of the trace so far, every 10 us; `share` % of the samples have the value, the others are 0. */
void make_metric(struct maker *maker, const char *name, double value, int share);
/* The recording ends now, and goes on so many ns later; -1: it does not. The first part begins at 0. */
void make_pause(struct maker *maker, int64_t ns);
/* Finish it; the caller owns the trace. */
struct nvt_trace *make_end(struct maker *maker);

/* A report over four traces at most as CSV, the caller's; *note gets what it notes, the caller's. Where it notes anything,
 * note must not be NULL, and it must be where it does not. */
char *make_report(const char *name, struct nvt_trace *const *traces, size_t count, char **note);

/* One iteration of a loop, in this order; what is 0 is not done. */
struct program {
    int iterations; /* 0: 32 */
    int no_ranges;
    int64_t data_ns;     /* it waits for a batch, as PyTorch's profiler has it */
    int64_t host_ns;     /* the host works */
    const char *os_call; /* it is in a call of the system, of os_ns; NULL: in none */
    int64_t os_ns;
    /* it works for busy_ns in this function of libc, in four samples; NULL: in none */
    const char *busy;
    int64_t busy_ns;
    /* first another thread works beside it, which then waits; it goes on when that is done */
    int64_t team_ns;
    int64_t operator_ns;         /* of PyTorch's operator aten::mm, 0: there is none */
    int64_t pause_ns;            /* the host works behind it, before a second one */
    const char *second_operator; /* behind that, as long; NULL: aten::mm */
    int allocations;
    const char *allocation; /* the call, NULL: cudaMalloc */
    int64_t allocation_ns;
    int copies;    /* host to device */
    int questions; /* copies to the host behind the kernels, whose calls wait for them */
    int64_t copy_ns;
    uint64_t copy_bytes;
    int pageable;
    int faults; /* of so many kernels, each on a page of managed memory, and 7 of them */
    int64_t fault_ns;
    int fault_late; /* the driver works on them when the iteration's work is done */
    int managed;    /* those to the device are pages that move on demand */
    int kernels;
    int64_t kernel_ns, launch_ns; /* launch_ns 0: 6000 */
    uint32_t blocks;              /* of each kernel, on a device of 100 SMs; 0: unknown */
    int64_t cold_ns;              /* that the first launch of all takes, instead of launch_ns */
    int wait_every;               /* kernels */
    const char *domain;           /* of the iterations' ranges, NULL: the default one */
    int backward;                 /* so many of the kernels are launched by another thread */
    int64_t communication_ns;     /* one kernel of NCCL */
    int64_t mpi_ns;               /* one MPI_Allreduce, when the kernels are done */
    int no_wait;                  /* at the end of the iteration */
    int64_t tail_ns;              /* a kernel behind that wait */
    int64_t stall_ns;             /* that the device does nothing before the first kernel */
    uint64_t leak_bytes;          /* taken and kept */
    uint64_t held_bytes;          /* by the allocator, which says what is in use, too; 0: nothing */
    uint64_t refused_bytes;       /* an allocator has no room for it, in each iteration */
    int32_t malloc_result;        /* of a cudaMalloc in each iteration; 0: there is none */
    const char *leak_counter;     /* it is told by an NVTX counter of this name, in bytes */
    int leak_until;               /* iteration, 0: all */
    int leak_freed_every;         /* iterations, of which this gives back what they took */
    int64_t slow_ns;              /* longer … */
    int slow_every, slow_until;   /* every so many iterations; those before this one */
    int second_part;        /* with this one the recording goes on after 1 s; 0: it is whole */
    const char *slow_range; /* that every so many are longer by; NULL: none */
    int64_t after_ns;       /* the host works behind a range `optimizer`, 0: there is none */
    unsigned jitter;        /* seed: kernels vary by up to 10 %, 0: they do not */
    int rank;               /* of the process, with rank 1 as 2; 0: none */
    /* Sampled of the machine; 0: it is not. */
    double clock_mhz;      /* of a device whose highest is 2000 */
    int limited;           /* % of the samples at which the power limit holds it */
    double ready;          /* threads, on 2 processors */
    double at_work, taken; /* % */
    double resident_bytes; /* that the process grows by in each iteration, from 500 MiB on, */
    int resident_until;    /* up to this one; 0: all */
    int unclosed;          /* of the iterations push a range "step" that nobody pops */
    int crowd;             /* so many more threads take 2 ms of processor time in each iteration */
    /* What each iteration has on the CPU; without cpu_ns nothing. A minor fault costs 500 ns. */
    struct nvt_range_count counts;
    const char *topdown; /* the set that its chosen counters are; NULL: none */
    /* Metrics of the GPU, %; 0: there is none of them. `metric_share`: % of the samples that have them, the others are 0; 0: all. */
    double dram, tensor, pcie, sm_active;
    int metric_share;
};

struct nvt_trace *make_program(const struct program *program);

#endif
