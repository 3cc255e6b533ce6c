/*
 * Processes of a command that nothing can be recorded of, as the recorder sees them while they live: those of another libc, those
 * whose root folder, as in a container or a chroot, does not have the collector, and those that began without the environment that
 * names the session, as under sudo, and those whose limit of address space leaves no room. None of them can say so.
 */
#ifndef NVT_OUTSIDERS_H
#define NVT_OUTSIDERS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of each kind so many are known apart; there may be more. */
#define NVT_OUTSIDERS_MOST 64

struct nvt_outsiders_kind {
    pid_t pids[NVT_OUTSIDERS_MOST];
    int count;
    /* its name, number, and for libcs the loader: "m (12, /lib/ld-musl-x86_64.so.1)" */
    char first[160];
};

/* Zero-initialise. */
struct nvt_outsiders {
    struct nvt_outsiders_kind of_another_libc, without_us, unaware, crowded;
    uint64_t address_space; /* bytes that the first of the last may have */
    char library[PATH_MAX]; /* of ours, with no symbolic link; "": it is looked for first */
    int64_t next, every;    /* ns, CLOCK_MONOTONIC: when the next look is due */
};

/* Look at a process and those below it, as far as we may, and no more often than once in two seconds, after some looks in the first. */
void nvt_outsiders_look(struct nvt_outsiders *outsiders, pid_t process);

/* "m (12, /lib/ld-musl-x86_64.so.1) and 3 more"; "" for none. Returns `text`. */
const char *nvt_outsiders_text(const struct nvt_outsiders_kind *kind, char *text, size_t size);

#endif
