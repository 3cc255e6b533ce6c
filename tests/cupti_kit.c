#ifdef HAVE_CUPTI

#include "cupti_kit.h"

#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"

struct cupti_kit cupti;

static void collect(void *context, struct nvt_device_batch *batch)
{
    size_t names_size, rows_size;
    const uint8_t *names = nvt_device_batch_names(batch, &names_size);
    const uint8_t *rows = nvt_device_batch_rows(batch, &rows_size);
    struct nvt_device_reader reader = {rows, rows + rows_size, 0};
    const uint8_t *texts[CUPTI_NAMES] = {0};
    uint64_t lengths[CUPTI_NAMES] = {0};
    (void)context;
    for (uint32_t i = 0; i < batch->names; i++) {
        uint64_t length = 0;
        const uint8_t *at = nvt_varint_get(names, batch->data + names_size, &length);
        if (!at) {
            fail_msg("a name is cut");
            return;
        }
        if (i < CUPTI_NAMES) {
            texts[i] = at;
            lengths[i] = length;
        }
        names = at + length;
    }
    assert_ptr_equal(names, batch->data + names_size);
    uint32_t rows_before = (uint32_t)cupti.count;
    while (nvt_device_reader_next(&reader, &cupti.rows[cupti.count]) == 1) {
        for (int i = 0; i < CUPTI_NAMES; i++)
            cupti.names[cupti.count][i] =
                texts[i] ? strndup((const char *)texts[i], lengths[i]) : NULL;
        cupti.count++;
    }
    assert_ptr_equal(reader.at, reader.end);
    assert_int_equal(cupti.count - rows_before, batch->rows);
    cupti.batches++;
    nvt_device_batch_clear(batch);
}

static void forget(void)
{
    for (size_t i = 0; i < cupti.count; i++)
        for (int j = 0; j < CUPTI_NAMES; j++)
            free(cupti.names[i][j]);
    memset(cupti.rows, 0, sizeof(cupti.rows));
    memset(cupti.names, 0, sizeof(cupti.names));
    cupti.count = cupti.batches = 0;
}

uint64_t cupti_decode(uint8_t *buffer, size_t size, size_t room)
{
    struct nvt_device_batch *batch = malloc(sizeof(*batch));
    void *memory = malloc(room);
    forget();
    nvt_device_batch_init(batch, memory, room);
    uint64_t unknown = nvt_cupti_decode(&cupti.decoder, buffer, size, batch);
    if (batch->rows)
        collect(NULL, batch);
    free(memory);
    free(batch);
    return unknown;
}

void cupti_put(const void *record, size_t size)
{
    assert_true(cupti.used + size <= sizeof(cupti.buffer));
    memcpy(cupti.buffer + cupti.used, record, size);
    cupti.used += size;
}

void *cupti_library(void)
{
    static const char *const places[] = {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < NVT_COUNT_OF(places); i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    glob_t wheels;
    if (!glob(".deps/nvidia/*/lib/libcupti.so.*", 0, NULL, &wheels)) {
        for (size_t i = 0; !library && i < wheels.gl_pathc; i++)
            library = dlopen(wheels.gl_pathv[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        globfree(&wheels);
    }
    return library ? library : dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* Whether it is of the version of the headers: in another one, records may be longer or shorter. */
static int is_ours(void *library)
{
    CUptiResult (*version)(uint32_t *);
    uint32_t number = 0;
    *(void **)&version = dlsym(library, "cuptiGetVersion");
    return version && version(&number) == CUPTI_SUCCESS &&
           number / 1000 == CUPTI_API_VERSION / 1000;
}

int cupti_load(void **state)
{
    void *library = cupti_library();
    (void)state;
    if (library && is_ours(library)) {
        *(void **)&cupti.decoder.next = dlsym(library, "cuptiActivityGetNextRecord");
        *(void **)&cupti.decoder.callback_name = dlsym(library, "cuptiGetCallbackName");
    }
    cupti.decoder.full = collect;
    return 0;
}

int cupti_empty(void **state)
{
    (void)state;
    cupti.used = 0;
    memset(cupti.buffer, 0, sizeof(cupti.buffer));
    if (!cupti.decoder.next)
        print_message("libcupti of the headers' version is not here: "
                      "its walk through the buffers is not tested\n");
    return 0;
}

int cupti_forget(void **state)
{
    (void)state;
    forget();
    return 0;
}

#endif
