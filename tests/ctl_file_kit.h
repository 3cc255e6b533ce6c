/* Files that sessions watch (nvtally ctl --watch). */
#ifndef NVT_TESTS_CTL_FILE_KIT_H
#define NVT_TESTS_CTL_FILE_KIT_H

#include <stdint.h>

/* In ns. */
#define A_MINUTE INT64_C(60000000000)

/* One that nobody has watched. */
const char *ctl_file_fresh(void);

#endif
