/*
 * `import`: a log in a published layout. What is taken from it must be records that are read again,
 * and then goes through every report and every layout that prints it.
 */
#include <stdlib.h>
#include <string.h>

#include "../../analyze/published/published.h"
#include "fuzz_readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_published published = {0};
    struct nvt_buffer env = {0};
    struct nvt_published_facts facts = {.source = "fuzz", .command = "fuzz"};
    char *text = malloc(size + 1), message[1100];
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (!nvt_published_read("fuzz", text, size, &published, &err)) {
        if (nvt_published_environment(&facts, &env))
            abort();
        struct nvt_runs *runs = nvt_runs_of_text("fuzz", &published.results, &env, &err);
        if (!runs || runs->count < published.count)
            abort();
        fuzz_runs(runs);
    } else if (!*err.message || strchr(nvt_error_text(&err, message, sizeof(message)), '\n'))
        abort();
    nvt_published_free(&published);
    nvt_buffer_free(&env);
    free(text);
    return 0;
}
