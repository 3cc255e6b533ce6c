#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Which hands such databases over. */
    return fuzz_reader(&nvt_reader_nsys, data, size);
}
