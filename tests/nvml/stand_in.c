/*
 * In place of libnvidia-ml.so.1: two devices, of which the first works at its power limit. NVML_STAND_IN says what else:
 * "fails": it does not start; "hangs": it takes a minute to. With OLDER it has a name of before driver 535.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/count_of.h"

enum { SUCCESS = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };

struct device {
    const char *name, *uuid;
    unsigned clock, most, memory_clock, mw, limit_mw, celsius, use;
    unsigned long long used, reasons;
};

static const struct device devices[] = {
    {"NVIDIA H100 80GB HBM3", "GPU-00000000-0000-0000-0000-000000000001", 1305, 1980, 2619, 690000,
     700000, 66, 98, 5ull << 30, 0x4},
    {"NVIDIA H100 80GB HBM3", "GPU-00000000-0000-0000-0000-000000000002", 345, 1980, 2619, 0, 0, 30,
     0, 1ull << 30, 0x1},
};

static int is(const char *what)
{
    const char *wish = getenv("NVML_STAND_IN");
    return wish && !strcmp(wish, what);
}

int nvmlInit_v2(void)
{
    if (is("hangs"))
        sleep(60);
    return is("fails") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int status)
{
    return status == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "other";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = NVT_COUNT_OF(devices);
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, const struct device **device)
{
    *device = &devices[index];
    return SUCCESS;
}

static int put_text(const char *text, char *out, unsigned size)
{
    strncpy(out, text, size);
    return SUCCESS;
}

int nvmlDeviceGetName(const struct device *device, char *name, unsigned size)
{
    return put_text(device->name, name, size);
}

int nvmlDeviceGetUUID(const struct device *device, char *uuid, unsigned size)
{
    return put_text(device->uuid, uuid, size);
}

int nvmlDeviceGetClockInfo(const struct device *device, int type, unsigned *mhz)
{
    *mhz = type == 1 ? device->clock : type == 2 ? device->memory_clock : 0;
    return SUCCESS;
}

int nvmlDeviceGetMaxClockInfo(const struct device *device, int type, unsigned *mhz)
{
    *mhz = type == 1 ? device->most : 0;
    return SUCCESS;
}

/* The second has no sensor. */
static int put_power(unsigned from, unsigned *mw)
{
    *mw = from;
    return from ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetPowerUsage(const struct device *device, unsigned *mw)
{
    return put_power(device->mw, mw);
}

int nvmlDeviceGetEnforcedPowerLimit(const struct device *device, unsigned *mw)
{
    return put_power(device->limit_mw, mw);
}

int nvmlDeviceGetTemperature(const struct device *device, int sensor, unsigned *celsius)
{
    *celsius = sensor ? 0 : device->celsius;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(const struct device *device, unsigned use[2])
{
    use[0] = device->use;
    use[1] = 1;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(const struct device *device, unsigned long long memory[3])
{
    memory[0] = 80ull << 30;
    memory[1] = memory[0] - device->used;
    memory[2] = device->used;
    return SUCCESS;
}

#ifdef OLDER
int nvmlDeviceGetCurrentClocksThrottleReasons(const struct device *device,
                                              unsigned long long *reasons)
#else
int nvmlDeviceGetCurrentClocksEventReasons(const struct device *device, unsigned long long *reasons)
#endif
{
    *reasons = device->reasons;
    return SUCCESS;
}
