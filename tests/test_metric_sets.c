/*
 * What cupti_profiler.h declares, against NVIDIA's headers; and, by NVIDIA's own libcupti, which needs no GPU for it, that the
 * metrics of --trace metrics=throughput take one pass on a GH100, and what becomes of names that it does not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if !defined(HAVE_CUPTI) || !__has_include(<cupti_pmsampling.h>)

int main(void)
{
    puts("CUPTI's headers, of CUDA 12.6 or later, are not here: there is nothing to compare with");
    return 0;
}

#else

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include "../collectors/inject/cupti_profiler.h"
#include "../lib/count_of.h"
#include "../lib/gpu_metric_names.h"
#include "cupti_kit.h"

/* --- the declarations --------------------------------------------------------------------------- */

#define SAME(ours, field, theirs, its_field)                                                       \
    assert_int_equal(offsetof(struct ours, field), offsetof(theirs, its_field));                   \
    assert_int_equal(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->its_field))

static void declarations_of_the_host_are_nvidias(void **state)
{
    (void)state;
    SAME(nvt_profiler_start, unused, CUpti_Profiler_Initialize_Params, pPriv);
    SAME(nvt_host_new, what, CUpti_Profiler_Host_Initialize_Params, profilerType);
    SAME(nvt_host_new, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
    SAME(nvt_host_new, availability, CUpti_Profiler_Host_Initialize_Params,
         pCounterAvailabilityImage);
    SAME(nvt_host_new, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
    SAME(nvt_host_free, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
    SAME(nvt_host_metrics, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
    SAME(nvt_host_metrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
    SAME(nvt_host_metrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
    SAME(nvt_host_config_size, config_size, CUpti_Profiler_Host_GetConfigImageSize_Params,
         configImageSize);
    SAME(nvt_host_config, config_size, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
    SAME(nvt_host_config, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
    SAME(nvt_host_passes, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
    SAME(nvt_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
    SAME(nvt_host_values, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
    SAME(nvt_host_values, image_size, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
         counterDataImageSize);
    SAME(nvt_host_values, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
    SAME(nvt_host_values, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
    SAME(nvt_host_values, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
    SAME(nvt_host_values, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
    assert_int_equal(NVT_HOST_OF_SAMPLES, CUPTI_PROFILER_TYPE_PM_SAMPLING);
    assert_int_equal(NVT_HOST_OF_RANGES, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
}

static void declarations_of_the_device_are_nvidias(void **state)
{
    (void)state;
    SAME(nvt_profiler_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
    SAME(nvt_profiler_supported, is_supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
    SAME(nvt_profiler_supported, architecture, CUpti_Profiler_DeviceSupported_Params, architecture);
    SAME(nvt_profiler_supported, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
    SAME(nvt_profiler_supported, confidential, CUpti_Profiler_DeviceSupported_Params,
         confidentialCompute);
    SAME(nvt_profiler_supported, what, CUpti_Profiler_DeviceSupported_Params, api);
    assert_int_equal(NVT_PROFILER_PM_SAMPLING, CUPTI_PROFILER_PM_SAMPLING);
    assert_int_equal(NVT_SUPPORT_FULL, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
    SAME(nvt_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
    SAME(nvt_chip, name, CUpti_Device_GetChipName_Params, pChipName);
    SAME(nvt_pm_availability, image_size, CUpti_PmSampling_GetCounterAvailability_Params,
         counterAvailabilityImageSize);
    SAME(nvt_pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params,
         pCounterAvailabilityImage);
    SAME(nvt_pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
    SAME(nvt_pm_enable, sampler, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
    SAME(nvt_pm_switch, sampler, CUpti_PmSampling_Start_Params, pPmSamplingObject);
    SAME(nvt_pm_switch, sampler, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
    SAME(nvt_pm_config, config_size, CUpti_PmSampling_SetConfig_Params, configSize);
    SAME(nvt_pm_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
    SAME(nvt_pm_config, hardware_buffer, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
    SAME(nvt_pm_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
    SAME(nvt_pm_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
    SAME(nvt_pm_config, append, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
    SAME(nvt_pm_image_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
    SAME(nvt_pm_image_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
    SAME(nvt_pm_image_size, image_size, CUpti_PmSampling_GetCounterDataSize_Params,
         counterDataSize);
    SAME(nvt_pm_image, image_size, CUpti_PmSampling_CounterDataImage_Initialize_Params,
         counterDataSize);
    SAME(nvt_pm_image, image, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
    SAME(nvt_pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
    SAME(nvt_pm_decode, reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
    SAME(nvt_pm_decode, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
    SAME(nvt_pm_info, image, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
    SAME(nvt_pm_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
    SAME(nvt_pm_sample, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
    SAME(nvt_pm_sample, start, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
    SAME(nvt_pm_sample, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
    assert_int_equal(NVT_PM_BY_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
    assert_int_equal(NVT_PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
    assert_int_equal(NVT_PM_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
}

static void declarations_of_ranges_are_nvidias(void **state)
{
    (void)state;
    SAME(nvt_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
    SAME(nvt_range_enable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
    SAME(nvt_range_image_size, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
    SAME(nvt_range_image_size, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
         maxNumOfRanges);
    SAME(nvt_range_image_size, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
         maxNumRangeTreeNodes);
    SAME(nvt_range_image_size, image_size, CUpti_RangeProfiler_GetCounterDataSize_Params,
         counterDataSize);
    SAME(nvt_range_image, image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
         pCounterData);
    SAME(nvt_range_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
    SAME(nvt_range_config, image, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
    SAME(nvt_range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
    SAME(nvt_range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
    SAME(nvt_range_config, most, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
    SAME(nvt_range_config, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
    SAME(nvt_range_config, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
    SAME(nvt_range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
    SAME(nvt_range_config, target_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
    SAME(nvt_range_switch, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
    SAME(nvt_range_switch, profiler, CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject);
    SAME(nvt_range_push, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
    SAME(nvt_range_stop, is_complete, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
    SAME(nvt_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
    assert_int_equal(NVT_RANGES_OF_USER, CUPTI_UserRange);
    assert_int_equal(NVT_REPLAY_BY_USER, CUPTI_UserReplay);
}

/* --- NVIDIA's libcupti ---------------------------------------------------------------------------- */

/* Its functions; skips the test where there is none that works. */
static struct nvt_cupti_pm functions_of_libcupti(void)
{
    struct nvt_cupti_pm pm = {NULL};
    void *library = cupti_library();
    int is_complete = library != NULL;
#define LOAD(function, type)                                                                       \
    *(void **)&pm.function = library ? dlsym(library, #function) : NULL;                           \
    is_complete &= pm.function != NULL;
    NVT_CUPTI_PM(LOAD)
    struct nvt_host_new host = {NVT_PARAMS(nvt_host_new, host), .what = NVT_HOST_OF_SAMPLES,
                                .chip = "GH100"};
    if (!is_complete || pm.cuptiProfilerHostInitialize(&host) != CUPTI_SUCCESS) {
        print_message("no libcupti of CUDA 12.6 or later that works without a driver\n");
        skip();
    }
    struct nvt_host_free old = {NVT_PARAMS(nvt_host_free, host), .host = host.host};
    assert_int_equal(pm.cuptiProfilerHostDeinitialize(&old), CUPTI_SUCCESS);
    return pm;
}

static void throughput_is_one_pass(void **state)
{
    (void)state;
    static const char *const chips[] = {"GA100", "GH100", "AD102", "GB100"};
    const struct nvt_cupti_pm pm = functions_of_libcupti();
    const char *names[NVT_GPU_METRICS_MOST];
    uint32_t count = 0;
    for (; nvt_gpu_throughput[count].cupti; count++)
        names[count] = nvt_gpu_throughput[count].cupti;
    for (size_t i = 0; i < NVT_COUNT_OF(chips); i++) {
        struct nvt_metric_set set;
        char refused[256];
        const CUptiResult result = nvt_metric_set_make(
            &set, &pm, NVT_HOST_OF_SAMPLES, chips[i], NULL, names, count, refused, sizeof(refused));
        print_message("%s: %u of %u metrics in %zu pass, %zu bytes%s%s\n", chips[i], set.count,
                      count, set.passes, set.config_size, *refused ? ", without " : "", refused);
        assert_int_equal(result, CUPTI_SUCCESS);
        assert_int_equal(set.passes, 1);
        if (!strcmp(chips[i], "GH100"))
            assert_int_equal(set.count, count);
        nvt_metric_set_free(&set, &pm);
    }
}

/* Bytes of DRAM and of PCIe, for the checks against what a copy moves. */
static void bytes_are_one_pass(void **state)
{
    (void)state;
    static const char *const names[] = {
        "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second",
        "pcie__read_bytes.sum.per_second", "pcie__write_bytes.sum.per_second"};
    const struct nvt_cupti_pm pm = functions_of_libcupti();
    struct nvt_metric_set set;
    char refused[256];
    assert_int_equal(nvt_metric_set_make(&set, &pm, NVT_HOST_OF_SAMPLES, "GH100", NULL, names, 4,
                                         refused, sizeof(refused)),
                     CUPTI_SUCCESS);
    assert_int_equal(set.count, 4);
    assert_int_equal(set.passes, 1);
    nvt_metric_set_free(&set, &pm);
}

/* Each of the sets of --counters-of. */
static void sets_of_ranges_are_one_pass(void **state)
{
    (void)state;
    static const char *const sets[] = {"bf16", "tf32", "fp8", "fp32", "bytes"};
    const struct nvt_cupti_pm pm = functions_of_libcupti();
    for (size_t i = 0; i < NVT_COUNT_OF(sets); i++) {
        struct nvt_metric_set set;
        char refused[256];
        const char *const *names = nvt_gpu_metric_set(sets[i]);
        uint32_t count = 0;
        while (names[count])
            count++;
        assert_int_equal(nvt_metric_set_make(&set, &pm, NVT_HOST_OF_RANGES, "GH100", NULL, names,
                                             count, refused, sizeof(refused)),
                         CUPTI_SUCCESS);
        print_message("%s: %u of %u in %zu pass\n", sets[i], set.count, count, set.passes);
        assert_int_equal(set.count, count);
        assert_int_equal(set.passes, 1);
        nvt_metric_set_free(&set, &pm);
    }
}

static void unknown_names_are_left_out(void **state)
{
    (void)state;
    static const char *const names[] = {"sm__cycles_active.avg", "sm__no_such_thing.sum",
                                        "gr__cycles_active.sum"};
    const struct nvt_cupti_pm pm = functions_of_libcupti();
    struct nvt_metric_set set;
    char refused[256];
    assert_int_equal(nvt_metric_set_make(&set, &pm, NVT_HOST_OF_SAMPLES, "GH100", NULL, names, 3,
                                         refused, sizeof(refused)),
                     CUPTI_SUCCESS);
    assert_string_equal(refused, "sm__no_such_thing.sum");
    assert_int_equal(set.count, 2);
    assert_string_equal(set.names[1], "gr__cycles_active.sum");
    nvt_metric_set_free(&set, &pm);
    assert_int_not_equal(nvt_metric_set_make(&set, &pm, NVT_HOST_OF_SAMPLES, "GH100", NULL,
                                             names + 1, 1, refused, sizeof(refused)),
                         CUPTI_SUCCESS);
    nvt_metric_set_free(&set, &pm);
    assert_int_not_equal(nvt_metric_set_make(&set, &pm, NVT_HOST_OF_SAMPLES, "NOCHIP", NULL, names,
                                             3, refused, sizeof(refused)),
                         CUPTI_SUCCESS);
    nvt_metric_set_free(&set, &pm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_of_the_host_are_nvidias),
        cmocka_unit_test(declarations_of_the_device_are_nvidias),
        cmocka_unit_test(declarations_of_ranges_are_nvidias),
        cmocka_unit_test(throughput_is_one_pass),
        cmocka_unit_test(sets_of_ranges_are_one_pass),
        cmocka_unit_test(bytes_are_one_pass),
        cmocka_unit_test(unknown_names_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
