#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/pages.h"

#include "../wake.h"
#include "capture.h"
#include "cpu.h"
#include "os.h"
#include "pause.h"
#include "session.h"
#include "tasks.h"

struct nvt_thread nvt_nobody;
__thread struct nvt_thread *nvt_self __attribute__((tls_model("initial-exec"))) = &nvt_nobody;

/* When a thread that could get no ring tries again (CLOCK_MONOTONIC); 0: it could. */
static __thread int64_t retry_at __attribute__((tls_model("initial-exec")));
#define RETRY_NS 10000000

#define NSIG_BYTES 8 /* of a set of signals, as the system has it */

static pthread_key_t at_exit;
static pthread_once_t at_exit_once = PTHREAD_ONCE_INIT;

/* The last round of destructors, or the one before where ThreadSanitizer forgets the thread in the last. */
#if defined(__SANITIZE_THREAD__)
#define LAST_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define LAST_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

static void unmap_ring(struct nvt_thread *thread)
{
    munmap(nvt_thread_ring(thread), nvt_ring_bytes(thread->most));
}

/* --- rings that a thread has left to the next ------------------------------------------------- */

/* A child of fork finds zeros in them: threads without a ring. */
#define PARKED 64
static struct nvt_thread *_Atomic parked[PARKED];

/* Whether the ring can be had by another thread of this process. */
static int park(struct nvt_thread *thread)
{
    struct nvt_ring *ring = nvt_thread_ring(thread);
    uint32_t state = NVT_RING_OPEN;
    if (nvt_thread_busy(thread) || thread->deaf || ring->pid != (int32_t)syscall(SYS_getpid))
        return 0;
    atomic_store_explicit(&ring->calling.number, 0, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&ring->state, &state, NVT_RING_IDLE))
        return 0;
    for (size_t i = 0; i < PARKED; i++) {
        struct nvt_thread *none = NULL;
        if (atomic_compare_exchange_strong(&parked[i], &none, thread))
            return 1;
    }
    return 0;
}

static void give_back(struct nvt_thread *thread)
{
    if (thread->slots)
        unmap_ring(thread);
    nvt_tasks_free(thread);
    munmap(thread, sizeof(*thread));
}

/* As nothing is recorded of a thread but its open ranges, which are the old one's, and which range ids it has had. */
static void forget_owner(struct nvt_thread *thread)
{
    memset(thread->nests, 0, sizeof(thread->nests));
    memset(thread->capture, 0, sizeof(thread->capture));
    thread->skips = thread->rounds = thread->captures = thread->calibrates = 0;
    thread->ranges = 0;
    thread->open_limit = NULL;
    nvt_tasks_forget(thread);
}

/* The state and the ring of a thread that has ended, for this one; NULL: there is none. */
static struct nvt_thread *take_over(void)
{
    for (size_t i = 0; i < PARKED; i++) {
        struct nvt_thread *thread = atomic_exchange(&parked[i], NULL);
        uint32_t state = NVT_RING_IDLE;
        if (!thread)
            continue;
        /* Where a child of fork sees what its parent had, the ring is the parent's. */
        if (!thread->slots || thread->epoch != atomic_load(&nvt_session.control->epoch) ||
            nvt_thread_ring(thread)->pid != (int32_t)syscall(SYS_getpid) ||
            !atomic_compare_exchange_strong(&nvt_thread_ring(thread)->state, &state,
                                            NVT_RING_OPEN)) {
            give_back(thread);
            continue;
        }
        char name[16] = "";
        uint64_t header[2] = {(uint64_t)syscall(SYS_gettid), sizeof(name)};
        const struct nvt_piece pieces[] = {{header, sizeof(header)}, {name, sizeof(name)}};
        prctl(PR_GET_NAME, name);
        forget_owner(thread);
        thread->serial = nvt_session_serial();
        if (!nvt_thread_record(thread, NVT_WORD(NVT_DEFINE_OWNER, 0, 0, 0, 0), pieces, 2))
            return thread;
        atomic_store(&nvt_thread_ring(thread)->state, NVT_RING_CLOSED);
        give_back(thread);
        return NULL;
    }
    return NULL;
}

/* A thread ends: its ring is the next one's, or the recorder's alone, and its own state is given back. */
static void thread_ends(void *state)
{
    struct nvt_thread *thread = state;
    /* Other destructors may use NVTX, or end what is open: ours waits. */
    if (++thread->rounds < LAST_ROUND && !pthread_setspecific(at_exit, thread))
        return;
    nvt_self = &nvt_nobody;
    nvt_cpu_end_thread();
    nvt_hardware_close(&thread->hardware);
    nvt_os_own_thread(NULL); /* as nobody is here to record for */
    if (thread->slots) {
        if (park(thread))
            return;
        atomic_store_explicit(&nvt_thread_ring(thread)->state, NVT_RING_CLOSED,
                              memory_order_release);
    }
    give_back(thread);
}

/* Past the library in front of libc, which would leave out the signal that samples come by (collectors/cpu/samples.c). */
static void set_mask(const sigset_t *mask, sigset_t *before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, NSIG_BYTES);
}

static void make_key(void)
{
    pthread_key_create(&at_exit, thread_ends);
}

/* Whether the recording is over: what comes then is no loss. */
static int is_over(void)
{
    return atomic_load_explicit(&nvt_session.control->ended, memory_order_relaxed) != 0;
}

/* A ring for a thread that has none: it is new, or has just been forked. */
static int get_ring(struct nvt_thread *thread)
{
    int cancel;
    /* open() and the like are cancellation points; NVTX's functions are none. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int waits = nvt_session.control->on_full == NVT_ON_FULL_WAIT && !retry_at;
    thread->epoch = atomic_load(&nvt_session.control->epoch);
    struct nvt_ring *ring = nvt_session_ring(&thread->serial, &thread->most, waits);
    pthread_setcancelstate(cancel, NULL);
    nvt_capture_own();
    retry_at = ring ? 0 : nvt_monotonic_ns() + RETRY_NS;
    if (!ring)
        return -1;
    thread->slots = thread->next = nvt_ring_slots(ring);
    thread->size = ring->slots;
    thread->is_fixed = 0;
    thread->ring_serial = thread->serial;
    thread->clock = nvt_session.control->clock;
    thread->open_limit = thread->slots + thread->size / 2;
    for (unsigned i = 0; i < NVT_POINTERS; i++)
        thread->pointers[i].text = NVT_NO_TEXT;
    return 0;
}

static void try_ring(struct nvt_thread *thread)
{
    get_ring(thread);
}

/* Outside of the window it has none as long as there is nothing to record: most threads of that time never have. */
static int first_ring(struct nvt_thread *thread)
{
    if (nvt_capture_in_window() || is_over())
        return get_ring(thread);
    thread->serial = nvt_session_serial(); /* its ranges have ids all the same */
    return 0;
}

static struct nvt_thread *new_thread(void)
{
    /* Another thread may have joined: NVTX has it finish first, by a flag that it reads as volatile, or sends us here
     * by an address that it has just been given. Neither read has an order on Arm. */
    atomic_thread_fence(memory_order_acquire);
    if (!nvt_session_is_joined())
        return NULL;
    pthread_once(&at_exit_once, make_key);
    struct nvt_thread *thread = take_over();
    if (!thread) {
        thread = nvt_pages_new(sizeof(*thread));
        if (!thread)
            return NULL;
        if (madvise(thread, sizeof(*thread), MADV_WIPEONFORK) || first_ring(thread)) {
            munmap(thread, sizeof(*thread));
            retry_at = retry_at ? retry_at : nvt_monotonic_ns() + RETRY_NS;
            return NULL;
        }
    }
    thread->limit = thread->open_limit;
    nvt_self = thread;
    pthread_setspecific(at_exit, thread);
    return thread;
}

struct nvt_thread *nvt_thread_try(void)
{
    int saved = errno;
    sigset_t all, before;
    sigemptyset(&before);
    struct nvt_thread *thread = NULL;
    if (!retry_at || nvt_monotonic_ns() >= retry_at) {
        /* A handler that came in between would make a state and a ring of its own; one may have come just
         * before. */
        sigfillset(&all);
        set_mask(&all, &before);
        thread = nvt_self != &nvt_nobody ? nvt_self : new_thread();
        set_mask(&before, NULL);
    }
    errno = saved;
    return thread;
}

struct nvt_thread *nvt_thread_new(void)
{
    struct nvt_thread *thread = nvt_thread_try();
    if (!thread)
        nvt_thread_drop(NULL, 1);
    return thread;
}

void nvt_thread_drop(struct nvt_thread *thread, uint64_t events)
{
    if (!nvt_session.control || is_over())
        return;
    if (!thread || !thread->slots) {
        atomic_fetch_add_explicit(&nvt_session.control->homeless, events, memory_order_relaxed);
        return;
    }
    struct nvt_ring *ring = nvt_thread_ring(thread);
    uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    atomic_store_explicit(&ring->dropped, dropped + events, memory_order_relaxed);
}

uint64_t nvt_thread_open_ranges(const struct nvt_thread *thread)
{
    uint64_t open = 0;
    for (unsigned i = 0; i < NVT_NESTS; i++)
        open += thread->nests[i].depth - thread->nests[i].skipped - thread->nests[i].quiet;
    return open;
}

/* Slots that the ends of what is open may take: each may be in another task, which takes one more. */
static uint64_t owed(const struct nvt_thread *thread)
{
    return nvt_thread_open_ranges(thread) * (thread->tasks ? 2 : 1);
}

/* Slots that the recorder has given back. */
static uint64_t free_slots(const struct nvt_thread *thread)
{
    uint64_t tail = atomic_load_explicit(&nvt_thread_ring(thread)->tail, memory_order_acquire);
    return tail + thread->size - nvt_thread_written(thread);
}

/* A kernel puts at least so much between what a signal interrupts and its handler. */
#define SIGNAL_FRAME 1024

/* Whether the frame that we were called from lies where that of the event was, or above. */
static int is_past(const struct nvt_thread *thread, uintptr_t here)
{
    stack_t other;
    /* A stack of the handler's own may lie anywhere. */
    return here + SIGNAL_FRAME > nvt_thread_busy((struct nvt_thread *)thread) &&
           !(!sigaltstack(NULL, &other) && (other.ss_flags & SS_ONSTACK));
}

/* Slots of a record that was published at `next`, and of which we do not know; *word gets its word, 0 where that is
 * gone too. */
static uint64_t missed(const struct nvt_thread *thread, uint64_t *word)
{
    *word = 0;
    if (!free_slots(thread)) /* the slot there is not ours */
        return 0;
    *word = atomic_load_explicit(&thread->next->word, memory_order_relaxed);
    if (*word)
        return NVT_WORD_EXTRA(*word) + 1;
    /* Not published, or taken already. */
    atomic_thread_fence(memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&nvt_thread_ring(thread)->taken, memory_order_relaxed);
    return taken > nvt_thread_written(thread) ? taken - nvt_thread_written(thread) : 0;
}

/* What an event did that was left in the middle: a record that was published is behind us, and of one that was
 * not, nothing stays in slots that look empty to the recorder. Left in the middle itself, this is done once more. */
static void recover(struct nvt_thread *thread)
{
    uint64_t word;
    if (!thread->slots)
        return;
    if (thread->next < thread->slots + thread->size)
        thread->lap = thread->new_lap;
    nvt_thread_advance(thread, 0);
    nvt_thread_advance(thread, missed(thread, &word));
    struct nvt_nest *nest = &thread->nests[NVT_WORD_DOMAIN(word) % NVT_NESTS];
    if (NVT_WORD_KIND(word) == NVT_EVENT_PUSH)
        nest->depth++;
    else if (NVT_WORD_KIND(word) == NVT_EVENT_POP && nest->depth)
        nest->depth--;
    thread->skips = 0;
    for (unsigned i = 0; i < NVT_NESTS; i++) { /* no more are left out than are open */
        struct nvt_nest *left = &thread->nests[i];
        if (left->quiet > left->depth)
            left->quiet = left->depth;
        if (left->skipped > left->depth - left->quiet)
            left->skipped = left->depth - left->quiet;
        thread->skips += thread->nests[i].skipped;
    }
    uint64_t at = nvt_thread_written(thread), room = free_slots(thread);
    for (uint64_t i = 0; i < room && i < thread->record; i++)
        atomic_store_explicit(&thread->slots[(at + i) & (thread->size - 1)].word, 0,
                              memory_order_relaxed);
    thread->open_limit = NULL;
}

void nvt_thread_recover(struct nvt_thread *thread)
{
    recover(thread);
    nvt_thread_leave(thread);
}

int nvt_thread_nested(struct nvt_thread *thread)
{
    if (is_past(thread, (uintptr_t)__builtin_frame_address(0))) {
        nvt_thread_recover(thread);
        return 0;
    }
    if (thread->slots)
        atomic_fetch_add_explicit(&nvt_thread_ring(thread)->nested, 1, memory_order_relaxed);
    return 1;
}

static int is_gone(const struct nvt_thread *thread)
{
    const struct nvt_ring *ring = nvt_thread_ring(thread);
    return atomic_load_explicit(&ring->state, memory_order_acquire) == NVT_RING_GONE;
}

/* The recorder has forgotten the ring: another one, which knows no names yet. Open ranges stay open, as
 * their ends will come. */
static void renew_ring(struct nvt_thread *thread)
{
    unmap_ring(thread);
    thread->slots = thread->next = thread->limit = thread->open_limit = NULL;
    thread->lap = thread->new_lap = 0;
    memset(thread->domains_seen, 0, sizeof(thread->domains_seen));
    memset(thread->files_seen, 0, sizeof(thread->files_seen));
    memset(thread->names, 0, sizeof(thread->names));
    nvt_tasks_new_ring(thread);
    get_ring(thread);
}

/* No handler may jump out in the middle: it would leave a ring that is not there. */
static void between_signals(struct nvt_thread *thread, void (*change)(struct nvt_thread *thread))
{
    sigset_t all, before;
    sigemptyset(&before);
    sigfillset(&all);
    set_mask(&all, &before);
    change(thread);
    set_mask(&before, NULL);
}

void nvt_thread_renew(struct nvt_thread *thread)
{
    int saved = errno;
    thread->deaf = 0;
    if (thread->slots)
        between_signals(thread, renew_ring);
    errno = saved;
}

static int may_grow(const struct nvt_thread *thread)
{
    return thread->size < thread->most && !thread->is_fixed && !thread->lap && !thread->new_lap;
}

/* Where there is no memory for more, the ring stays as it is. */
static void grow_ring(struct nvt_thread *thread)
{
    uint64_t size = thread->size * 4 < thread->most ? thread->size * 4 : thread->most;
    if (nvt_session_grow(nvt_thread_ring(thread), thread->ring_serial, (uint32_t)size))
        thread->is_fixed = 1;
    else
        thread->size = size;
}

static int fits(struct nvt_thread *thread, uint64_t slots, uint64_t open);

/* Whether `slots` slots, and the pops of what is open, fit without the ring's coming around. */
static int fits_ahead(struct nvt_thread *thread, uint64_t slots, uint64_t open)
{
    uint64_t at = (uint64_t)(thread->next - thread->slots);
    return at + slots < thread->size && slots + open + 2 < thread->size &&
           fits(thread, slots, open);
}

/* Have the ring as large as it needs to be, as far as it may. */
static void grow(struct nvt_thread *thread, uint64_t slots, uint64_t open)
{
    while (may_grow(thread) && !fits_ahead(thread, slots, open))
        between_signals(thread, grow_ring);
    /* the short path stops at the ring's end without coming around */
    nvt_thread_advance(thread, 0);
}

/* See how far the recorder has come. Whether `slots` fit now, and the pops of what is open. */
static int fits(struct nvt_thread *thread, uint64_t slots, uint64_t open)
{
    uint64_t room = free_slots(thread);
    uint64_t budget = room > open ? (room - open) / 2 : 0, half = thread->size / 2;
    /* The next look is where the ring is half full, or a burst may end behind that and wake nobody. */
    if (room > half && budget > room - half)
        budget = room - half;
    /* A ring that may grow is asked before it comes around. */
    uint64_t to_end = (uint64_t)(thread->slots + thread->size - thread->next);
    to_end -= may_grow(thread) && to_end;
    thread->open_limit = thread->next + (budget < to_end ? budget : to_end);
    if (room <= half)
        nvt_control_wake(nvt_session.control);
    return slots + open < room && budget;
}

/* A look at the recorder counts at most so much: longer between two looks, and we were not running
 * either (stopped, frozen), which says nothing about the recorder. */
#define LOOK_NS 20000000

/* Wait until there is room, or the recorder has been silent for NVT_SILENCE_NS; NVT_WRITING_NS while
 * it writes. */
static int wait_for_room(struct nvt_thread *thread, uint64_t slots, uint64_t open)
{
    struct nvt_control *control = nvt_session.control;
    int64_t started = nvt_monotonic_ns(), last_look = started, silent = 0;
    uint64_t heartbeat = atomic_load(&control->heartbeat);
    int status = -1;
    if (thread->deaf && heartbeat == thread->silent_heartbeat)
        return -1;
    thread->deaf = 0;
    for (unsigned round = 0; !atomic_load(&control->ended) && !is_gone(thread); round++) {
        nvt_control_wake(control);
        nvt_pause(round);
        if (fits(thread, slots, open)) {
            status = 0;
            break;
        }
        /* In this order: behind a long write, which is no silence, the heartbeat has grown. */
        uint32_t is_writing = atomic_load(&control->writing);
        uint64_t beat = atomic_load(&control->heartbeat);
        int64_t now = nvt_monotonic_ns();
        if (beat != heartbeat) {
            heartbeat = beat;
            silent = 0;
        } else if ((silent += now - last_look < LOOK_NS ? now - last_look : LOOK_NS) >
                   (is_writing ? NVT_WRITING_NS : NVT_SILENCE_NS)) {
            thread->deaf = 1;
            thread->silent_heartbeat = beat;
            if (control->is_standing) /* if it has died, all sleep from here on */
                nvt_session_is_abandoned();
            break;
        }
        last_look = now;
    }
    struct nvt_ring *ring = nvt_thread_ring(thread);
    uint64_t waited = atomic_load_explicit(&ring->waited_ns, memory_order_relaxed);
    waited += (uint64_t)(nvt_monotonic_ns() - started);
    atomic_store_explicit(&ring->waited_ns, waited, memory_order_relaxed);
    return status;
}

/* Whether there is a ring, which a thread without one gets now. */
static int has_ring(struct nvt_thread *thread)
{
    if (!thread->slots && (!retry_at || nvt_monotonic_ns() >= retry_at))
        between_signals(thread, try_ring);
    return thread->slots != NULL;
}

int nvt_thread_offers(struct nvt_thread *thread, uint64_t slots)
{
    int saved = errno, has_room;
    if (thread->slots && is_gone(thread))
        between_signals(thread, renew_ring);
    has_room = has_ring(thread);
    if (has_room) {
        uint64_t open = owed(thread);
        grow(thread, slots, open);
        has_room = slots + open + 2 < thread->size && fits(thread, slots, open);
    }
    errno = saved;
    return has_room;
}

int nvt_thread_room(struct nvt_thread *thread, uint64_t slots)
{
    int saved = errno, status = 0;
    if (!has_ring(thread)) {
        errno = saved;
        return -1;
    }
    /* What never fits is dropped at once: a giant record, or one in a ring full of open ranges. */
    uint64_t open = owed(thread);
    grow(thread, slots, open);
    if (slots + open + 2 >= thread->size) {
        status = -1;
        if (open > thread->size / 2)
            atomic_store_explicit(&nvt_thread_ring(thread)->too_deep, 1, memory_order_relaxed);
    } else if (!fits(thread, slots, open))
        status = nvt_session.control->on_full == NVT_ON_FULL_WAIT
                     ? wait_for_room(thread, slots, open)
                     : -1;
    /* The event in hand is lost: its name is one of the old ring. */
    if (status && is_gone(thread))
        between_signals(thread, renew_ring);
    errno = saved;
    return status;
}

int nvt_thread_slot(struct nvt_thread *thread, uint64_t word, int is_pop)
{
    if (thread->next >= thread->open_limit && nvt_thread_room(thread, 1) &&
        !(is_pop && thread->slots && free_slots(thread)))
        return -1;
    nvt_slot_publish(thread->next, word, thread->clock);
    nvt_thread_advance(thread, 1);
    return 0;
}

/* Copy bytes to `offset` bytes behind slot number `slot` of the ring, around its end. */
static void copy_in(struct nvt_thread *thread, uint64_t slot, size_t offset, const void *data,
                    size_t size)
{
    size_t capacity = (size_t)thread->size * sizeof(struct nvt_slot);
    size_t at = ((size_t)slot * sizeof(struct nvt_slot) + offset) % capacity;
    size_t first = capacity - at < size ? capacity - at : size;
    memcpy((char *)thread->slots + at, data, first);
    memcpy(thread->slots, (const char *)data + first, size - first);
}

int nvt_thread_record(struct nvt_thread *thread, uint64_t word, const struct nvt_piece *pieces,
                      int count)
{
    static const char zero[sizeof(struct nvt_slot)];
    size_t size = 0, offset = 0;
    for (int i = 0; i < count; i++)
        size += pieces[i].size;
    uint64_t extra = (size + sizeof(zero) - 1) / sizeof(zero);
    if (extra > 0xffff)
        return -1;
    if (thread->next + extra >= thread->open_limit && nvt_thread_room(thread, extra + 1))
        return -1;
    uint64_t slot = (uint64_t)(thread->next - thread->slots);
    thread->record = extra + 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (size % sizeof(zero))
        copy_in(thread, slot + extra, 0, zero, sizeof(zero));
    for (int i = 0; i < count; i++) {
        copy_in(thread, slot + 1, offset, pieces[i].data, pieces[i].size);
        offset += pieces[i].size;
    }
    nvt_slot_publish(thread->next, word | extra << 16, thread->clock);
    nvt_thread_advance(thread, extra + 1);
    return 0;
}
