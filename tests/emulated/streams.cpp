/* Streams, events and graphs: what runs when, and what waits for what. */
#include "emulated.h"

#include <atomic>
#include <deque>
#include <memory>
#include <unistd.h>
#include <vector>

/* A point in the order of a stream that others wait for. */
struct moment {
    bool passed = false;
};

struct operation {
    stand_in_operation what;
    std::function<void()> work;
    std::shared_ptr<moment> waits;  /* not before this, or NULL */
    std::shared_ptr<moment> marks;  /* this has passed then, or NULL */
    std::function<bool()> is_there; /* not before this is true, of what comes from elsewhere */
};

struct emulated_graph {
    std::vector<operation> nodes;
    uint32_t id = 0; /* of one that can be launched */
};

struct emulated_stream {
    int device;
    std::deque<operation> queue;
    std::unique_ptr<emulated_graph> capture; /* what it records, or NULL */
    bool invalid = false;                    /* the capture */
};

struct emulated_event {
    uint32_t id;
    int device;
    std::shared_ptr<moment> last;
};

namespace
{
std::vector<std::unique_ptr<emulated_stream>> streams;

bool is_ready(const emulated_stream &stream)
{
    if (stream.queue.empty())
        return false;
    const operation &next = stream.queue.front();
    return (!next.waits || next.waits->passed) && (!next.is_there || next.is_there());
}

/* Whether any stream waits for what comes from elsewhere: then others go on meanwhile. */
bool waits_for_others()
{
    for (auto &stream : streams)
        if (!stream->queue.empty() && stream->queue.front().is_there)
            return true;
    return false;
}

void let_others_go_on()
{
    emulated_lock.unlock();
    usleep(200);
    emulated_lock.lock();
}

void run(const operation &next)
{
    static const bool is_idle = emulated_ignores("work");
    stand_in_operation what = next.what;
    what.start = emulated_now();
    if (!is_idle)
        emulated_let_run(static_cast<int>(what.device));
    if (next.work && (!is_idle || what.kind == STAND_IN_NOTHING))
        next.work();
    what.end = emulated_now();
    if (next.marks)
        next.marks->passed = true;
    if (what.kind != STAND_IN_NOTHING)
        emulated_tell(what);
}

/* One operation of a random stream that can go on, if there is one. */
bool try_step()
{
    std::vector<emulated_stream *> ready;
    for (auto &stream : streams)
        if (is_ready(*stream))
            ready.push_back(stream.get());
    if (ready.empty())
        return false;
    emulated_stream *stream = ready[emulated_random(ready.size())];
    operation next = std::move(stream->queue.front());
    stream->queue.pop_front();
    run(next);
    return true;
}

void step()
{
    if (try_step())
        return;
    if (!waits_for_others())
        emulated_stop("streams wait for each other");
    let_others_go_on();
}
} // namespace

void emulated_drain(cudaStream_t stream)
{
    while (!stream->queue.empty())
        step();
}

void emulated_drain_device(int device)
{
    /* Others may add some meanwhile. */
    for (size_t i = 0; i < streams.size(); i++)
        if (streams[i]->device == device)
            emulated_drain(streams[i].get());
}

/* Waiting is forbidden while this stream, or any, is recorded; it spoils the recording. */
bool emulated_spoils(cudaStream_t only)
{
    bool found = false;
    for (auto &stream : streams)
        if (stream->capture && (!only || only == stream.get()))
            found = stream->invalid = true;
    return found;
}

int emulated_device_of(cudaStream_t stream)
{
    return stream ? stream->device : emulated_device;
}

bool emulated_is_foreign(cudaStream_t stream)
{
    return !stream || stream->device != emulated_device;
}

static cudaError_t give(cudaStream_t stream, operation next)
{
    if (emulated_is_foreign(stream))
        return emulated_error(cudaErrorInvalidResourceHandle);
    next.what.stream = stream;
    next.what.device = static_cast<uint32_t>(stream->device);
    if (stream->capture)
        stream->capture->nodes.push_back(std::move(next));
    else
        stream->queue.push_back(std::move(next));
    return cudaSuccess;
}

cudaError_t emulated_enqueue(cudaStream_t stream, stand_in_operation what,
                             std::function<void()> work)
{
    emulated_guard held(emulated_lock);
    return give(stream, {what, std::move(work), nullptr, nullptr, nullptr});
}

void emulated_on_stream(void *stream, int (*is_ready)(void *), void (*work)(void *), void *argument)
{
    emulated_guard held(emulated_lock);
    give(static_cast<cudaStream_t>(stream),
         {{},
          [work, argument] { work(argument); },
          nullptr,
          nullptr,
          [is_ready, argument] { return is_ready(argument) != 0; }});
}

void emulated_run_streams()
{
    emulated_guard held(emulated_lock);
    while (try_step())
        continue;
}

void emulated_launch(const char *name, int64_t blocks, unsigned threads, cudaStream_t stream,
                     std::function<void()> thread)
{
    emulated_call call("cudaLaunchKernel");
    stand_in_operation what = emulated_kernel(call, name, blocks, threads);
    emulated_lose(name);
    if (emulated_is_lost() || emulated_fails("launch"))
        emulated_error(cudaErrorUnknown);
    else if (blocks < 1 || blocks > INT32_MAX || threads < 1 || threads > 1024)
        emulated_error(cudaErrorInvalidConfiguration);
    else
        emulated_enqueue(stream, what, [blocks, threads, thread = std::move(thread)] {
            emulated_run_blocks(blocks, threads, thread);
        });
}

/* --- streams and events --- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    ENTER();
    emulated_guard held(emulated_lock);
    streams.push_back(std::make_unique<emulated_stream>());
    streams.back()->device = emulated_device;
    *stream = streams.back().get();
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (emulated_spoils(stream))
        return emulated_error(cudaErrorStreamCaptureUnsupported);
    emulated_drain(stream);
    emulated_tell_wait(call, stream);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (!stream->capture)
        emulated_tell_let_wait(call, stream, event->id);
    if (!event->last || emulated_ignores("waits"))
        return cudaSuccess;
    return give(stream, {{}, nullptr, event->last, nullptr, nullptr});
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    ENTER();
    static std::atomic<uint32_t> events;
    *event = new emulated_event{++events, emulated_device, nullptr};
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (event->device != stream->device)
        return emulated_error(cudaErrorInvalidResourceHandle);
    event->last = std::make_shared<moment>();
    if (!stream->capture)
        emulated_tell_event(call, stream, event->id);
    return give(stream, {{}, nullptr, nullptr, event->last, nullptr});
}

/* Where it is to fail the event is gone all the same, so that no tool takes it for a leak of the caller. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    ENTER();
    return cudaSuccess;
}

/* --- graphs --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (stream->capture)
        return emulated_error(cudaErrorIllegalState);
    stream->capture = std::make_unique<emulated_graph>();
    stream->invalid = false;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    emulated_guard held(emulated_lock);
    *status = stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    ENTER();
    emulated_guard held(emulated_lock);
    if (!stream->capture)
        return emulated_error(cudaErrorIllegalState);
    *graph = stream->invalid ? nullptr : stream->capture.release();
    stream->capture.reset();
    return *graph ? cudaSuccess : emulated_error(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
    ENTER();
    static std::atomic<uint32_t> graphs;
    *executable = new emulated_graph(*graph);
    (*executable)->id = ++graphs;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    ENTER();
    return emulated_enqueue(
        stream, {}, [nodes = executable->nodes, id = executable->id, by = call.correlation] {
            uint32_t number = 0;
            for (operation node : nodes) {
                node.what.graph = id;
                node.what.node = ++number;
                node.what.correlation = by;
                run(node);
            }
        });
}
