/*
 * What makers state of their GPUs: dense products without sparsity, at the boost clock, and the bandwidth of the memory. Published
 * figures, and no measurement: they are used where nothing was measured (peaks.h), and said to be what they are.
 *
 * From NVIDIA's data sheets of V100, T4, A10, A100, L4, L40S, H100 and H200.
 */
#ifndef NVT_DATA_SHEET_H
#define NVT_DATA_SHEET_H

#include "peaks.h"

/* Of a device by its name, as the driver has it ("NVIDIA H100 80GB HBM3"). 1, or 0: it is not among them. */
int nvt_data_sheet(const char *device, struct nvt_peaks *peaks);

#endif
