/* Ranges so small that even tables of these files have several, which threads read. */
#define NVT_NSYS_AHEAD_FROM  8
#define NVT_NSYS_AHEAD_ROWS  3
#define NVT_NSYS_AHEAD_TEXTS 64
#include "../../analyze/readers/nsys_ahead.c"
#include "../../analyze/readers/nsys_table.c"

#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setenv("NVTALLY_THREADS", "3", 1);
    return fuzz_reader(&nvt_reader_nsys, data, size);
}
