/* Parts so small that even these files have several, which threads read ahead. */
#define NVT_JSON_PART 64
#include "../../analyze/readers/json_source.c"

#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    setenv("NVTALLY_THREADS", "3", 1);
    return fuzz_reader(&nvt_reader_kineto, data, size);
}
