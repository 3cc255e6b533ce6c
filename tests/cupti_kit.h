/*
 * What the tests of the decoder of CUPTI's records share: a buffer as CUPTI asks for it, to be filled
 * by hand, the rows that come out of it, and NVIDIA's own libcupti, which needs no GPU to say where
 * each record in it ends, so that a structure of another version than the library's is found here.
 * Only where CUPTI's headers are (HAVE_CUPTI).
 */
#ifndef NVT_TESTS_CUPTI_KIT_H
#define NVT_TESTS_CUPTI_KIT_H

#include "../collectors/cupti_decode.h"

enum { CUPTI_ROWS = 4096, CUPTI_NAMES = 8 };

extern struct cupti_kit {
    struct nvt_cupti_decoder decoder; /* without libcupti of the headers' version, NULLs */
    uint8_t buffer[1 << 20] __attribute__((aligned(8)));
    size_t used; /* bytes of it */
    /* Rows and names of all batches of the last decode, in order. */
    struct nvt_device_row rows[CUPTI_ROWS];
    char *names[CUPTI_ROWS][CUPTI_NAMES]; /* of row i: its batch's names, only the first of them */
    size_t count;
    unsigned batches;
} cupti;

/* NVIDIA's libcupti, where the system, a toolkit or the wheels of ./setup have it, as dlopen gives it; NULL: nowhere. */
void *cupti_library(void);

/* Fixtures: of the group, libcupti loaded if it is of the headers' version, and what was decoded released; of a test, the buffer
 * emptied. */
int cupti_load(void **state);
int cupti_forget(void **state);
int cupti_empty(void **state);

/* Append a record to the buffer. */
void cupti_put(const void *record, size_t size);
#define CUPTI_PUT(record) cupti_put(&(record), sizeof(record))

/* Decode `size` bytes in batches of `room` bytes; how many records were unknown. */
uint64_t cupti_decode(uint8_t *buffer, size_t size, size_t room);

#endif
