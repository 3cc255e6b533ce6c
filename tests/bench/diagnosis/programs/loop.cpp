/*
 * Programs of C++ of the benchmark of diagnosis: a loop with one trouble, or none.
 *
 *   loop++ PROGRAM ITERATIONS COST_US [well]
 *
 * As loop.c: an iteration works for BASE_US of its thread's processor time, and PROGRAM's trouble adds about COST_US to it.
 */
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nvtx3/nvToolsExt.h>

namespace
{

constexpr int64_t BASE_US = 4000;
volatile uint64_t sink;

int64_t clock_ns(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

/* Do `piece` for so much processor time of the thread. */
template <typename Piece> void for_us(int64_t us, Piece piece)
{
    const int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        piece();
}

__attribute__((noinline)) void work(int64_t us)
{
    for_us(us, [] {
        for (int i = 0; i < 20000; i++)
            sink = sink * 6364136223846793005u + 1;
    });
}

class Range
{
  public:
    explicit Range(const char *name)
    {
        nvtxRangePushA(name);
    }
    ~Range()
    {
        nvtxRangePop();
    }
    Range(const Range &) = delete;
    Range &operator=(const Range &) = delete;
};

/* A list of small objects is built anew each time. */
__attribute__((noinline)) void build_index(int64_t us)
{
    const Range range("index");
    for_us(us, [] {
        std::vector<char *> nodes(2000);
        for (char *&node : nodes) {
            node = new char[48];
            node[0] = 1;
        }
        for (char *node : nodes)
            delete[] node;
    });
}

__attribute__((noinline)) void write_log(int64_t us)
{
    const Range range("log");
    for_us(us, [] {
        std::string line;
        for (int i = 0; i < 200; i++)
            line += std::to_string(double(sink % 1000) / 7) + " ";
        sink = sink + line.size();
    });
}

/* Another thread holds the lock for so long whenever it is asked to. */
class Cache
{
  public:
    void refresh(int64_t us)
    {
        if (!holder.joinable())
            holder = std::thread([this] { hold(); });
        std::unique_lock<std::mutex> asks(state);
        hold_us = us;
        changed.notify_all();
        changed.wait(asks, [this] { return !hold_us; });
        asks.unlock();
        const Range range("look up");
        const std::lock_guard<std::mutex> guard(lock);
    }
    ~Cache()
    {
        if (holder.joinable())
            holder.detach();
    }

  private:
    void hold()
    {
        for (;;) {
            std::unique_lock<std::mutex> is_asked(state);
            changed.wait(is_asked, [this] { return hold_us != 0; });
            const int64_t us = hold_us;
            const std::lock_guard<std::mutex> guard(lock);
            hold_us = 0;
            changed.notify_all();
            is_asked.unlock();
            std::this_thread::sleep_for(std::chrono::microseconds(us));
        }
    }
    std::mutex lock, state;
    std::condition_variable changed;
    std::thread holder;
    int64_t hold_us = 0;
};

void look_up(int64_t us)
{
    static Cache *cache = new Cache; /* its thread never ends */
    cache->refresh(us);
}

/* The result is there by then, and it is waited for all the same. */
void poll_result(int64_t us)
{
    const Range range("poll");
    std::this_thread::sleep_for(std::chrono::microseconds(us));
}

const std::map<std::string, std::function<void(int64_t)>> programs = {
    {"allocate", build_index}, {"text", write_log},       {"lock", look_up},
    {"sleep", poll_result},    {"plain", [](int64_t) {}},
};

} // namespace

int main(int argc, char **argv)
{
    const auto program = argc > 3 ? programs.find(argv[1]) : programs.end();
    const int iterations = argc > 3 ? std::atoi(argv[2]) : 0;
    if (program == programs.end() || iterations < 2) {
        std::fputs("usage: loop++ PROGRAM ITERATIONS COST_US [well]\n", stderr);
        return 2;
    }
    std::vector<int64_t> ns;
    for (int i = 0; i < iterations; i++) {
        const int64_t begin = clock_ns(CLOCK_MONOTONIC);
        {
            const Range range("iteration");
            work(BASE_US);
            if (argc < 5)
                program->second(std::atoll(argv[3]));
        }
        ns.push_back(clock_ns(CLOCK_MONOTONIC) - begin);
    }
    int64_t sum = 0;
    ns.erase(ns.begin(), ns.begin() + iterations / 2);
    for (const int64_t each : ns)
        sum += each;
    std::sort(ns.begin(), ns.end());
    std::printf("%lld %lld\n", static_cast<long long>(ns[ns.size() / 2]),
                static_cast<long long>(sum / static_cast<int64_t>(ns.size())));
    std::fflush(stdout);
    std::_Exit(0); /* threads that hold something do not end */
}
