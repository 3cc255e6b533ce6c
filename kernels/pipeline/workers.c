/*
 * The engines: one thread that issues everything in the schedule's order, or a thread for each partition
 * that issues its own part of it and waits for its neighbours' messages.
 */
#include "pipeline.h"

static int is_wanted(const struct nvt_action *action, int filter)
{
    return filter & (action->is_backward ? NVT_RUN_BACKWARD : NVT_RUN_FORWARD);
}

/* Actions of one partition, or of all that are here (-1). */
static void run_actions(struct nvt_pipeline *pipeline, int partition, int filter)
{
    for (size_t i = 0; i < pipeline->order.count; i++) {
        const struct nvt_action *action = &pipeline->order.actions[i];
        int is_mine = partition < 0 ? pipeline->partitions[action->partition].is_here
                                    : action->partition == partition;
        if (is_mine && is_wanted(action, filter) && nvt_flow_run(pipeline, action))
            return;
    }
}

static int workers_here(const struct nvt_pipeline *pipeline)
{
    int count = 0;
    for (int i = 0; i < pipeline->settings.partitions; i++)
        count += pipeline->partitions[i].is_here;
    return count;
}

static void *work(void *argument)
{
    struct nvt_partition *partition = (struct nvt_partition *)argument;
    struct nvt_pipeline *pipeline = partition->pipeline;
    nvt_backend_share(workers_here(pipeline));
    /* A thread begins with the first device, which need not be this process's. */
    nvt_backend_use_stream(0);
    pthread_mutex_lock(&pipeline->lock);
    for (;;) {
        while (!partition->run_wanted && !pipeline->stopping)
            pthread_cond_wait(&pipeline->changed, &pipeline->lock);
        if (pipeline->stopping)
            break;
        partition->run_wanted = 0;
        pthread_mutex_unlock(&pipeline->lock);
        run_actions(pipeline, partition->index, partition->filter);
        pthread_mutex_lock(&pipeline->lock);
        partition->run_done = 1;
        pthread_cond_broadcast(&pipeline->changed);
    }
    pthread_mutex_unlock(&pipeline->lock);
    return NULL;
}

int nvt_workers_start(struct nvt_pipeline *pipeline, struct nvt_error *err)
{
    for (int i = 0; i < pipeline->settings.partitions; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i];
        if (!partition->is_here)
            continue;
        if (pthread_create(&partition->thread, NULL, work, partition))
            return nvt_fail(err, "no thread can be started");
        partition->has_thread = 1;
    }
    return 0;
}

void nvt_workers_stop(struct nvt_pipeline *pipeline)
{
    int had_threads = 0;
    pthread_mutex_lock(&pipeline->lock);
    pipeline->stopping = 1;
    pthread_cond_broadcast(&pipeline->changed);
    pthread_mutex_unlock(&pipeline->lock);
    for (int i = 0; i < pipeline->settings.partitions; i++)
        if (pipeline->partitions[i].has_thread) {
            pthread_join(pipeline->partitions[i].thread, NULL);
            pipeline->partitions[i].has_thread = 0;
            had_threads = 1;
        }
    if (had_threads)
        nvt_backend_share(1);
}

static void run_workers(struct nvt_pipeline *pipeline, int filter)
{
    pthread_mutex_lock(&pipeline->lock);
    for (int i = 0; i < pipeline->settings.partitions; i++) {
        struct nvt_partition *partition = &pipeline->partitions[i];
        partition->filter = filter;
        partition->run_done = 0;
        partition->run_wanted = partition->has_thread;
    }
    pthread_cond_broadcast(&pipeline->changed);
    for (int i = 0; i < pipeline->settings.partitions; i++)
        while (pipeline->partitions[i].has_thread && !pipeline->partitions[i].run_done)
            pthread_cond_wait(&pipeline->changed, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
}

int nvt_pipeline_run(struct nvt_pipeline *pipeline, enum nvt_direction direction,
                     struct nvt_error *err)
{
    char text[512];
    if (pipeline->settings.has_workers)
        run_workers(pipeline, (int)direction);
    else
        run_actions(pipeline, -1, (int)direction);
    if (!pipeline->failed)
        return 0;
    return nvt_fail(err, "%s", nvt_error_text(&pipeline->err, text, sizeof(text)));
}
