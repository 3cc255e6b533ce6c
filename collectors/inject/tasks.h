/*
 * Tasks of Python, as far as something is recorded in them: each event is that of the task that its thread runs, so that pushes and
 * pops of tasks that take turns do not end one another's ranges.
 *
 * A record NVT_TASK says which task the events behind it are of: none (0) or a number, which no other task of the process has. It
 * stands only where that changes. NVT_DEFINE_TASK gives a task its name, and says that tasks of its thread interleave: a range was
 * begun in one while there was one open in another. Where they do not, nobody need know of tasks.
 */
#ifndef NVT_INJECT_TASKS_H
#define NVT_INJECT_TASKS_H

#include "python_tasks.h"
#include "thread.h"

/* So many tasks of a process get a name; of further ones there may be any number. */
#define NVT_TASK_NAMES 256u

/* Whether there is a Python in the process. Set before NVTX sends any event here. */
extern int nvt_tasks_watch;

/* An event comes that opens a range (1), closes one (-1), or does neither (0), while the thread is not busy: find out whose it is.
 * May ask Python, and record a definition. */
void nvt_tasks_look(struct nvt_thread *thread, int opens);

/* In the event: record that its task is another one than that of the event before. 0, or -1: there was no room, and the event must
 * be dropped. `is_pop`: the room that is kept for pops may be used. */
int nvt_tasks_record(struct nvt_thread *thread, int is_pop);

/* The thread has a new ring, which knows of no task; none of its tasks has a range open any more; the state is that of another
 * thread; it goes. (What a table refers to is let go of with the GIL, which a thread at its end has not: it stays with the state, for
 * the next thread.) */
void nvt_tasks_new_ring(struct nvt_thread *thread);
void nvt_tasks_close(struct nvt_thread *thread);
void nvt_tasks_forget(struct nvt_thread *thread);
void nvt_tasks_free(struct nvt_thread *thread);

/* Whether the thread runs what it ran at its last event, and Python need not be asked for another reason. */
static inline int nvt_tasks_is_same(struct nvt_thread *thread)
{
    struct nvt_thread_task *task = &thread->task;
    if (!nvt_python.state || !task->is_known || !task->left)
        return 0;
    task->left--;
    const void *state = nvt_python.state(), *context = nvt_python_context(state);
    if (context != task->context)
        return 0;
    if (context)
        return nvt_python_is(context, task->reference);
    return !state ||
           (!task->has_greenlets && nvt_python.count(nvt_python.modules) == task->modules);
}

static inline void nvt_tasks_note(struct nvt_thread *thread, int opens)
{
    if (!nvt_tasks_watch)
        return;
    if (NVT_LIKELY(nvt_tasks_is_same(thread)))
        thread->task.open += (uint32_t)(opens < 0 && !thread->task.open ? 0 : opens);
    else
        nvt_tasks_look(thread, opens);
}

#endif
