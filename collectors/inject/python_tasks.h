/*
 * Which task of Python a thread runs: of asyncio (whatever its loop), trio, or a greenlet. Asked of the interpreter that is in
 * the process, whichever version it is (3.9 or later): nothing of Python is needed to build this, and none of its code runs.
 *
 * Tasks run in contexts of their own (PEP 567), and a thread state of Python has a pointer to the one that its thread runs in.
 * Where it stands is found by entering two contexts. So a thread's own state is all that an event looks at, without the GIL; and
 * Python is asked, with the GIL, once for each context in which something is recorded.
 */
#ifndef NVT_INJECT_PYTHON_TASKS_H
#define NVT_INJECT_PYTHON_TASKS_H

#include <stddef.h>

/* Where contexts are; zeros until nvt_python_may_ask. Of all threads, and written once. */
struct nvt_python {
    /* the calling thread's, NULL: it has none. NULL: there is no Python, or none that we know */
    void *(*state)(void);
    size_t context;    /* of a thread state: bytes to its context */
    size_t references; /* of a context: bytes to the first weak reference to it */
    long (*count)(void *);
    /* all that are imported: so many are in it as `count` says, with the GIL or without */
    void *modules;
};
extern struct nvt_python nvt_python;

/* Look for an interpreter. Whether there is one, which may come to be ready. */
int nvt_python_is_there(void);

/*
 * Find out where contexts are, once. To be called by a thread that may hold the GIL: it is looked whether it does. 1: the thread
 * may ask on; 0: not now, or never.
 */
int nvt_python_may_ask(void);

/* An object that stands for a task or a context, and a weak reference to it, which is ours. */
struct nvt_python_object {
    const void *object;
    void *reference; /* NULL: there is no task, or no memory */
};

/* All of these with the GIL. The thread's task; a weak reference to a context (NULL: no memory). */
struct nvt_python_object nvt_python_task(void);
void *nvt_python_refer(const void *context);

/* Whether what it refers to still is. */
int nvt_python_lives(void *reference);
void nvt_python_forget(void *reference);

/* What the task that a reference of nvt_python_task is to is called, with what it runs: "Task-3 fetch". Bytes, 0: nothing. */
size_t nvt_python_name(void *reference, char *out, size_t size);

/* What Python's threading calls the calling thread, with the GIL. Bytes, 0: nothing, or what it calls any thread that is not its own,
 * and the first one. */
size_t nvt_python_thread_name(char *out, size_t size);

/* Whether there are greenlets, which may do without contexts: as soon as that module has been imported. */
int nvt_python_has_greenlets(void);

/* The context of a thread's state, NULL: none. */
static inline const void *nvt_python_context(const char *state)
{
    return state ? *(const void *const *)(const void *)(state + nvt_python.context) : NULL;
}

/* Whether the context that a weak reference was made to is still the one at this address: a new one has no such reference. */
static inline int nvt_python_is(const void *context, const void *reference)
{
    return *(const void *const *)(const void *)((const char *)context + nvt_python.references) ==
           reference;
}

#endif
