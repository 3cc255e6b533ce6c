/*
 * record --dormant: nothing is recorded until somebody asks for it, and again when it was stopped. Until then an event costs a look at
 * the control page's window (enum nvt_window_state): no thread gets a state or a ring, and nothing is counted.
 *
 * A process that has recorded the iterations that were asked for (steps.h) is as if it were stopped, until all others have.
 *
 * So a pop may come whose push was not recorded: it finds no open range of its domain in its thread, and is left out. What a thread had
 * open when recording was stopped it forgets with its next event, and the reader has it end with that part of the recording
 * (analyze/readers/nvt_dormant.h). Of start/end ranges the id says whether their beginning was recorded; then their end is, whenever it
 * comes.
 */
#ifndef NVT_INJECT_DORMANT_H
#define NVT_INJECT_DORMANT_H

#include "events.h"
#include "heaps.h"
#include "session.h"
#include "steps.h"

/* In the id of a range that was not recorded, as nothing was to be at its start. */
#define NVT_QUIET_RANGE (UINT64_C(1) << 39)

extern int nvt_dormant_watches; /* the session is such a one */

static inline int nvt_dormant_sleeps(void)
{
    return atomic_load_explicit(&nvt_session.control->window, memory_order_relaxed) !=
               NVT_WINDOW_OPEN ||
           (NVT_UNLIKELY(nvt_steps_watch) && nvt_steps_are_over());
}

/* Ranges of the domain that the thread has open; 0 of a thread without a state. (While it calibrates there is one more.) */
static inline uint32_t nvt_dormant_depth(nvtxDomainHandle_t domain)
{
    return nvt_self->nests[(domain ? domain->number : 0) % NVT_NESTS].depth;
}

/* Whether a push of that name in the default domain is to be left out, as nothing is recorded and it is no iteration; it is counted. */
static inline int nvt_dormant_skips_other(const char *name)
{
    if (!nvt_dormant_watches || !nvt_steps_watch || !name || *name == nvt_steps_letters[0] ||
        *name == nvt_steps_letters[1] || !nvt_dormant_sleeps() || nvt_dormant_depth(NULL))
        return 0;
    nvt_steps_others++;
    return 1;
}

/* The thread, which has such, has none open any more. 1. */
int nvt_dormant_forget(void);

/* Of a standing session: whether the thread has not yet heard of the recorder that there is now. */
static inline int nvt_dormant_is_late(void)
{
    const uint32_t epoch = atomic_load_explicit(&nvt_session.control->epoch, memory_order_relaxed);
    return NVT_UNLIKELY(epoch != nvt_self->epoch) != 0;
}

/* Then it forgets what it had open, has a new ring if it had one, and the first of its process repeats what was defined, and says which heaps there are.
 * 1: the event is to be left out, as it interrupts another; else 0. */
int nvt_dormant_renew(void);

/* Where something is recorded: hear of a new recorder, and have the recording know of heaps. The same. */
static inline int nvt_dormant_hears(void)
{
    if (nvt_dormant_is_late())
        return nvt_dormant_renew();
    if (nvt_heaps_are_due())
        nvt_heaps_tell();
    return 0;
}

/* Whether a push, a pop, or something else is to be left out. In such a session: */
static inline int nvt_dormant_skips_push(nvtxDomainHandle_t domain)
{
    if (nvt_dormant_sleeps())
        return NVT_LIKELY(!nvt_dormant_depth(domain)) || nvt_dormant_forget();
    return nvt_dormant_hears();
}

static inline int nvt_dormant_skips_pop(nvtxDomainHandle_t domain)
{
    if (!nvt_dormant_depth(domain))
        return 1;
    if (nvt_dormant_sleeps())
        return nvt_dormant_forget();
    return nvt_dormant_hears() || !nvt_dormant_depth(domain);
}

static inline int nvt_dormant_skips_event(void)
{
    if (nvt_dormant_sleeps())
        return !nvt_self->calibrates;
    return nvt_dormant_hears();
}

#endif
