#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"

#define BAR 24

void nvt_progress_text(char *out, size_t size, size_t done, size_t total, int64_t elapsed_ns,
                       const char *next, int columns)
{
    char bar[BAR + 1], left[32] = "", line[512];
    size_t filled = total ? done * BAR / total : 0;
    for (size_t i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    if (done && done < total) {
        int64_t seconds =
            (int64_t)((double)elapsed_ns / (double)done * (double)(total - done) / 1e9 + 0.5);
        snprintf(left, sizeof(left), " %" PRId64 ":%02d left", seconds / 60, (int)(seconds % 60));
    }
    snprintf(line, sizeof(line), "[%s] %zu/%zu%s %s", bar, done, total, left, next ? next : "");
    /* A line that wraps could not be wiped again. */
    int most = columns > 1 ? columns - 1 : 79;
    snprintf(out, size, "%.*s", most, line);
}

void nvt_progress_begin(struct nvt_progress *progress, int descriptor, size_t total)
{
    progress->descriptor = isatty(descriptor) ? descriptor : -1;
    progress->total = total;
    progress->started_ns = nvt_monotonic_ns();
}

void nvt_progress_show(const struct nvt_progress *progress, size_t done, const char *next)
{
    char text[512];
    struct winsize window = {0};
    if (progress->descriptor < 0)
        return;
    ioctl(progress->descriptor, TIOCGWINSZ, &window);
    nvt_progress_text(text, sizeof(text), done, progress->total,
                      nvt_monotonic_ns() - progress->started_ns, next, window.ws_col);
    dprintf(progress->descriptor, "\r\033[K%s", text);
}

void nvt_progress_end(const struct nvt_progress *progress)
{
    if (progress->descriptor >= 0)
        dprintf(progress->descriptor, "\r\033[K");
}
