/* What the stand-in's range profiler leaves in an image, for its host interface. */
#ifndef NVT_TESTS_RANGE_IMAGE_H
#define NVT_TESTS_RANGE_IMAGE_H

#include <stdint.h>

#define STAND_IN_RANGE_IMAGE 0x52414e47u

struct stand_in_range_image {
    uint32_t magic, count, launches;
};

#endif
