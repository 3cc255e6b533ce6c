/* Recordings of `record --dormant`, which nvtally ctl asks. */
#ifndef NVT_TESTS_CTL_KIT_H
#define NVT_TESTS_CTL_KIT_H

#include <stdint.h>
#include <sys/types.h>

/* In ns. */
#define MS INT64_C(1000000)

/* End a recorder by a signal. */
void ctl_end(pid_t pid, int number);

/* Sessions of others on this machine are none of ours. */
int ctl_set_up(void **state);

#endif
