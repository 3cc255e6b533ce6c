#include "cupti_metrics_keep.h"

#ifdef HAVE_CUPTI

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../lib/gpu_metric_names.h"
#include "../cupti_keep.h"

static void path_of(const struct nvt_metrics_keeper *keeper, uint32_t device, char *path,
                    size_t size)
{
    const char *folder = getenv(NVT_CUPTI_KEEP_ENV);
    snprintf(path, size, "%s/pm-%d-%u-%u.image", folder ? folder : "", (int)getpid(), device,
             keeper->kept);
}

/* What cannot be written ends it: no further one is kept. */
static void put(struct nvt_metrics_keeper *keeper, const void *bytes, size_t size)
{
    if (write(keeper->file, bytes, size) != (ssize_t)size)
        keeper->kept = NVT_METRICS_KEPT_MOST;
}

int nvt_metrics_keep_begin(struct nvt_metrics_keeper *keeper, const char *chip, uint32_t device,
                           const char *const *names, uint32_t count, const uint8_t *image,
                           size_t image_size)
{
    const char *folder = getenv(NVT_CUPTI_KEEP_ENV);
    char path[PATH_MAX];
    if (!folder || *folder != '/' || keeper->kept >= NVT_METRICS_KEPT_MOST)
        return 0;
    path_of(keeper, device, path, sizeof(path));
    keeper->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (keeper->file < 0) {
        keeper->kept = NVT_METRICS_KEPT_MOST;
        return 0;
    }
    struct nvt_metrics_kept head = {.names = count, .image_size = image_size};
    for (size_t i = 0; i < sizeof(head.magic); i++)
        head.magic[i] = NVT_METRICS_KEPT_MAGIC[i];
    snprintf(head.chip, sizeof(head.chip), "%s", chip);
    keeper->head = head;
    put(keeper, &head, sizeof(head));
    for (uint32_t i = 0; i < count; i++) {
        char name[NVT_GPU_METRIC_NAME_MOST] = "";
        snprintf(name, sizeof(name), "%s", names[i]);
        put(keeper, name, sizeof(name));
    }
    put(keeper, image, image_size);
    return 1;
}

void nvt_metrics_keep_sample(struct nvt_metrics_keeper *keeper, uint64_t start, uint64_t end,
                             const double *values)
{
    const uint64_t times[2] = {start, end};
    put(keeper, times, sizeof(times));
    put(keeper, values, keeper->head.names * sizeof(*values));
    keeper->head.samples++;
}

void nvt_metrics_keep_end(struct nvt_metrics_keeper *keeper, uint32_t device)
{
    char path[PATH_MAX];
    path_of(keeper, device, path, sizeof(path));
    if (!keeper->head.samples)
        (void)unlink(path);
    else if (pwrite(keeper->file, &keeper->head, sizeof(keeper->head), 0) !=
             (ssize_t)sizeof(keeper->head))
        keeper->kept = NVT_METRICS_KEPT_MOST;
    close(keeper->file);
    keeper->kept += keeper->head.samples > 0;
}

#else
/* Nothing where CUPTI's headers were not there. */
typedef int nvt_cupti_metrics_keep_is_empty;
#endif
