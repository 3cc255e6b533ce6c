/* A run's directory: results.jsonl with any bytes in it, through every report. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_buffer results = {0}, env = {0};
    char message[1100];
    if (nvt_buffer_append(&results, data, size) ||
        nvt_buffer_printf(&env, "{\"backend\": \"host\", \"date\": \"now\"}\n"))
        abort();
    struct nvt_runs *runs = nvt_runs_of_text("fuzz", &results, &env, &err);
    if (runs)
        fuzz_runs(runs);
    else if (!*err.message || strchr(nvt_error_text(&err, message, sizeof(message)), '\n'))
        abort();
    nvt_buffer_free(&results);
    nvt_buffer_free(&env);
    return 0;
}
