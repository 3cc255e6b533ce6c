#include "hardware_counters.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* From this on the kernel refuses events of user code, too (a patch of Debian, Ubuntu and Android). */
#define PARANOID_REFUSES 3

void nvt_hardware_counters_why(int error, int paranoid, char *why, size_t size)
{
    if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP)
        snprintf(why, size, "none: the processor has none, or its virtual machine passes none on");
    else if (error != EACCES && error != EPERM && error != ENOSYS)
        snprintf(why, size, "cannot tell: perf_event_open: %s", strerror(error));
    else if (paranoid >= PARANOID_REFUSES)
        snprintf(why, size,
                 "refused: kernel.perf_event_paranoid is %d (sysctl kernel.perf_event_paranoid=2 "
                 "allows them)",
                 paranoid);
    else
        snprintf(why, size,
                 "refused: a filter of system calls, as containers have it (docker run "
                 "--security-opt seccomp=… with perf_event_open)");
}

#if defined(__x86_64__)

static const char paranoid_path[] = "/proc/sys/kernel/perf_event_paranoid";

/* Its value, INT_MIN: this kernel has none. 0, or errno: it could not be read. */
static int read_paranoid(int *paranoid)
{
    char text[32] = "", *end = text;
    *paranoid = INT_MIN;
    FILE *file = fopen(paranoid_path, "re");
    if (!file)
        return errno == ENOENT ? 0 : errno;
    errno = 0;
    const long value = fgets(text, sizeof(text), file) ? strtol(text, &end, 10) : 0;
    const int error = errno;
    fclose(file);
    if (end != text)
        *paranoid = (int)value;
    return error;
}

/* Why perf_event_open failed so. */
static void explain(int error, char *why, size_t size)
{
    int paranoid;
    const int unread = read_paranoid(&paranoid);
    /* A file that nothing depends on may be unreadable. */
    if (unread && (error == EACCES || error == EPERM || error == ENOSYS))
        snprintf(why, size, "cannot tell: %s: %s", paranoid_path, strerror(unread));
    else
        nvt_hardware_counters_why(error, paranoid, why, size);
}

int nvt_hardware_counters(char *why, size_t size)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    const int descriptor =
        nvt_hardware_counter_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
    if (descriptor < 0) {
        explain(errno, why, size);
        return 0;
    }
    const volatile struct perf_event_mmap_page *page =
        mmap(NULL, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    const int error = errno;
    close(descriptor);
    if (page == MAP_FAILED) {
        snprintf(why, size, "cannot tell: mmap of a counter: %s", strerror(error));
        return 0;
    }
    const int can_read = page->cap_user_rdpmc != 0;
    munmap((void *)page, bytes);
    if (!can_read)
        snprintf(why, size,
                 "refused: /sys/bus/event_source/devices/cpu/rdpmc is 0 (1 allows them)");
    return can_read;
}

#else

int nvt_hardware_counters(char *why, size_t size)
{
    snprintf(why, size, "none: they are recorded on x86-64 alone");
    return 0;
}

#endif
