/* A block's threads: stacks of their own, between which one processor goes to and fro. */
#include "emulated.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

/* What every __shared__ array of the library lies in; a library without any has no such section. */
extern char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

emulated_place *emulated_here;

namespace
{
constexpr unsigned threads_most = 1024, warp = 32;
constexpr size_t stack_bytes = 256 << 10;

enum class state { ready, at_barrier, at_exchange, done };

struct fiber {
    emulated_place here;
    state is;
    int at; /* which barrier or exchange, and where that is */
    const char *file;
    int line;
    uint64_t lane_value[2]; /* what it gave to an exchange, and to the one before */
    int turn;
    bool started;
    void *resume_at[5]; /* __builtin_setjmp's */
    std::unique_ptr<ucontext_t> start;
};

/* Close together, as all of them are looked at again and again. They stay where they are: there is room for all from the first. */
std::vector<fiber> fibers;
fiber *current;
void *scheduler[5];
const std::function<void()> *body;

/* Of which its callers must not assume that it leaves any register as it was. */
#ifdef __clang__
#define STRANGER __attribute__((noinline))
#else
#define STRANGER __attribute__((noipa))
#endif

/* AddressSanitizer would clean the whole stack at each jump, as if nobody came back. */
__attribute__((no_sanitize("address"))) STRANGER void jump(void **place)
{
    __builtin_longjmp(place, 1);
}

/* Back to the scheduler, until it goes on here. */
STRANGER void leave()
{
    if (!__builtin_setjmp(current->resume_at))
        jump(scheduler);
}

void run_threads()
{
    for (;;) {
        (*body)();
        current->is = state::done;
        leave();
    }
}

STRANGER void enter(fiber *chosen)
{
    current = chosen;
    emulated_here = &chosen->here;
    if (__builtin_setjmp(scheduler))
        return;
    if (chosen->started)
        jump(chosen->resume_at);
    chosen->started = true;
    setcontext(chosen->start.get());
}

/* The tops of stacks lie at different distances from the ends of pages: at the same one, they would all want the same few lines of
 * the processor's cache. */
void begin_on(void *stack, size_t unused, ucontext_t *start)
{
    getcontext(start);
    start->uc_stack.ss_sp = stack;
    start->uc_stack.ss_size = stack_bytes - unused;
    makecontext(start, run_threads, 0);
}

/* A stack ends at a page that nobody may touch. */
void make_fibers(unsigned count)
{
    fibers.reserve(threads_most);
    while (fibers.size() < count) {
        fiber made{};
        size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        void *stack = mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stack == MAP_FAILED || mprotect(stack, page, PROT_NONE))
            emulated_stop("no memory for the stack of a thread");
        made.start.reset(new ucontext_t);
        begin_on(static_cast<char *>(stack) + page, fibers.size() % 32 * 320, made.start.get());
        fibers.push_back(std::move(made));
    }
}

void wait_at(state where, int at, const char *file, int line)
{
    current->is = where;
    current->at = at;
    current->file = file;
    current->line = line;
    leave();
}

/* Whether these threads all wait at the same place of this kind; then they may go on. */
bool release(unsigned first, unsigned end, state where)
{
    for (unsigned i = first; i < end; i++)
        if (fibers[i].is != where || fibers[i].at != fibers[first].at)
            return false;
    for (unsigned i = first; i < end; i++)
        fibers[i].is = state::ready;
    return true;
}

[[noreturn]] void stop_at_a_barrier(unsigned threads)
{
    unsigned done = 0;
    const fiber *waits = nullptr, *other = nullptr;
    for (unsigned i = 0; i < threads; i++) {
        const fiber *one = &fibers[i];
        done += one->is == state::done;
        if (one->is == state::done)
            continue;
        waits = waits ? waits : one;
        other = one->at != waits->at ? one : other;
    }
    if (other)
        emulated_stop("thread %u waits at %s:%d and thread %u at %s:%d", waits->here.thread.x,
                      waits->file, waits->line, other->here.thread.x, other->file, other->line);
    emulated_stop("thread %u waits at %s:%d for %u of %u threads, which have ended",
                  waits->here.thread.x, waits->file, waits->line, done, threads);
}

void run_block(unsigned threads, const std::vector<unsigned> &order)
{
    for (unsigned left = threads; left;) {
        for (unsigned i : order) {
            if (fibers[i].is == state::ready) {
                enter(&fibers[i]);
                left -= fibers[i].is == state::done;
            }
        }
        bool moved = !left || release(0, threads, state::at_barrier);
        for (unsigned first = 0; first < threads && left; first += warp)
            if (release(first, first + warp < threads ? first + warp : threads, state::at_exchange))
                moved = true;
        if (!moved)
            stop_at_a_barrier(threads);
    }
}

void shuffle(std::vector<unsigned> &order)
{
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[emulated_random(i)]);
}
} // namespace

void emulated_run_blocks(int64_t blocks, unsigned threads, const std::function<void()> &thread)
{
    if (threads > threads_most)
        emulated_stop("a block of %u threads", threads);
    make_fibers(threads);
    body = &thread;
    std::vector<unsigned> order(threads);
    for (unsigned i = 0; i < threads; i++)
        order[i] = i;
    /* From a random one, up or down. */
    int64_t first = static_cast<int64_t>(emulated_random(static_cast<uint64_t>(blocks)));
    bool down = emulated_random(2);
    for (int64_t turn = 0; turn < blocks; turn++) {
        int64_t block = (first + (down ? blocks - turn : turn)) % blocks;
        if (!(turn % 8))
            shuffle(order);
        if (__start_emulated_shared)
            memset(__start_emulated_shared, 0xff,
                   static_cast<size_t>(__stop_emulated_shared - __start_emulated_shared));
        for (unsigned i = 0; i < threads; i++) {
            fibers[i].here = {{i, 0, 0}, {static_cast<unsigned>(block), 0, 0}};
            fibers[i].is = state::ready;
        }
        run_block(threads, order);
    }
    emulated_here = nullptr;
}

void emulated_barrier(int at, const char *file, int line)
{
    static const bool ignored = emulated_ignores("barriers");
    if (!ignored)
        wait_at(state::at_barrier, at, file, line);
}

/* Whoever has left one exchange may give to the next before the others have taken: two places. */
uint64_t emulated_exchange(uint64_t bits, int step, int at, const char *file, int line)
{
    unsigned self = current->here.thread.x, other = self ^ static_cast<unsigned>(step);
    int turn = current->turn ^= 1;
    current->lane_value[turn] = bits;
    wait_at(state::at_exchange, at, file, line);
    return fibers[other].lane_value[turn];
}

/* --- what all parts use --- */

uint64_t emulated_random(uint64_t bound)
{
    static uint64_t word = [] {
        const char *seed = getenv("EMULATED_SEED");
        return (seed ? strtoull(seed, nullptr, 10) : 1) * 0x9E3779B97F4A7C15u + 1;
    }();
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    return bound ? (word >> 11) % bound : 0;
}

bool emulated_ignores(const char *what)
{
    const char *list = getenv("EMULATED_IGNORE");
    return list && strstr(list, what);
}

void emulated_stop(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("emulated device: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}
