#include "fuzz_readers.h"

#include "../../lib/trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_chunks(&nvt_reader_nvt, NVT_FILE_VERSION, data, size);
}
