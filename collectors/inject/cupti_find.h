/*
 * Which libcupti a process is recorded with. One alone works in a process: it is where the driver sends what it does, and
 * records of a second copy, or of one that is newer than the driver, do not come (CUPTI_ERROR_NOT_INITIALIZED; "CUPTI
 * Compatibility and Requirements" in its manual).
 *
 * The first of these:
 * - $NVTALLY_CUPTI, whatever it is;
 * - one that the process has loaded, under whatever name: wheels give libraries names of their own, and those of CUDA 11
 *   have the minor version in it (removed as the release notes of CUDA 12.0 state);
 * - of the CUDA version that the process's runtime has, and that the driver can drive: where the runtime lies, or the
 *   linker's;
 * - the newest that the driver can drive: the linker's, or that of $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.
 */
#ifndef NVT_CUPTI_FIND_H
#define NVT_CUPTI_FIND_H

#ifdef HAVE_CUPTI

#include <stddef.h>

/*
 * What dlopen gives for it. NULL with one line in `why`: none was found, or it cannot be loaded. Else `why` is "", or one
 * line about another copy that the process has.
 */
void *nvt_cupti_find(char *why, size_t size);

#endif
#endif
