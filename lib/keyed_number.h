/*
 * A number of a text file whose lines begin with keys, such as /proc/PID/status (proc(5)): "VmPeak:   123 kB".
 */
#ifndef NVT_KEYED_NUMBER_H
#define NVT_KEYED_NUMBER_H

#include <stdint.h>

/*
 * The number behind `key` in the first line that begins with it, in base 10 or 16, leading blanks skipped; 0 where no digit follows.
 * Returns 1, 0 where no line begins with the key, or -1 where the file cannot be read (errno). *value is set for 1 alone.
 */
int nvt_keyed_number(const char *path, const char *key, int base, uint64_t *value);

#endif
