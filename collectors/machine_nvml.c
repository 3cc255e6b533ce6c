/*
 * Of NVIDIA's devices, through NVML, which comes with the driver (libnvidia-ml.so.1). Nothing of it is needed to build:
 * what is used is declared here as its reference has it, and its versions keep it.
 * https://docs.nvidia.com/deploy/nvml-api/
 *
 * While NVML is open the driver stays loaded: without persistence mode, a program then finds the device initialised already.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/grow.h"
#include "machine_sampler.h"

#define DEVICES_MOST 64

enum { NVML_SUCCESS = 0 };                      /* of nvmlReturn_t */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 }; /* of nvmlClockType_t */
enum { NVML_TEMPERATURE_GPU = 0 };              /* of nvmlTemperatureSensors_t */

/* Why the clock is not higher: nvmlClocksEventReasons. */
#define REASONS_POWER    UINT64_C(0x84) /* SwPowerCap, HwPowerBrakeSlowdown */
#define REASONS_HEAT     UINT64_C(0x60) /* SwThermalSlowdown, HwThermalSlowdown */
#define REASONS_HARDWARE UINT64_C(0x08) /* HwSlowdown */
#define REASONS_SETTING                                                                            \
    UINT64_C(0x112) /* ApplicationsClocksSetting, SyncBoost, DisplayClockSetting */

typedef struct nvml_device *nvml_device;

struct nvml_use {
    unsigned gpu, memory; /* % */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int status);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, nvml_device *device);
    int (*name)(nvml_device, char *name, unsigned size);
    int (*uuid)(nvml_device, char *uuid, unsigned size);
    int (*clock)(nvml_device, int type, unsigned *mhz);
    int (*most)(nvml_device, int type, unsigned *mhz);
    int (*power)(nvml_device, unsigned *mw);
    int (*power_limit)(nvml_device, unsigned *mw);
    int (*temperature)(nvml_device, int sensor, unsigned *celsius);
    int (*use)(nvml_device, struct nvml_use *use);
    int (*memory)(nvml_device, struct nvml_memory *memory);
    int (*reasons)(nvml_device, unsigned long long *reasons);
};

struct devices {
    struct nvml nvml;
    int is_up;
    nvml_device items[DEVICES_MOST];
    unsigned count;
    /* Of the series: which device, and which of its quantities. */
    struct place {
        unsigned device;
        enum nvt_machine_gpu id;
    } * places;
};

/* The newest of the names that the library has. */
static int load(const struct nvml *nvml, void *function, const char *name, const char *older)
{
    void *symbol = dlsym(nvml->library, name);
    if (!symbol && older)
        symbol = dlsym(nvml->library, older);
    memcpy(function, &symbol, sizeof(symbol));
    return symbol ? 0 : -1;
}

/* 0, or -1 where the library is not there or lacks what all versions have. */
static int load_all(struct nvml *nvml)
{
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml->library)
        return -1;
    load(nvml, &nvml->reasons, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons");
    load(nvml, &nvml->power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL);
    return load(nvml, &nvml->init, "nvmlInit_v2", "nvmlInit") ||
                   load(nvml, &nvml->shutdown, "nvmlShutdown", NULL) ||
                   load(nvml, &nvml->error, "nvmlErrorString", NULL) ||
                   load(nvml, &nvml->count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") ||
                   load(nvml, &nvml->device, "nvmlDeviceGetHandleByIndex_v2",
                        "nvmlDeviceGetHandleByIndex") ||
                   load(nvml, &nvml->name, "nvmlDeviceGetName", NULL) ||
                   load(nvml, &nvml->uuid, "nvmlDeviceGetUUID", NULL) ||
                   load(nvml, &nvml->clock, "nvmlDeviceGetClockInfo", NULL) ||
                   load(nvml, &nvml->most, "nvmlDeviceGetMaxClockInfo", NULL) ||
                   load(nvml, &nvml->power, "nvmlDeviceGetPowerUsage", NULL) ||
                   load(nvml, &nvml->temperature, "nvmlDeviceGetTemperature", NULL) ||
                   load(nvml, &nvml->use, "nvmlDeviceGetUtilizationRates", NULL) ||
                   load(nvml, &nvml->memory, "nvmlDeviceGetMemoryInfo", NULL)
               ? -1
               : 0;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_reasons(const struct nvml *nvml, nvml_device device, double *values)
{
    unsigned long long reasons;
    if (!nvml->reasons || nvml->reasons(device, &reasons) != NVML_SUCCESS)
        return;
    values[NVT_MACHINE_BY_POWER] = (reasons & REASONS_POWER) != 0;
    values[NVT_MACHINE_BY_HEAT] = (reasons & REASONS_HEAT) != 0;
    values[NVT_MACHINE_BY_HARDWARE] = (reasons & REASONS_HARDWARE) != 0;
    values[NVT_MACHINE_BY_SETTING] = (reasons & REASONS_SETTING) != 0;
}

/* All quantities of a device, NaN where it has none. */
static void read_device(const struct nvml *nvml, nvml_device device, double *values)
{
    unsigned number;
    struct nvml_use use;
    struct nvml_memory memory;
    for (int i = 0; i < NVT_MACHINE_GPU_COUNT; i++)
        values[i] = NAN;
    if (nvml->clock(device, NVML_CLOCK_SM, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_SM_CLOCK] = number;
    if (nvml->most(device, NVML_CLOCK_SM, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_SM_CLOCK_MOST] = number;
    if (nvml->clock(device, NVML_CLOCK_MEM, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_MEMORY_CLOCK] = number;
    if (nvml->power(device, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_POWER] = number / 1000.0;
    if (nvml->power_limit && nvml->power_limit(device, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_POWER_LIMIT] = number / 1000.0;
    if (nvml->temperature(device, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS)
        values[NVT_MACHINE_TEMPERATURE] = number;
    if (nvml->use(device, &use) == NVML_SUCCESS)
        values[NVT_MACHINE_WORK] = use.gpu;
    if (nvml->memory(device, &memory) == NVML_SUCCESS)
        values[NVT_MACHINE_IN_USE] = (double)memory.used;
    read_reasons(nvml, device, values);
}

static void read_devices(struct nvt_machine_source *source, double *values)
{
    const struct devices *devices = source->state;
    double all[NVT_MACHINE_GPU_COUNT];
    /* Series of a device follow each other. */
    for (size_t i = 0; i < source->count; i++) {
        const struct place *place = &devices->places[i];
        if (!i || place->device != place[-1].device)
            read_device(&devices->nvml, devices->items[place->device], all);
        values[i] = all[place->id];
    }
}

static void close_devices(struct nvt_machine_source *source)
{
    struct devices *devices = source->state;
    if (devices->is_up)
        devices->nvml.shutdown();
    if (devices->nvml.library)
        dlclose(devices->nvml.library);
    free(devices->places);
    free(devices);
}

/* --- opening -------------------------------------------------------------------------------------------- */

static int add_series(struct nvt_machine_source *source, unsigned device, enum nvt_machine_gpu id,
                      const char *name, const char *uuid)
{
    struct devices *devices = source->state;
    struct nvt_machine_series *series =
        nvt_machine_add_series(source, nvt_machine_gpu_quantity(id));
    if (!series || nvt_resize(&devices->places, source->count, sizeof(*devices->places)))
        return -1;
    snprintf(series->domain, sizeof(series->domain), NVT_MACHINE_GPU, device);
    snprintf(series->about, sizeof(series->about), "%s", name);
    snprintf(series->gpu, sizeof(series->gpu), "%s", uuid);
    devices->places[source->count - 1] = (struct place){device, id};
    return 0;
}

/* What the device answers now is what it has. 0, or -1 when out of memory. */
static int add_device(struct nvt_machine_source *source, unsigned index)
{
    struct devices *devices = source->state;
    const struct nvml *nvml = &devices->nvml;
    char name[96] = "", uuid[96] = "";
    double values[NVT_MACHINE_GPU_COUNT];
    if (nvml->device(index, &devices->items[index]) != NVML_SUCCESS)
        return 0;
    nvml->name(devices->items[index], name, sizeof(name));
    nvml->uuid(devices->items[index], uuid, sizeof(uuid));
    read_device(nvml, devices->items[index], values);
    for (int i = 0; i < NVT_MACHINE_GPU_COUNT; i++)
        if (!isnan(values[i]) && add_series(source, index, (enum nvt_machine_gpu)i, name, uuid))
            return -1;
    return 0;
}

int nvt_machine_open_nvml(struct nvt_machine_source *source)
{
    struct devices *devices = calloc(1, sizeof(*devices));
    if (!devices)
        return -1;
    source->state = devices;
    source->read = read_devices;
    source->close = close_devices;
    if (load_all(&devices->nvml)) {
        snprintf(source->absent, sizeof(source->absent),
                 "devices: libnvidia-ml.so.1, which comes with NVIDIA's driver, was not found");
        return 0;
    }
    int status = devices->nvml.init();
    devices->is_up = status == NVML_SUCCESS;
    if (devices->is_up)
        status = devices->nvml.count(&devices->count);
    if (status != NVML_SUCCESS) {
        const char *why = devices->nvml.error(status);
        snprintf(source->absent, sizeof(source->absent), "devices: NVML: %.200s",
                 why ? why : "unknown error");
        return 0;
    }
    for (unsigned i = 0; i < devices->count && i < DEVICES_MOST; i++)
        if (add_device(source, i))
            return -1;
    if (!source->count)
        snprintf(source->absent, sizeof(source->absent), "devices: NVML reports none");
    return 0;
}
