/*
 * For preloaded libraries: which call of a thread is the program's own, and which is made from within another call that
 * is passed on.
 *
 * A nested call has a lower stack address than the call that makes it. A call that was left, by longjmp or an
 * exception, has not been ended: one from above it, or from its own place, shows that, and one from below does where
 * others have written over its mark meanwhile.
 */
#ifndef NVT_OUTERMOST_H
#define NVT_OUTERMOST_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Of a call, on its stack. Each thread has a pointer to that of its outermost call, NULL: none. */
struct nvt_place {
    volatile uintptr_t mark;
};

#define NVT_PLACE_MARK 0x6e7674616c6c79u

__attribute__((no_sanitize("address"))) static inline int
nvt_place_holds(const struct nvt_place *place)
{
    return place->mark == ((uintptr_t)place ^ NVT_PLACE_MARK);
}

enum nvt_entered {
    NVT_ENTERED_WITHIN, /* another, whose part it is */
    NVT_ENTERED,
    NVT_ENTERED_AFRESH, /* and one before was left */
};

/* Whether it is a handler's, on a stack of its own, which may lie above the one that it has interrupted. */
static inline int nvt_place_interrupts(const struct nvt_place *place,
                                       const struct nvt_place *before)
{
    stack_t other;
    uintptr_t here = (uintptr_t)place, there = (uintptr_t)before;
    if (sigaltstack(NULL, &other) || !(other.ss_flags & SS_ONSTACK))
        return 0;
    uintptr_t from = (uintptr_t)other.ss_sp, to = from + other.ss_size;
    return here >= from && here < to && (there < from || there >= to);
}

static inline enum nvt_entered nvt_place_enter(struct nvt_place **outermost,
                                               struct nvt_place *place)
{
    struct nvt_place *before = *outermost;
    if (before && (place < before || nvt_place_interrupts(place, before)) &&
        nvt_place_holds(before))
        return NVT_ENTERED_WITHIN;
    *outermost = place;
    place->mark = (uintptr_t)place ^ NVT_PLACE_MARK;
    return before ? NVT_ENTERED_AFRESH : NVT_ENTERED;
}

static inline void nvt_place_leave(struct nvt_place **outermost, struct nvt_place *place)
{
    place->mark = 0;
    *outermost = NULL;
}

#endif
