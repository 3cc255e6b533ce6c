#include "python_tasks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

typedef void object;

/* What of Python's interface is used: all of it is in each version from 3.9 on, but for what has another name in later ones. */
#define FUNCTIONS(X)                                                                               \
    X(void *, PyGILState_GetThisThreadState, (void))                                               \
    X(void *, PyInterpreterState_Get, (void))                                                      \
    X(void *, PyInterpreterState_Main, (void))                                                     \
    X(int, Py_IsInitialized, (void))                                                               \
    X(object *, PyContext_New, (void))                                                             \
    X(int, PyContext_Enter, (object *))                                                            \
    X(int, PyContext_Exit, (object *))                                                             \
    X(void, Py_IncRef, (object *))                                                                 \
    X(void, Py_DecRef, (object *))                                                                 \
    X(object *, PyImport_GetModuleDict, (void))                                                    \
    X(long, PyDict_Size, (object *))                                                               \
    X(object *, PyImport_GetModule, (object *))                                                    \
    X(object *, PyUnicode_FromString, (const char *))                                              \
    X(const char *, PyUnicode_AsUTF8AndSize, (object *, ssize_t *))                                \
    X(object *, PyObject_GetAttrString, (object *, const char *))                                  \
    X(object *, PyObject_CallObject, (object *, object *))                                         \
    X(object *, PyObject_GetItem, (object *, object *))                                            \
    X(object *, PyEval_GetFrame, (void))                                                           \
    X(object *, PyFrame_GetBack, (object *))                                                       \
    X(object *, PyFrame_GetCode, (object *))                                                       \
    X(object *, PyObject_Type, (object *))                                                         \
    X(object *, PyLong_FromUnsignedLong, (unsigned long))                                          \
    X(long, PyLong_AsLong, (object *))                                                             \
    X(object *, PyWeakref_NewRef, (object *, object *))                                            \
    X(void, PyErr_Fetch, (object **, object **, object **))                                        \
    X(void, PyErr_Restore, (object *, object *, object *))                                         \
    X(void, PyErr_Clear, (void))
#define OPTIONAL(X)                                                                                \
    X(void *, PyThreadState_GetUnchecked, (void))                                                  \
    X(void *, _PyThreadState_UncheckedGet, (void))                                                 \
    X(int, PyWeakref_GetRef, (object *, object **))                                                \
    X(object *, PyWeakref_GetObject, (object *))

static struct {
#define MEMBER(type, name, arguments) type(*name) arguments;
    FUNCTIONS(MEMBER) OPTIONAL(MEMBER) object *none;
} python;

struct nvt_python nvt_python;

static _Atomic int is_found, is_known; /* is_known: 1, or -1 as nothing is to be known */

int nvt_python_is_there(void)
{
    int missing = 0;
    if (atomic_load_explicit(&is_found, memory_order_acquire))
        return 1;
    if (!dlsym(RTLD_DEFAULT, "PyContext_New"))
        return 0;
#define FIND(type, name, arguments) *(void **)&python.name = dlsym(RTLD_DEFAULT, #name);
    FUNCTIONS(FIND)
    OPTIONAL(FIND)
#define CHECK(type, name, arguments) missing |= !python.name;
    FUNCTIONS(CHECK) python.none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    missing |= !python.none || (!python.PyWeakref_GetRef && !python.PyWeakref_GetObject);
    missing |= !python.PyThreadState_GetUnchecked && !python._PyThreadState_UncheckedGet;
    atomic_store_explicit(&is_found, !missing, memory_order_release);
    return !missing;
}

/* Whether the calling thread is the one that may use the objects of Python's main interpreter. Others have objects of their own,
 * which must not be let go of elsewhere: they are not asked. */
static int holds_gil(void)
{
    void *own = python.Py_IsInitialized() ? python.PyGILState_GetThisThreadState() : NULL;
    return own &&
           own == (python.PyThreadState_GetUnchecked ? python.PyThreadState_GetUnchecked()
                                                     : python._PyThreadState_UncheckedGet()) &&
           python.PyInterpreterState_Get() == python.PyInterpreterState_Main();
}

/* --- where contexts are --------------------------------------------------------------------------- */

#define STATE_WORDS 128

/* Enter a new context, and leave it: the place of the thread's state that has it within, and not behind; -1: there is none. Nothing
 * is read behind that place, so nothing behind the state's end. `only`: that place alone is looked at, -1: all are. */
static int find_context(const void *state, int only)
{
    const volatile uintptr_t *words = state;
    object *context = python.PyContext_New();
    int at = only < 0 ? 0 : only;
    if (!context)
        return -1;
    if (python.PyContext_Enter(context)) {
        python.Py_DecRef(context);
        return -1;
    }
    while (only < 0 && at < STATE_WORDS && words[at] != (uintptr_t)context)
        at++;
    int is_within = at < STATE_WORDS && words[at] == (uintptr_t)context;
    int failed = python.PyContext_Exit(context);
    int is_there = is_within && !failed && words[at] != (uintptr_t)context;
    python.Py_DecRef(context);
    return is_there ? at : -1;
}

/* Bytes from an object of that type to the first weak reference to it, 0: unknown. */
static size_t references_of_contexts(void)
{
    object *context = python.PyContext_New(), *type = NULL, *offset = NULL;
    if (context)
        type = python.PyObject_Type(context);
    if (type)
        offset = python.PyObject_GetAttrString(type, "__weakrefoffset__");
    long bytes = offset ? python.PyLong_AsLong(offset) : 0;
    if (offset)
        python.Py_DecRef(offset);
    if (type)
        python.Py_DecRef(type);
    if (context)
        python.Py_DecRef(context);
    return bytes > 0 && bytes < 4096 ? (size_t)bytes : 0;
}

static int find_places(void)
{
    const void *state = python.PyGILState_GetThisThreadState();
    int at = find_context(state, -1);
    nvt_python.context = at < 0 ? 0 : (size_t)at * sizeof(uintptr_t);
    nvt_python.references = references_of_contexts();
    return at >= 0 && find_context(state, at) == at && nvt_python.references ? 0 : -1;
}

/* The error that the program is about to raise, kept while we ask. */
struct pending {
    object *type, *value, *trace;
};

static struct pending put_aside(void)
{
    struct pending pending = {NULL, NULL, NULL};
    python.PyErr_Fetch(&pending.type, &pending.value, &pending.trace);
    return pending;
}

static void put_back(struct pending pending)
{
    python.PyErr_Clear();
    python.PyErr_Restore(pending.type, pending.value, pending.trace);
}

int nvt_python_may_ask(void)
{
    static _Atomic int begun;
    int known = atomic_load_explicit(&is_known, memory_order_acquire);
    if (known < 0 || !atomic_load_explicit(&is_found, memory_order_acquire) || !holds_gil())
        return 0;
    if (known)
        return 1;
    if (atomic_exchange(&begun, 1))
        return 0;
    struct pending pending = put_aside();
    int failed = find_places();
    put_back(pending);
    nvt_python.modules = python.PyImport_GetModuleDict();
    nvt_python.count = python.PyDict_Size;
    failed |= !nvt_python.modules;
    if (!failed)
        python.Py_IncRef(nvt_python.modules);
    if (!failed)
        nvt_python.state = python.PyGILState_GetThisThreadState;
    atomic_store_explicit(&is_known, failed ? -1 : 1, memory_order_release);
    return !failed;
}

/* --- tasks ---------------------------------------------------------------------------------------- */

static void drop(object *it)
{
    if (it)
        python.Py_DecRef(it);
}

/* An attribute of an object that is given away; NULL: there is none. */
static object *take(object *of, const char *name)
{
    object *found = of ? python.PyObject_GetAttrString(of, name) : NULL;
    if (of && !found)
        python.PyErr_Clear();
    drop(of);
    return found;
}

static object *call(object *function)
{
    object *result = function ? python.PyObject_CallObject(function, NULL) : NULL;
    if (function && !result)
        python.PyErr_Clear();
    drop(function);
    return result;
}

/* A module that has been imported, NULL: it has not. */
static object *module(const char *name)
{
    object *text = python.PyUnicode_FromString(name);
    object *found = text ? python.PyImport_GetModule(text) : NULL;
    python.PyErr_Clear();
    drop(text);
    return found;
}

/* None is nothing. */
static object *unless_none(object *it)
{
    if (!it || it != python.none)
        return it;
    drop(it);
    return NULL;
}

/* asyncio's, by functions of C alone: up to 3.11 current_task is none, but its table is there. */
static object *asyncio_task(void)
{
    object *loop = unless_none(call(take(module("_asyncio"), "_get_running_loop")));
    if (!loop)
        return NULL;
    object *task = call(take(module("_asyncio"), "current_task"));
    object *tasks = task ? NULL : take(module("_asyncio"), "_current_tasks");
    if (tasks)
        task = python.PyObject_GetItem(tasks, loop);
    python.PyErr_Clear();
    drop(tasks);
    drop(loop);
    return unless_none(task);
}

static object *trio_task(void)
{
    object *trio = module("trio");
    return trio ? unless_none(call(take(take(trio, "lowlevel"), "current_task"))) : NULL;
}

/* The greenlet, unless it is the thread's first. */
static object *greenlet_task(void)
{
    object *current = call(take(module("greenlet"), "getcurrent"));
    if (!current)
        return NULL;
    python.Py_IncRef(current);
    object *parent = unless_none(take(current, "parent"));
    if (!parent) {
        drop(current);
        return NULL;
    }
    drop(parent);
    return current;
}

struct nvt_python_object nvt_python_task(void)
{
    struct nvt_python_object result = {NULL, NULL};
    struct pending pending = put_aside();
    object *task = asyncio_task();
    task = task ? task : trio_task();
    task = task ? task : greenlet_task();
    if (task) {
        result.object = task;
        result.reference = python.PyWeakref_NewRef(task, NULL);
    }
    put_back(pending);
    drop(task);
    return result;
}

void *nvt_python_refer(const void *context)
{
    struct pending pending = put_aside();
    void *reference = python.PyWeakref_NewRef((object *)(uintptr_t)context, NULL);
    put_back(pending);
    return reference;
}

/* What it refers to, which is then ours too; NULL: that is gone. */
static object *target(void *reference)
{
    object *found = NULL;
    if (python.PyWeakref_GetRef)
        return python.PyWeakref_GetRef(reference, &found) == 1 ? found : NULL;
    found = python.PyWeakref_GetObject(reference);
    if (!found || found == python.none)
        return NULL;
    python.Py_IncRef(found);
    return found;
}

int nvt_python_lives(void *reference)
{
    object *found = target(reference);
    drop(found);
    return found != NULL;
}

void nvt_python_forget(void *reference)
{
    drop(reference);
}

int nvt_python_has_greenlets(void)
{
    struct pending pending = put_aside();
    object *found = module("greenlet");
    put_back(pending);
    drop(found);
    return found != NULL;
}

/* --- names ---------------------------------------------------------------------------------------- */

/* A text object, which is given away, into out, whole characters. Bytes. */
static size_t copy_text(object *text, char *out, size_t size)
{
    ssize_t length = 0;
    const char *bytes = text ? python.PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    size_t count = 0;
    if (bytes)
        count = (size_t)length < size ? (size_t)length : size - 1;
    else
        python.PyErr_Clear();
    while (bytes && count && ((unsigned char)bytes[count] & 0xc0) == 0x80)
        count--;
    if (bytes)
        memcpy(out, bytes, count);
    out[count] = 0;
    drop(text);
    return count;
}

static object *another(object *it)
{
    python.Py_IncRef(it);
    return it;
}

/* The code of the outermost function that runs now: of a greenlet its own. */
static object *outermost_code(void)
{
    object *frame = python.PyEval_GetFrame();
    if (!frame)
        return NULL;
    frame = another(frame);
    for (object *back = python.PyFrame_GetBack(frame); back; back = python.PyFrame_GetBack(frame)) {
        drop(frame);
        frame = back;
    }
    object *code = python.PyFrame_GetCode(frame);
    drop(frame);
    return code;
}

/* What a task runs: asyncio's and trio's coroutine, gevent's function; of a bare greenlet, which does not know it, what runs now. */
static size_t copy_function(object *task, char *out, size_t size)
{
    object *code = call(take(another(task), "get_coro"));
    code = code ? code : take(another(task), "coro");
    code = code ? code : take(another(task), "_run");
    return code ? copy_text(take(code, "__qualname__"), out, size)
                : copy_text(take(outermost_code(), "co_name"), out, size);
}

size_t nvt_python_name(void *reference, char *out, size_t size)
{
    struct pending pending = put_aside();
    char runs[128] = "";
    size_t length = 0, more = 0;
    object *task = target(reference);
    out[0] = 0;
    if (task) {
        object *name = call(take(another(task), "get_name"));
        length = copy_text(name ? name : take(another(task), "name"), out, size);
        more = copy_function(task, runs, sizeof(runs));
    }
    /* Whoever has given it no name: what asyncio and gevent call it then. */
    int is_unnamed = !length || !strncmp(out, "Task-", 5) || !strncmp(out, "Greenlet-", 9);
    if (task && !length)
        length = copy_text(take(take(another(task), "__class__"), "__name__"), out, size);
    if (is_unnamed && more && length + more + 1 < size) {
        out[length++] = ' ';
        memcpy(out + length, runs, more + 1);
        length += more;
    }
    put_back(pending);
    drop(task);
    return length;
}

size_t nvt_python_thread_name(char *out, size_t size)
{
    struct pending pending = put_aside();
    object *active = take(module("threading"), "_active");
    object *id = active ? python.PyLong_FromUnsignedLong((unsigned long)pthread_self()) : NULL;
    object *thread = id ? python.PyObject_GetItem(active, id) : NULL;
    python.PyErr_Clear();
    size_t length = copy_text(take(thread, "_name"), out, size);
    if (!strncmp(out, "Dummy-", 6) || !strcmp(out, "MainThread"))
        length = 0;
    drop(id);
    drop(active);
    put_back(pending);
    return length;
}
