/*
 * Programs on a device that do not end by leaving main(), or are recorded in part: steps, each an NVTX range around three kernels
 * of some µs, with a wait every 50 steps. So many have ended is printed before it ends, with nothing waited for.
 *
 *   endings HOW [STEPS]   2000 steps unless given
 *     return     out of main()
 *     kill       SIGKILL to itself
 *     abort      abort()
 *     _exit      _exit(0), with the last steps still queued
 *     fork       a child that is forked before CUDA is used does the same steps beside it
 *     fork_late  a child that is forked when CUDA is in use, uses it no more, and ends by exit()
 *     captured   cudaProfilerStart in front of the last 100 steps but 50, cudaProfilerStop behind them
 *
 * 0, or as it was asked to end; 1 when a call fails, which it says.
 */
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNELS  3
#define TOGETHER 50

static __global__ void linger(int *numbers)
{
    const long long until = clock64() + 20000;
    while (clock64() < until)
        ;
    numbers[threadIdx.x]++;
}

static int fails(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        fprintf(stderr, "endings: %s: %s\n", what, cudaGetErrorString(status));
    return status != cudaSuccess;
}

static int run_steps(int *numbers, int from, int to)
{
    for (int step = from; step < to; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < KERNELS; i++)
            linger<<<1, 32>>>(numbers);
        nvtxRangePop();
        if (fails(cudaGetLastError(), "launch") ||
            (step % TOGETHER == 0 && fails(cudaDeviceSynchronize(), "wait")))
            return 1;
    }
    return 0;
}

/* What was done is known whatever comes: it is written at once. */
static void tell(int steps)
{
    char line[64];
    int length = snprintf(line, sizeof(line), "%d steps of %d kernels\n", steps, KERNELS);
    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        _exit(1);
}

static void end(const char *how)
{
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "_exit"))
        _exit(0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "return";
    int steps = argc > 2 ? atoi(argv[2]) : 2000, *numbers = NULL, failed, captured = steps;
    pid_t child = -1;
    if (!strcmp(how, "fork"))
        child = fork();
    if (fails(cudaMalloc((void **)&numbers, 128), "memory") ||
        fails(cudaMemset(numbers, 0, 128), "memset"))
        return 1;
    if (!strcmp(how, "fork_late") && !(child = fork()))
        exit(0);
    if (!strcmp(how, "captured"))
        captured = steps - 3 * TOGETHER;
    failed = run_steps(numbers, 0, captured);
    if (!failed && captured < steps) {
        failed = fails(cudaDeviceSynchronize(), "wait") || fails(cudaProfilerStart(), "start") ||
                 run_steps(numbers, captured, steps - TOGETHER) ||
                 fails(cudaDeviceSynchronize(), "wait") || fails(cudaProfilerStop(), "stop") ||
                 run_steps(numbers, steps - TOGETHER, steps);
    }
    if (failed)
        return 1;
    tell(steps);
    end(how);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status))
        return 1;
    return fails(cudaDeviceSynchronize(), "wait");
}
