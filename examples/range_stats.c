/* Prints the mean time of a range of its own process, on the host and on the device. It writes no
 * trace file. */
#include <nvtally.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static double work(int rounds)
{
    volatile double sum = 0;
    for (int i = 1; i <= rounds; i++)
        sum += 1.0 / i;
    return sum;
}

int main(void)
{
    nvtally_session *session;
    nvtally_range_statistics s = {0};
    /* This must come before the first call of NVTX and of CUDA. */
    int status = nvtally_session_start(&session);
    for (int i = 0; i < 100 && !status; i++) {
        nvtxRangePushA("work");
        work(10000);
        nvtxRangePop();
    }
    if (!status)
        status = nvtally_session_stop(session);
    if (!status)
        status = nvtally_range_stats(session, "work", &s);
    if (!status) {
        printf("work: %llu times, %.0f ± %.0f ns\n", (unsigned long long)s.count, s.host_mean_ns,
               s.host_std_ns);
        if (s.lost)
            printf("%llu events were lost: there may have been more\n", (unsigned long long)s.lost);
        if (s.has_device)
            printf("on the device: %.0f ± %.0f ns, %llu kernels\n", s.device_mean_ns,
                   s.device_std_ns, (unsigned long long)s.kernels);
    } else {
        fprintf(stderr, "range_stats: %s\n", nvtally_status_text(status));
    }
    nvtally_session_free(session);
    return status ? 1 : 0;
}
