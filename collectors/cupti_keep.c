#include "cupti_keep.h"

#ifdef HAVE_CUPTI

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct nvt_cupti_kept) % 8 == 0, "records lie at a multiple of 8");

/* Where a record points at a text that the decoder reads, NULL: it does not. */
static const char **text_of(CUpti_Activity *record)
{
    void *at = record;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return &((CUpti_ActivityKernel8 *)at)->name;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return &((CUpti_ActivityMemory3 *)at)->name;
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return &((CUpti_ActivityDevice4 *)at)->name;
    case CUPTI_ACTIVITY_KIND_NAME:
        return &((CUpti_ActivityName *)at)->name;
    default:
        return NULL;
    }
}

/* What is the decoder's to free, and means nothing in another process. */
static void forget_data(CUpti_Activity *record)
{
    CUpti_ActivityOverhead3 *cost = (void *)record;
    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD &&
        cost->overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        cost->overheadData = NULL;
}

/* --- writing --- */

static int put(int file, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        ssize_t wrote = write(file, at, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return -1;
        at += wrote;
        size -= (size_t)wrote;
    }
    return 0;
}

static uint32_t count_texts(nvt_cupti_next *next, uint8_t *buffer, size_t size)
{
    CUpti_Activity *record = NULL;
    uint32_t count = 0;
    while (next(buffer, size, &record) == CUPTI_SUCCESS) {
        const char **text = text_of(record);
        count += text && *text;
    }
    return count;
}

static int put_texts(int file, nvt_cupti_next *next, uint8_t *buffer, size_t size)
{
    CUpti_Activity *record = NULL;
    int status = 0;
    while (!status && next(buffer, size, &record) == CUPTI_SUCCESS) {
        const char **text = text_of(record);
        if (!text || !*text)
            continue;
        const struct nvt_cupti_kept_text head = {(uint64_t)((uint8_t *)text - buffer),
                                                 strlen(*text)};
        status = put(file, &head, sizeof(head)) || put(file, *text, (size_t)head.length) ? -1 : 0;
    }
    return status;
}

int nvt_cupti_keep(const char *path, uint32_t version, nvt_cupti_next *next, uint8_t *buffer,
                   size_t size)
{
    struct nvt_cupti_kept head = {
        .version = version, .texts = count_texts(next, buffer, size), .size = size};
    memcpy(head.magic, NVT_CUPTI_KEPT_MAGIC, sizeof(head.magic));
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return -1;
    int status = put(file, &head, sizeof(head)) || put(file, buffer, size)
                     ? -1
                     : put_texts(file, next, buffer, size);
    int saved = errno;
    if (close(file) && !status) {
        status = -1;
        saved = errno;
    }
    if (status)
        unlink(path);
    errno = saved;
    return status;
}

void nvt_cupti_keeper_init(struct nvt_cupti_keeper *keeper)
{
    const char *folder = getenv(NVT_CUPTI_KEEP_ENV);
    *keeper = (struct nvt_cupti_keeper){folder && *folder == '/' ? strdup(folder) : NULL, 0};
}

int nvt_cupti_keeper_take(struct nvt_cupti_keeper *keeper, uint32_t version, nvt_cupti_next *next,
                          uint8_t *buffer, size_t size)
{
    char path[PATH_MAX];
    if (!keeper->folder || keeper->kept == NVT_CUPTI_KEPT_MOST)
        return 0;
    snprintf(path, sizeof(path), "%s/cupti-%d-%u.buffer", keeper->folder, (int)getpid(),
             keeper->kept++);
    int status = nvt_cupti_keep(path, version, next, buffer, size);
    if (status)
        keeper->kept = NVT_CUPTI_KEPT_MOST;
    return status;
}

/* --- reading --- */

/* All of the file, with its size. NULL with errno. */
static uint8_t *read_all(const char *path, size_t *size)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *data = NULL;
    if (file < 0)
        return NULL;
    if (!fstat(file, &facts) && (data = malloc((size_t)facts.st_size + 1))) {
        size_t used = 0;
        for (ssize_t got; used < (size_t)facts.st_size &&
                          (got = read(file, data + used, (size_t)facts.st_size - used)) > 0;)
            used += (size_t)got;
        *size = used;
    }
    int saved = errno;
    close(file);
    errno = saved;
    return data;
}

static void clear_pointers(nvt_cupti_next *next, uint8_t *buffer, size_t size)
{
    CUpti_Activity *record = NULL;
    while (next(buffer, size, &record) == CUPTI_SUCCESS) {
        const char **text = text_of(record);
        if (text)
            *text = NULL;
        forget_data(record);
    }
}

/* The record behind *record that points at a text from `offset` of the buffer: where. NULL: there is none, or the pointer would
 * lie across another one, or elsewhere. */
static const char **find_place(nvt_cupti_next *next, uint8_t *buffer, size_t size, uint64_t offset,
                               CUpti_Activity **record)
{
    while (next(buffer, size, record) == CUPTI_SUCCESS) {
        const char **place = text_of(*record);
        if (place && (uint64_t)((uint8_t *)place - buffer) == offset)
            return place;
    }
    return NULL;
}

/* The texts are in the order of their records. Each is moved onto its head, which is longer than the 0 behind it. 0, or -1:
 * the file is cut, or none. */
static int set_pointers(nvt_cupti_next *next, uint8_t *data, size_t size,
                        const struct nvt_cupti_kept *kept)
{
    uint8_t *buffer = data + sizeof(*kept), *at = buffer + kept->size, *end = data + size;
    CUpti_Activity *record = NULL;
    for (uint32_t i = 0; i < kept->texts; i++) {
        struct nvt_cupti_kept_text head;
        if ((size_t)(end - at) < sizeof(head))
            return -1;
        memcpy(&head, at, sizeof(head));
        if (head.length > (uint64_t)(end - at) - sizeof(head))
            return -1;
        const char **place = find_place(next, buffer, (size_t)kept->size, head.offset, &record);
        if (!place)
            return -1;
        *place = memmove(at, at + sizeof(head), (size_t)head.length);
        at[head.length] = 0;
        at += sizeof(head) + head.length;
    }
    return at == end ? 0 : -1;
}

uint8_t *nvt_cupti_kept_read(const char *path, nvt_cupti_next *next, struct nvt_cupti_kept *kept)
{
    size_t size = 0;
    uint8_t *data = read_all(path, &size);
    if (!data)
        return NULL;
    if (size >= sizeof(*kept)) {
        memcpy(kept, data, sizeof(*kept));
        if (!memcmp(kept->magic, NVT_CUPTI_KEPT_MAGIC, sizeof(kept->magic)) &&
            kept->size <= size - sizeof(*kept)) {
            clear_pointers(next, data + sizeof(*kept), (size_t)kept->size);
            if (!set_pointers(next, data, size, kept))
                return data;
        }
    }
    free(data);
    errno = EINVAL;
    return NULL;
}

#endif
