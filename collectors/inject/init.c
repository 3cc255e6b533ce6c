/*
 * Where NVTX finds us: NVTX_INJECTION64_PATH names this library, and each copy of NVTX in the
 * process (they are header-only, so there may be several) calls InitializeInjectionNvtx2 once.
 */
#include <stdlib.h>

#include "../../lib/count_of.h"
#include "events.h"
#include "modules.h"
#include "session.h"
#include "tasks.h"
#include "thread.h"

static const struct nvt_module *const modules[] = {
    &nvt_module_core, &nvt_module_core2, &nvt_module_cuda, &nvt_module_cudart, &nvt_module_opencl,
};

static const struct nvt_extension *const extensions[] = {&nvt_extension_payload,
                                                         &nvt_extension_counters};

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

NVT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

NVT_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    if (!is_asked_for())
        return 0;
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
        return 0;
    const NvtxExportTableVersionInfo *version = get_table(NVTX_ETID_VERSIONINFO);
    if (version && version->struct_size >= sizeof(*version))
        version->SetInjectionNvtxVersion(NVTX_VERSION);
    for (size_t i = 0; i < NVT_COUNT_OF(modules); i++)
        attach(callbacks, modules[i]);
    struct nvt_module core = nvt_module_short(NVTX_CB_MODULE_CORE);
    struct nvt_module core2 = nvt_module_short(NVTX_CB_MODULE_CORE2);
    attach(callbacks, &core);
    attach(callbacks, &core2);
    return 1;
}

NVT_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module);

NVT_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
{
    if (!is_asked_for())
        return 0;
    if (!module->segmentsCount)
        return 0;
    for (size_t i = 0; i < NVT_COUNT_OF(extensions); i++)
        if (extensions[i]->module == module->moduleId) {
            fill(&module->segments[0], extensions[i]);
            return 1;
        }
    return 0;
}
