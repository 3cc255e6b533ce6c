/*
 * Marks of `nvtally ctl mark`: events of a domain, and of a thread, of this name. The program knows nothing of them.
 */
#ifndef NVT_CTL_MARK_H
#define NVT_CTL_MARK_H

#define NVT_CTL_MARK_NAME   "nvtally ctl"
#define NVT_CTL_MARK_DOMAIN 65535u /* its number in each process */

#endif
