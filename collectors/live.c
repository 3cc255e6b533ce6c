#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/buffer.h"
#include "../lib/count_of.h"
#include "../lib/quantity_text.h"
#include "../lib/shell.h"
#include "output.h"

/* So long after recording has ended, what is still on its way has come. */
#define SETTLED_NS INT64_C(3000000000)

static int is_open(const struct nvt_live *live)
{
    return atomic_load(&live->recorder->control->window) == NVT_WINDOW_OPEN;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* So many ns of the window are none of iterations: it opens before the first and closes behind the last. `now`: ticks. */
static int64_t wait_of(const struct nvt_live *live, uint64_t now, int64_t open_ns)
{
    uint64_t from, to;
    const struct nvt_recorder *recorder = live->recorder;
    const uint64_t second = nvt_output_ticks(recorder->output, recorder->clock, 1000000000);
    nvt_live_steps_span(&live->steps, recorder->control, now, &from, &to);
    const double recorded_ns = second ? (double)(to - from) / (double)second * 1e9 : 0;
    return recorded_ns < (double)open_ns ? open_ns - (int64_t)recorded_ns : 0;
}

static int64_t recorded_ns(const struct nvt_live *live)
{
    const struct nvt_record_window *window = live->window;
    const struct nvt_recorder *recorder = live->recorder;
    const int64_t all = nvt_record_window_recorded(window, recorder->control);
    const int64_t open_ns = all - window->recorded_ns;
    const int64_t waits = is_open(live) && nvt_live_steps_are_due(&live->steps)
                              ? wait_of(live, nvt_ticks(recorder->clock), open_ns)
                              : 0;
    return all - live->waited_ns - waits;
}

/* How much of the time was recorded, and from when to when the last part is, as facts of the trace: of each name the last one
 * counts. `from`, `to`: ticks; 0: it goes on. 0, or -1 with the text. */
static int write_parts(struct nvt_live *live, uint64_t from, uint64_t to, char *text, size_t size)
{
    char value[80], name[40];
    const struct nvt_recorder *recorder = live->recorder;
    const uint32_t parts = live->window->parts;
    snprintf(name, sizeof(name), "part %" PRIu32, parts);
    snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, from, to);
    int failed = nvt_output_fact(recorder->output, name, value);
    snprintf(value, sizeof(value), "%" PRIu32 " part%s, %s", parts, parts == 1 ? "" : "s",
             NVT_TIME((double)recorded_ns(live)));
    if (!failed && !nvt_output_fact(recorder->output, "recorded", value))
        return 0;
    snprintf(text, size, "out of memory");
    return -1;
}

/* --- the requests --- */

static int put_status(struct nvt_live *live, const char *words, char *text, size_t size)
{
    const struct nvt_record_window *window = live->window;
    const int64_t now = nvt_monotonic_ns();
    char due[100];
    (void)words;
    nvt_live_steps_put_due(&live->steps, due, sizeof(due));
    snprintf(text, size,
             "state\t%s\n%sfor\t%" PRId64 "\nbegan\t%" PRId64 "\nrecorded\t%" PRId64
             "\nparts\t%" PRIu32 "\nprocesses\t%" PRIu32 "\nbytes\t%" PRIu64 "\niterating\t%" PRIu32
             "\ntrace\t%s\ncommand\t%s\n",
             is_open(live) ? "recording" : "dormant", due, now - window->turned, now - live->began,
             recorded_ns(live), window->parts, nvt_output_processes(live->recorder->output),
             nvt_output_size(live->recorder->output),
             nvt_live_steps_iterating(live->recorder->control), live->trace, live->command);
    return 0;
}

/* Which iterations the part has: "822 to 826 of 4 processes". */
static int write_steps(struct nvt_live *live, char *text, size_t size)
{
    char name[48], value[120];
    const struct nvt_live_steps *steps = &live->steps;
    int used = snprintf(value, sizeof(value), "%" PRIu64 " to %" PRIu64 " of %" PRIu32 " process%s",
                        steps->from, steps->last, steps->of, steps->of == 1 ? "" : "es");
    if (steps->is_broken_off)
        snprintf(value + used, sizeof(value) - (size_t)used, ", stopped when %" PRIu32 " had them",
                 steps->processes);
    snprintf(name, sizeof(name), "iterations of part %" PRIu32, live->window->parts);
    if (steps->fix_at || !nvt_output_fact(live->recorder->output, name, value))
        return 0;
    snprintf(text, size, "out of memory");
    return -1;
}

/* The window is closed, which was open for so long: what it was open for is over. 0 with the time that is recorded, or -1 with the text. */
static int close_part(struct nvt_live *live, int64_t *open_ns, char *text, size_t size)
{
    const struct nvt_control *control = live->recorder->control;
    uint64_t to = nvt_ticks(live->recorder->clock), from = atomic_load(&control->opened);
    if (nvt_live_steps_are_due(&live->steps)) {
        nvt_live_steps_close(&live->steps, live->recorder->control);
        const int64_t waits = wait_of(live, to, *open_ns);
        nvt_live_steps_span(&live->steps, control, to, &from, &to);
        live->waited_ns += waits;
        *open_ns -= waits;
        if (write_steps(live, text, size))
            return -1;
    }
    return write_parts(live, from, to, text, size);
}

/* What is still in buffers goes to the file, and the moment on both clocks. */
static void save(struct nvt_recorder *recorder)
{
    uint64_t taken;
    nvt_recorder_look(recorder);
    nvt_recorder_drain(recorder, &taken);
    nvt_recorder_note_waits(recorder);
    recorder->next_flush = recorder->next_clock = 0;
    nvt_recorder_housekeeping(recorder);
}

static int turn(struct nvt_live *live, int opens, char *text, size_t size)
{
    struct nvt_recorder *recorder = live->recorder;
    int64_t since = nvt_monotonic_ns() - live->window->turned;
    if (!recorder->control->is_dormant) {
        snprintf(text, size,
                 "it records from beginning to end: start and stop need record --dormant");
        return -1;
    }
    if (recorder->control->budget > 0) {
        snprintf(text, size, "record --budget decides by itself when it records");
        return -1;
    }
    if (!opens)
        nvt_recorder_note_waits(recorder);
    if (!nvt_record_window_turn(live->window, recorder->control, recorder->clock, opens)) {
        snprintf(text, size, "%s for %.1f s", opens ? "recording already," : "not recording,",
                 seconds(since));
        return 0;
    }
    recorder->next_flush = 0;
    if (opens) {
        snprintf(text, size, "recording to %s", live->trace);
        return write_parts(live, atomic_load(&recorder->control->opened), 0, text, size);
    }
    if (close_part(live, &since, text, size))
        return -1;
    save(recorder); /* who has the answer finds in the trace what it says */
    snprintf(text, size, "stopped: %s were recorded to %s", NVT_TIME((double)since), live->trace);
    return 0;
}

int nvt_live_start(struct nvt_live *live, char *text, size_t size)
{
    return turn(live, 1, text, size);
}

/* Who wants all from now on would be left with what ends with the iterations of somebody else. */
static int start(struct nvt_live *live, const char *words, char *text, size_t size)
{
    (void)words;
    if (!nvt_live_steps_are_due(&live->steps))
        return turn(live, 1, text, size);
    nvt_live_steps_say_due(&live->steps, text, size);
    return -1;
}

/* With a number, what who has that number has asked for by steps, and nothing that somebody else has begun since. */
static int stop(struct nvt_live *live, const char *words, char *text, size_t size)
{
    if (!*words ||
        (nvt_live_steps_are_due(&live->steps) && strtoull(words, NULL, 10) == live->steps.ours))
        return turn(live, 0, text, size);
    snprintf(text, size, "it is not recording for this request any more");
    return -1;
}

static int steps(struct nvt_live *live, const char *words, char *text, size_t size)
{
    int64_t settle_ns;
    struct nvt_control *control = live->recorder->control;
    if (!control->is_dormant || control->budget > 0)
        return turn(live, 1, text, size);
    if (is_open(live)) {
        if (nvt_live_steps_are_due(&live->steps))
            nvt_live_steps_say_due(&live->steps, text, size);
        else
            snprintf(text, size, "it is recording: nvtally ctl stop ends that");
        return -1;
    }
    if (nvt_live_steps_ask(&live->steps, control, live->server.asker, words, &settle_ns, text,
                           size) ||
        turn(live, 1, live->unheard, sizeof(live->unheard)))
        return -1;
    snprintf(text, size, "trace\t%s\nrange\t%s\nsettle\t%" PRId64 "\n", live->trace,
             control->iteration, settle_ns);
    return 0;
}

static int fix(struct nvt_live *live, const char *words, char *text, size_t size)
{
    if (nvt_live_steps_fix(&live->steps, live->recorder->control, strtoull(words, NULL, 10)))
        return 0;
    snprintf(text, size, "the iteration %.20s may have begun", words);
    return -1;
}

static int stepped(struct nvt_live *live, const char *words, char *text, size_t size)
{
    (void)words;
    nvt_live_steps_put(&live->steps, live->recorder->control, text, size);
    return 0;
}

static int mark(struct nvt_live *live, const char *words, char *text, size_t size)
{
    struct nvt_error err = NVT_ERROR_INIT;
    uint32_t processes;
    if (!*words)
        snprintf(text, size, "the mark has no text");
    else if (!is_open(live))
        snprintf(text, size, "not recording: a mark has no place in the trace");
    else if (nvt_live_steps_are_due(&live->steps) &&
             !atomic_load(&live->recorder->control->steps_began))
        snprintf(text, size, "the iterations have not begun: a mark has no place in the trace");
    else if (nvt_live_mark(&live->marks, live->recorder, words, &processes, &err))
        nvt_error_text(&err, text, size);
    else if (!processes)
        snprintf(text, size, "none of the processes in the trace runs: there is nothing to mark");
    else {
        snprintf(text, size, "marked in %" PRIu32 " process%s", processes,
                 processes == 1 ? "" : "es");
        return 0;
    }
    return -1;
}

/* In ticks; 0: before the trace began. */
static uint64_t ticks_ago(const struct nvt_recorder *recorder, int64_t ns)
{
    const uint64_t now = nvt_ticks(recorder->clock);
    if (ns <= 0 || nvt_monotonic_ns() - nvt_output_origin(recorder->output) <= ns)
        return 0;
    return now - nvt_output_ticks(recorder->output, recorder->clock, ns);
}

static int flush(struct nvt_live *live, const char *words, char *text, size_t size)
{
    struct nvt_recorder *recorder = live->recorder;
    struct stat status;
    const uint64_t since = ticks_ago(recorder, strtoll(words, NULL, 10));
    save(recorder);
    if (stat(live->trace, &status)) {
        snprintf(text, size, "%s: %s", live->trace, strerror(errno));
        return -1;
    }
    snprintf(text, size, "trace\t%s\nbytes\t%" PRId64 "\ninode\t%" PRIu64 "\nsince\t%" PRIu64 "\n",
             live->trace, (int64_t)status.st_size, (uint64_t)status.st_ino, since);
    return 0;
}

static const struct request {
    const char *name;
    /* `words`: what stands behind the name. */
    int (*answer)(struct nvt_live *live, const char *words, char *text, size_t size);
} requests[] = {{"status", put_status}, {"start", start}, {"stop", stop}, {"steps", steps},
                {"stepped", stepped},   {"fix", fix},     {"mark", mark}, {"flush", flush}};

static int answer(void *context, const char *request, char *text, size_t size)
{
    const size_t length = strcspn(request, " ");
    const char *words = request + length + (request[length] == ' ');
    for (size_t i = 0; i < NVT_COUNT_OF(requests); i++)
        if (length == strlen(requests[i].name) && !memcmp(request, requests[i].name, length))
            return requests[i].answer(context, words, text, size);
    snprintf(text, size, "the recorder does not know '%.32s'", request);
    return -1;
}

/* --- life --- */

void nvt_live_begin(struct nvt_live *live, struct nvt_recorder *recorder,
                    struct nvt_record_window *window, const char *trace, char *const command[])
{
    struct nvt_buffer line = {0};
    live->recorder = recorder;
    live->window = window;
    live->began = nvt_monotonic_ns();
    /* The file is there from the command's beginning on. */
    if (!realpath(trace, live->trace))
        snprintf(live->trace, sizeof(live->trace), "%s", trace);
    if (!nvt_shell_join(&line, command) && !nvt_buffer_append(&line, "", 1))
        snprintf(live->command, sizeof(live->command), "%s", (const char *)line.data);
    for (char *at = live->command; *at; at++)
        if (*at == '\n')
            *at = ' ';
    nvt_buffer_free(&line);
}

void nvt_live_end(struct nvt_live *live)
{
    char text[80];
    const struct nvt_control *control = live->recorder->control;
    int64_t open_ns = nvt_monotonic_ns() - live->window->turned;
    if (control->is_dormant && !(control->budget > 0) && is_open(live))
        close_part(live, &open_ns, text, sizeof(text));
    nvt_live_marks_free(&live->marks);
    nvt_ctl_close(&live->server);
}

void nvt_live_serve(struct nvt_live *live)
{
    const int64_t quiet = nvt_monotonic_ns() - live->window->turned;
    if (nvt_live_steps_look(&live->steps, live->recorder->control) ||
        nvt_live_steps_are_given_up(&live->steps))
        turn(live, 0, live->unheard, sizeof(live->unheard));
    nvt_ctl_serve(&live->server, answer, live);
    const struct nvt_control *control = live->recorder->control;
    live->recorder->rests =
        control->is_dormant && !(control->budget > 0) && !is_open(live) && quiet > SETTLED_NS;
}
