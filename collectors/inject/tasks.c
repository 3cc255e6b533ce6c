#include "tasks.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/pages.h"
#include "events.h"

int nvt_tasks_watch;

/* A context, or a task by its own address. */
struct entry {
    const void *key;
    void *reference;  /* to what the key is; NULL: the place is empty */
    const void *task; /* of a context: key of its task, NULL: it is none's */
    uint32_t number;  /* of the task */
    uint32_t open;    /* of a task: its ranges, as far as they are in nvt_tasks.open */
    uint32_t quiet;   /* so many of those were of no interest at their beginning */
    int is_named;
};

/* Those of a thread, found by their keys: the place is that of the key or one behind it. Never more than half full. */
struct nvt_tasks {
    uint32_t size; /* a power of two */
    uint32_t used;
    /* ranges of all tasks: of the one that runs as they were when it began to; of those that ended so, for ever */
    uint32_t open;
    struct entry entries[];
};

#define FIRST_SIZE 64u

static _Atomic uint32_t numbers, names;
/* Python is being asked: what it does meanwhile is nobody's task. */
static __thread int asks __attribute__((tls_model("initial-exec")));

static size_t bytes_of(uint32_t size)
{
    return sizeof(struct nvt_tasks) + size * sizeof(struct entry);
}

/* The place of a key, or where it would be. */
static struct entry *place_of(struct nvt_tasks *tasks, const void *key)
{
    uint32_t at = (uint32_t)((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (;; at++) {
        struct entry *entry = &tasks->entries[at & (tasks->size - 1)];
        if (!entry->reference || entry->key == key)
            return entry;
    }
}

/* A table for those that live, with room for as many more. NULL when out of memory. */
static struct nvt_tasks *renew(struct nvt_tasks *old)
{
    uint32_t size = FIRST_SIZE, wanted = 0;
    for (uint32_t i = 0; old && i < old->size; i++)
        wanted += old->entries[i].reference && nvt_python_lives(old->entries[i].reference);
    while (size < 4 * (wanted + 1))
        size *= 2;
    struct nvt_tasks *tasks = nvt_pages_new(bytes_of(size));
    if (!tasks)
        return NULL;
    tasks->size = size;
    for (uint32_t i = 0; old && i < old->size; i++) {
        struct entry *entry = &old->entries[i];
        if (entry->reference && nvt_python_lives(entry->reference)) {
            *place_of(tasks, entry->key) = *entry;
            tasks->used++;
        } else if (entry->reference) {
            nvt_python_forget(entry->reference);
        }
    }
    if (old) {
        tasks->open = old->open;
        munmap(old, bytes_of(old->size));
    }
    return tasks;
}

/* The entry of something that has a reference, which is given away; a fresh one where there was none, or that of something else
 * that has gone. */
static struct entry *enter(struct nvt_tasks *tasks, const void *key, void *reference)
{
    struct entry *entry = place_of(tasks, key);
    if (entry->reference == reference) {
        nvt_python_forget(reference);
        return entry;
    }
    if (entry->reference) {
        nvt_python_forget(entry->reference);
    } else {
        tasks->used++;
    }
    *entry = (struct entry){.key = key, .reference = reference};
    return entry;
}

/* The entry of the thread's context, which is asked for where it is new; NULL: there is none, or it cannot be known now. */
static struct entry *ask(struct nvt_thread *thread, const void *context)
{
    struct nvt_tasks *tasks = thread->tasks;
    if (!tasks || 2 * (tasks->used + 2) > tasks->size)
        tasks = renew(tasks);
    if (!tasks)
        return NULL;
    thread->tasks = tasks;
    struct nvt_python_object task = nvt_python_task();
    uint32_t number = 0;
    if (task.reference) {
        struct entry *own = enter(tasks, task.object, task.reference);
        if (!own->number)
            own->number = 1 + atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
        number = own->number;
        if (!context)
            return own;
    }
    void *reference = context ? nvt_python_refer(context) : NULL;
    struct entry *entry = reference ? enter(tasks, context, reference) : NULL;
    if (entry) {
        entry->task = task.reference ? task.object : NULL;
        entry->number = number;
    }
    return entry;
}

/* The entry of the thread's context, if it is known. */
static struct entry *known(struct nvt_tasks *tasks, const void *context)
{
    struct entry *entry = tasks && context ? place_of(tasks, context) : NULL;
    return entry && entry->reference && nvt_python_is(context, entry->reference) ? entry : NULL;
}

/* What is open in the thread's task, where others see it. */
static void settle(struct nvt_thread *thread)
{
    const struct nvt_thread_task *now = &thread->task;
    struct entry *entry = now->number && thread->tasks ? place_of(thread->tasks, now->key) : NULL;
    if (!entry || !entry->reference || entry->number != now->number)
        return;
    thread->tasks->open += now->open - entry->open;
    entry->open = now->open;
    entry->quiet = now->quiet;
}

/* The ranges that are open in the task that runs from here on. */
static void change(struct nvt_thread *thread, const void *key, uint32_t number)
{
    struct nvt_thread_task *now = &thread->task;
    const struct entry *entry = number ? place_of(thread->tasks, key) : NULL;
    if (number == now->number)
        return;
    now->number = number;
    now->key = key;
    now->open = entry ? entry->open : 0;
    now->quiet = entry ? entry->quiet : 0;
}

/* Of a context that cannot be asked for nothing is known: its events are of no task, until the ranges that it has open then have
 * ended. */
static void see_nothing(struct nvt_thread *thread, const void *context)
{
    struct nvt_thread_task *now = &thread->task;
    if (now->is_known || now->context != context)
        *now = (struct nvt_thread_task){.context = context,
                                        .recorded = now->recorded,
                                        .modules = now->modules,
                                        .has_greenlets = now->has_greenlets,
                                        .interleaves = now->interleaves,
                                        .has_names = now->has_names,
                                        .left = now->left,
                                        .looks = now->looks,
                                        .name = now->name};
}

/* See which task runs. */
static void see(struct nvt_thread *thread)
{
    struct nvt_thread_task *now = &thread->task;
    int may_ask = nvt_python_may_ask();
    const void *state = nvt_python.state ? nvt_python.state() : NULL;
    const void *context = nvt_python_context(state);
    settle(thread);
    if (context && context == now->context && !now->is_known && now->open)
        return;
    struct entry *entry = nvt_python.state ? known(thread->tasks, context) : NULL;
    if (may_ask && !now->has_greenlets && nvt_python.count(nvt_python.modules) != now->modules) {
        now->modules = nvt_python.count(nvt_python.modules);
        now->has_greenlets = (uint32_t)nvt_python_has_greenlets();
    }
    if (!entry && may_ask && (context || now->has_greenlets))
        entry = ask(thread, context);
    if (!entry && (context || !nvt_python.state || (state && now->has_greenlets && !may_ask))) {
        see_nothing(thread, context);
        return;
    }
    now->is_known |= may_ask || !state;
    now->context = context;
    now->reference = context && entry ? entry->reference : NULL;
    const void *key = entry ? (context ? entry->task : entry->key) : NULL;
    change(thread, key, entry ? entry->number : 0);
}

/* The task's name, once. */
static void name_task(struct nvt_thread *thread)
{
    struct entry *entry = place_of(thread->tasks, thread->task.key);
    char text[256];
    uint32_t count = atomic_load_explicit(&names, memory_order_relaxed);
    if (!entry->reference || entry->number != thread->task.number || !nvt_python_may_ask() ||
        (thread->task.has_names && (entry->is_named || count >= NVT_TASK_NAMES)))
        return;
    atomic_fetch_add_explicit(&names, 1, memory_order_relaxed);
    size_t length = nvt_python_name(entry->reference, text, sizeof(text));
    entry->is_named = 1;
    thread->task.has_names = 1;
    nvt_define(NVT_DEFINE_TASK, NULL, 0, entry->number, text, length);
}

static uint64_t hash(const char *text, size_t length)
{
    uint64_t value = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * 1099511628211u;
    return value;
}

/* Where nothing is recorded, nothing is named: events until that is asked again. */
#define QUIET_LOOKS 16

/* The thread's own name, which it may be given at any time: it is asked for at the first event and less and less often. The system
 * has the first 15 bytes of it, and those from Python 3.14 on. */
static void name_thread(struct nvt_thread *thread)
{
    struct nvt_thread_task *now = &thread->task;
    char text[256];
    now->looks = now->looks < 65536 ? 2 * now->looks + 1 : now->looks;
    now->left = now->looks;
    size_t length = nvt_python_may_ask() ? nvt_python_thread_name(text, sizeof(text)) : 0;
    uint64_t name = length ? hash(text, length) : now->name;
    if (name != now->name)
        nvt_define(NVT_DEFINE_THREAD, NULL, 0, (uint64_t)syscall(SYS_gettid), text, length);
    now->name = name;
}

void nvt_tasks_look(struct nvt_thread *thread, int opens)
{
    if (asks)
        return;
    asks = 1;
    see(thread);
    struct nvt_thread_task *now = &thread->task;
    const int is_quiet = nvt_event_is_quiet(thread);
    if (!now->left && is_quiet)
        now->left = QUIET_LOOKS;
    else if (!now->left)
        name_thread(thread);
    if (opens > 0 && now->number && thread->tasks->open > now->open)
        now->interleaves = 1;
    if (now->interleaves && now->number && !is_quiet)
        name_task(thread);
    asks = 0;
    now->open += (uint32_t)(opens < 0 && !now->open ? 0 : opens);
}

int nvt_tasks_record(struct nvt_thread *thread, int is_pop)
{
    uint32_t number = thread->task.number;
    if (NVT_LIKELY(number == thread->task.recorded))
        return 0;
    if (nvt_thread_slot(thread, NVT_WORD(NVT_TASK, 0, 0, number & 0xffff, number >> 16), is_pop))
        return -1;
    thread->task.recorded = number;
    return 0;
}

void nvt_tasks_new_ring(struct nvt_thread *thread)
{
    thread->task.recorded = thread->task.has_names = 0;
    thread->task.name = 0;
    thread->task.left = thread->task.looks = 0;
}

void nvt_tasks_close(struct nvt_thread *thread)
{
    thread->task.open = thread->task.quiet = 0;
    for (uint32_t i = 0; thread->tasks && i < thread->tasks->size; i++)
        thread->tasks->entries[i].open = thread->tasks->entries[i].quiet = 0;
    if (thread->tasks)
        thread->tasks->open = 0;
}

void nvt_tasks_forget(struct nvt_thread *thread)
{
    thread->task = (struct nvt_thread_task){0};
    nvt_tasks_close(thread);
}

void nvt_tasks_free(struct nvt_thread *thread)
{
    if (thread->tasks)
        munmap(thread->tasks, bytes_of(thread->tasks->size));
    thread->tasks = NULL;
}
