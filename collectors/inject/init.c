/*
 * Where NVTX finds us: NVTX_INJECTION64_PATH names this library, and each copy of NVTX in the
 * process (they are header-only, so there may be several) calls InitializeInjectionNvtx2 once.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "../../lib/clock.h"
#include "../../lib/count_of.h"
#include "events.h"
#include "modules.h"
#include "session.h"
#include "tasks.h"
#include "thread.h"

#define MODULES 7
static void list_modules(struct nvt_module out[MODULES])
{
    const struct nvt_module *const whole[] = {&nvt_module_core, &nvt_module_core2, &nvt_module_cuda,
                                              &nvt_module_cudart, &nvt_module_opencl};
    for (size_t i = 0; i < NVT_COUNT_OF(whole); i++)
        out[i] = *whole[i];
    out[MODULES - 2] = nvt_module_short(NVTX_CB_MODULE_CORE);
    out[MODULES - 1] = nvt_module_short(NVTX_CB_MODULE_CORE2);
}

static const struct nvt_extension *const extensions[] = {
    &nvt_extension_payload, &nvt_extension_counters, &nvt_extension_memory};

/* --- forks ------------------------------------------------------------------------------------ */

/*
 * While NVTX comes up in one thread, the others that call it spin, and a child that one of them forks would spin for ever: it has
 * the flag, and nobody who clears it. So fork() waits until we have set the functions, after which nobody looks at the flag. That takes
 * a millisecond; what never ends is not waited for.
 */
#define PATIENCE_NS INT64_C(1000000000)

static _Atomic int coming_up;
static __thread int comes_up __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    /* A handler of a signal that came in the middle may fork. */
    if (comes_up || !atomic_load(&coming_up))
        return;
    const int64_t began = nvt_monotonic_ns();
    while (atomic_load(&coming_up) && nvt_monotonic_ns() - began < PATIENCE_NS)
        nanosleep(&pause, NULL);
}

static void in_child(void)
{
    atomic_store(&coming_up, comes_up);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, NULL, in_child);
}

static void begin(void)
{
    comes_up++;
    atomic_fetch_add(&coming_up, 1);
}

static int end(int status)
{
    atomic_fetch_sub(&coming_up, 1);
    comes_up--;
    return status;
}

/* --- functions -------------------------------------------------------------------------------- */

static void attach(const NvtxExportTableCallbacks *callbacks, const struct nvt_module *module)
{
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks->GetModuleFunctionTable(module->module, &table, &size) || !table)
        return;
    for (size_t i = 0; i < module->count; i++)
        if (module->callbacks[i].id < size && table[module->callbacks[i].id])
            /* Release: who is sent here by this finds the session joined. NVTX reads it without order: the other
             * half is in new_thread(). */
            __atomic_store_n(table[module->callbacks[i].id], module->callbacks[i].function,
                             __ATOMIC_RELEASE);
}

static int has_function(const struct nvt_module *modules, size_t count, NvtxCallbackModule module,
                        unsigned id)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; modules[i].module == module && k < modules[i].count; k++)
            if (modules[i].callbacks[k].id == id)
                return 1;
    return 0;
}

/* What no module has does nothing from here on, without waiting for NVTX to have it so. */
static void leave_out(const NvtxExportTableCallbacks *callbacks, const struct nvt_module *modules,
                      size_t count)
{
    for (int module = NVTX_CB_MODULE_CORE; module <= NVTX_CB_MODULE_SYNC; module++) {
        NvtxFunctionTable table = NULL;
        unsigned size = 0;
        if (!callbacks->GetModuleFunctionTable((NvtxCallbackModule)module, &table, &size) || !table)
            continue;
        for (unsigned id = 0; id < size; id++)
            if (table[id] && !has_function(modules, count, (NvtxCallbackModule)module, id))
                __atomic_store_n(table[id], NULL, __ATOMIC_RELEASE);
    }
}

static void fill(const nvtxExtModuleSegment_t *segment, const struct nvt_extension *extension)
{
    for (size_t i = 0; i < extension->count; i++)
        if (extension->callbacks[i].id < segment->slotCount)
            segment->functionSlots[extension->callbacks[i].id] =
                (intptr_t)extension->callbacks[i].function;
}

/*
 * Whether we record NVTX in this process. A dlopen() that ran out of memory may have left us loaded, and
 * the thread-local state of the threads that were there without its first values (glibc 2.36): then
 * every call of NVTX would crash, and we are better not there.
 */
static int is_asked_for(void)
{
    nvt_tasks_watch |= nvt_python_is_there();
    return nvt_self && nvt_session_join() && (nvt_session.control->trace & NVT_TRACE_NVTX);
}

static int come_up(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    const NvtxExportTableVersionInfo *version = get_table(NVTX_ETID_VERSIONINFO);
    const int has_table = callbacks && callbacks->struct_size >= sizeof(*callbacks);
    const int has_version = version && version->struct_size >= sizeof(*version); /* NVTX 3 */
    const int records = is_asked_for() && has_table;
    struct nvt_module modules[MODULES];
    if (records)
        list_modules(modules);
    for (size_t i = 0; records && i < MODULES; i++)
        attach(callbacks, &modules[i]);
    if (records && has_version)
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    if (has_table && has_version)
        leave_out(callbacks, modules, records ? MODULES : 0);
    return records;
}

NVT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

NVT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    begin();
    return end(come_up(get_table));
}

static int come_up_with(nvtxExtModuleInfo_t *module)
{
    if (!is_asked_for() || !module->segmentsCount)
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(extensions); i++)
        if (extensions[i]->module == module->moduleId) {
            fill(&module->segments[0], extensions[i]);
            return 1;
        }
    return 0;
}

NVT_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

NVT_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    begin();
    return end(come_up_with(module));
}
