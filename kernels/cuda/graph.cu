/*
 * Graphs of the CUDA backend: a phase's launches, captured from this thread's stream.
 */
#include "device.h"

/* A graph takes memory of the device, too: whether it was for want of that is remembered. */
static int fail(cudaError_t status, const char *what, struct nvt_error *err)
{
    nvt_cuda_note(status, what);
    return nvt_fail(err, "%s: %s", what, cudaGetErrorString(status));
}

int nvt_backend_graph_begin(struct nvt_error *err)
{
    cudaError_t status =
        cudaStreamBeginCapture(nvt_backend_stream(), cudaStreamCaptureModeThreadLocal);
    return status == cudaSuccess ? 0 : fail(status, "capture of a graph", err);
}

/* What broke a capture was noted by the call that did; here it only ends. */
void *nvt_backend_graph_end(struct nvt_error *err)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t executable = NULL;
    cudaError_t status = cudaStreamEndCapture(nvt_backend_stream(), &graph);
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(&executable, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (status == cudaSuccess)
        return executable;
    fail(status, "capture of a graph", err);
    return NULL;
}

void nvt_backend_graph_replay(void *graph)
{
    nvt_cuda_note(cudaGraphLaunch((cudaGraphExec_t)graph, nvt_backend_stream()), "a graph");
}

void nvt_backend_graph_free(void *graph)
{
    if (graph)
        nvt_cuda_note(cudaGraphExecDestroy((cudaGraphExec_t)graph), "a graph");
}
