#include "data_sheet.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/count_of.h"

/* Parts that a name has, the more special ones first. TFLOP/s (int8: TOP/s) and GB/s; 0: the GPU has no such unit, or the sheet does not
 * say. Where tensor cores multiply fp64, it is their peak. */
static const struct sheet {
    const char *name, *with;
    double tera[NVT_ROOFS]; /* fp32, tf32, bf16, fp16, int8, fp64, fp8 */
    double giga;
} sheets[] = {
    {"H200", "H200", {67, 494.7, 989.4, 989.4, 1978.9, 67, 1978.9}, 4800},
    {"H100", "PCIe", {51.2, 378, 756, 756, 1513, 51, 1513}, 2000},
    {"H100", "HBM3", {67, 494.7, 989.4, 989.4, 1978.9, 67, 1978.9}, 3350},
    {"A100", "SXM4-40GB", {19.5, 156, 312, 312, 624, 19.5, 0}, 1555},
    {"A100", "SXM4-80GB", {19.5, 156, 312, 312, 624, 19.5, 0}, 2039},
    {"A100", "PCIE-40GB", {19.5, 156, 312, 312, 624, 19.5, 0}, 1555},
    {"A100", "80GB PCIe", {19.5, 156, 312, 312, 624, 19.5, 0}, 1935},
    {"L40S", "L40S", {91.6, 183, 362, 362, 733, 0, 733}, 864},
    {"NVIDIA L4", "L4", {30.3, 60, 121, 121, 242, 0, 242}, 300},
    {"NVIDIA A10", "A10", {31.2, 62.5, 125, 125, 250, 0, 0}, 600},
    {"Tesla T4", "T4", {8.1, 0, 0, 65, 130, 0, 0}, 320},
    {"V100", "SXM2", {15.7, 0, 0, 125, 0, 7.8, 0}, 900},
    {"V100", "PCIE", {14, 0, 0, 112, 0, 7, 0}, 900},
};

/* Whether a name has a part that is a word of its own: "A10" is not in "A100". */
static int has_word(const char *text, const char *part)
{
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        const char behind = at[strlen(part)];
        if (!behind || behind == ' ' || behind == '-')
            return 1;
    }
    return 0;
}

int nvt_data_sheet(const char *device, struct nvt_peaks *peaks)
{
    for (size_t i = 0; device && i < NVT_COUNT_OF(sheets); i++) {
        const struct sheet *sheet = &sheets[i];
        if (!has_word(device, sheet->name) || !has_word(device, sheet->with))
            continue;
        *peaks = (struct nvt_peaks){.bytes = sheet->giga * 1e9};
        for (int roof = 0; roof < NVT_ROOFS; roof++)
            peaks->flops[roof] = sheet->tera[roof] * 1e12;
        snprintf(peaks->device, sizeof(peaks->device), "%s", device);
        return 1;
    }
    return 0;
}
