#include "fuzz_readers.h"

#include "../../lib/trace_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_chunks(&nvt_reader_tables, NVT_FILE_TABLES, data, size);
}
