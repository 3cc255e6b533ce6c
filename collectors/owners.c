#include "owners.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/grow.h"

/* Descriptors that are kept open at a time; others are left for rings and files. */
#define DESCRIPTORS 256

static void end(struct nvt_owners *owners, struct nvt_owner *owner)
{
    owner->ended = 1;
    if (owner->descriptor < 0)
        return;
    close(owner->descriptor);
    owner->descriptor = -1;
    owners->descriptors--;
}

static void follow(struct nvt_owners *owners, struct nvt_owner *owner)
{
    if (owner->foreign || owners->descriptors >= DESCRIPTORS)
        return;
    owner->descriptor = (int)syscall(SYS_pidfd_open, owner->pid, 0);
    if (owner->descriptor >= 0)
        owners->descriptors++;
    else if (errno == ESRCH)
        owner->ended = 1;
}

/* Of two images of a process the older one has ended. */
static void compare_images(struct nvt_owners *owners, struct nvt_owner *owner)
{
    for (uint32_t i = 0; i < owners->count && !owner->foreign; i++) {
        struct nvt_owner *known = &owners->items[i];
        if (known->foreign || known->pid != owner->pid)
            continue;
        if (known->image > owner->image)
            owner->ended = 1;
        else if (!known->ended)
            end(owners, known);
    }
}

void nvt_owners_add(struct nvt_owners *owners, uint32_t index, const struct nvt_owner *owner)
{
    struct nvt_owner fresh = *owner;
    /* One that has ended may be there again: a child of the same parent that was given its number. */
    if ((index < owners->count && !owners->items[index].ended) ||
        nvt_reserve(&owners->items, &owners->capacity, index + (size_t)1, sizeof(*owners->items)))
        return;
    fresh.descriptor = -1;
    compare_images(owners, &fresh);
    if (!fresh.ended)
        follow(owners, &fresh);
    /* Some may have been missed for want of memory. */
    while (owners->count <= index)
        owners->items[owners->count++] = (struct nvt_owner){.descriptor = -1, .foreign = 1};
    owners->items[index] = fresh;
}

void nvt_owners_look(struct nvt_owners *owners)
{
    for (uint32_t i = 0; i < owners->count; i++) {
        struct nvt_owner *owner = &owners->items[i];
        struct pollfd ended = {.fd = owner->descriptor, .events = POLLIN};
        if (owner->ended || owner->foreign)
            continue;
        if (owner->descriptor >= 0 ? poll(&ended, 1, 0) > 0 : kill(owner->pid, 0) && errno == ESRCH)
            end(owners, owner);
    }
}

int nvt_owners_has_ended(const struct nvt_owners *owners, uint32_t index)
{
    return index < owners->count && owners->items[index].ended;
}

void nvt_owners_free(struct nvt_owners *owners)
{
    for (uint32_t i = 0; i < owners->count; i++)
        end(owners, &owners->items[i]);
    free(owners->items);
    *owners = (struct nvt_owners){0};
}
