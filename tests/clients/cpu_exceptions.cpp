// Exceptions thrown and caught while samples are taken: both unwind the same stack. Also within a library's callback.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

static double processor_seconds()
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Guard {
    int &count;
    explicit Guard(int &counter) : count(counter)
    {
    }
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard()
    {
        count++;
    }
};

static int guards;

__attribute__((noinline)) static int throw_from(int depth)
{
    Guard guard(guards);
    if (!depth)
        throw std::runtime_error("thrown");
    return throw_from(depth - 1) + 1;
}

static int compare(const void *left, const void *right)
{
    if (*static_cast<const int *>(left) == 3 || *static_cast<const int *>(right) == 3)
        throw std::string("within qsort");
    return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

int main()
{
    long thrown = 0, caught = 0;
    double end = processor_seconds() + 1.0;
    while (processor_seconds() < end) {
        for (int depth = 0; depth < 20; depth++) {
            int numbers[] = {5, 4, 3, 2, 1};
            try {
                thrown++;
                throw_from(depth);
            } catch (const std::runtime_error &error) {
                caught++;
            }
            try {
                thrown++;
                std::qsort(numbers, 5, sizeof(numbers[0]), compare);
            } catch (const std::string &text) {
                caught++;
            }
        }
    }
    if (thrown == caught && guards > thrown)
        return 0;
    std::fprintf(stderr, "%ld thrown, %ld caught\n", thrown, caught);
    return 1;
}
