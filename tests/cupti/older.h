/*
 * CUPTI's headers as those of CUDA 12.4 are, the oldest that the collector can be built with: what later ones have, it
 * must not name. Included in front of its sources, which are compiled with it and not run.
 */
#ifndef NVT_TESTS_CUPTI_OLDER_H
#define NVT_TESTS_CUPTI_OLDER_H

#include <cupti.h>

#pragma GCC poison CUpti_ActivityKernel10 CUpti_ActivityMemcpy6 CUpti_ActivityMemory4
#pragma GCC poison CUpti_ActivityMemoryPool3 CUpti_ActivityContext3
#pragma GCC poison CUpti_ActivitySynchronization2 CUpti_ActivityCudaEvent2
#pragma GCC poison CUpti_ActivityUnifiedMemoryCounter3
#define cuptiActivityEnableRuntimeApi     of_12_6_runtime
#define cuptiActivityEnableDriverApi      of_12_6_driver
#define cuptiActivityEnableAllSyncRecords of_12_8

#endif
