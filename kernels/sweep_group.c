#include "sweep_group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a keeper, the process that starts a child and waits for it, tells us. */
struct kept {
    int is_told;
    struct nvt_child_end end;
};

/* In the keeper. */
static void keep(const struct nvt_child *child, struct kept *kept)
{
    /* A recorder passes signals on by itself. */
    if (nvt_child_is_bare(child->level) || child->level == NVT_COLLECT_NSYS)
        nvt_signals_catch();
    nvt_child_run(child, &kept->end);
    kept->is_told = 1;
    _exit(0);
}

/* The keeper's number, or -1 when there is none: kept then says why. */
static pid_t start(struct nvt_child *child, size_t place, struct kept *kept)
{
    (void)fflush(NULL);
    pid_t keeper = nvt_signals_fork(place);
    if (!keeper)
        keep(child, kept);
    if (keeper < 0) {
        kept->is_told = 1;
        snprintf(kept->end.message, sizeof(kept->end.message), "no process can be started: %s",
                 strerror(errno));
    }
    return keeper;
}

/* A keeper has ended, and with it its child. */
static void note_end(struct nvt_turns *turns, const struct nvt_child *child, size_t i,
                     struct kept *kept, int wait_status)
{
    nvt_signals_forget(i);
    nvt_turns_leave(turns, child->place);
    if (!kept->is_told)
        kept->end = (struct nvt_child_end){.wait_status = wait_status};
    int number = kept->end.asked ? kept->end.asked : nvt_signals_ended(kept->end.wait_status);
    if (number)
        nvt_signals_set(number);
}

static void wait_for_all(struct nvt_turns *turns, const struct nvt_child *children, size_t count,
                         pid_t *keepers, struct kept *kept)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += keepers[i] > 0;
    while (left) {
        int wait_status;
        pid_t ended = waitpid(-1, &wait_status, 0);
        if (ended < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < count && ended > 0; i++)
            if (keepers[i] == ended) {
                note_end(turns, &children[i], i, &kept[i], wait_status);
                keepers[i] = 0;
                left--;
            }
    }
}

int nvt_group_run(struct nvt_child *children, size_t count, const char *path,
                  struct nvt_child_end *ends, struct nvt_error *err)
{
    pid_t keepers[NVT_TURNS_MOST] = {0};
    struct nvt_turns *turns;
    unlink(path); /* of one that was killed */
    if (nvt_turns_create(path, (int64_t)count, &turns, err))
        return -1;
    struct kept *kept = mmap(NULL, count * sizeof(*kept), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) {
        nvt_turns_close(turns);
        return nvt_fail(err, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        children[i].turns = path;
        children[i].place = (int64_t)(i + (size_t)children[i].repeat - 1) % (int64_t)count;
    }
    for (size_t i = 0; i < count; i++) {
        keepers[i] = nvt_signals_caught() ? -1 : start(&children[i], i, &kept[i]);
        if (keepers[i] < 0)
            nvt_turns_leave(turns, children[i].place);
    }
    wait_for_all(turns, children, count, keepers, kept);
    for (size_t i = 0; i < count; i++)
        ends[i] = kept[i].end;
    munmap(kept, count * sizeof(*kept));
    nvt_turns_close(turns);
    return 0;
}
