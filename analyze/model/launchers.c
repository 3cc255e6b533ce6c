#include "launchers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/bisect.h"
#include "../../lib/count_of.h"
#include "../../lib/one_of.h"
#include "../../lib/os_calls.h"
#include "layout.h"

/* Of the time in which children ran: in calls that wait, in those of them that wait for a child, CPU time. */
#define LEAST_WAITING 0.8
#define LEAST_FOR_END 0.5
#define MOST_CPU      0.1
/* The same where nothing tells that it waits for its children. */
#define LEAST_WAITING_ELSE 0.95
#define MOST_CPU_ELSE      0.05
/* Of its own time. */
#define LEAST_CHILDREN 0.5
/* CPU time of what became another program, ns, or of all there was. */
#define MOST_CPU_BEFORE   1000000000
#define MOST_SHARE_BEFORE 0.1

/* After so long the recorder has noticed an end, ns. */
#define NOTICED_NS 300000000

struct span {
    int64_t from, to;
};

struct life {
    struct span own; /* from > to: nothing is known */
    int64_t cpu_ns;
    uint32_t parent;                        /* row, NVT_NONE unknown */
    uint32_t next;                          /* the image that it became, NVT_NONE: none */
    uint32_t first, last;                   /* its spans in `children` of struct lives */
    double waiting_ns, for_end_ns, busy_ns; /* while they ran */
    uint8_t made;                           /* something that launchers make none of */
    uint8_t has_other;                      /* children that run another program */
};

struct lives {
    const struct nvt_trace *trace;
    struct life *items;    /* a process each */
    uint32_t *by_pid;      /* rows, by pid and begin */
    struct span *children; /* when a process had some, each span behind the one before */
    int64_t cpu_ns;        /* of all */
};

static void widen(struct life *life, int64_t from, int64_t to)
{
    life->own.from = from < life->own.from ? from : life->own.from;
    life->own.to = to > life->own.to ? to : life->own.to;
}

static double length_of(struct span span)
{
    return span.to > span.from ? (double)(span.to - span.from) : 0;
}

/* --- what each process did -------------------------------------------------------------------------- */

/* Tables with rows that launchers have none of: they are of a thread or a process. */
static void note_made(struct lives *lives)
{
    static const enum nvt_table_number made[] = {NVT_TABLE_ranges,    NVT_TABLE_marks,
                                                 NVT_TABLE_ops,       NVT_TABLE_apis,
                                                 NVT_TABLE_mpi_calls, NVT_TABLE_memory};
    for (size_t t = 0; t < NVT_COUNT_OF(made); t++) {
        const struct nvt_layout_table *table = &nvt_layout()[made[t]];
        const int64_t *start = nvt_layout_starts(lives->trace, table);
        for (uint32_t i = 0; i < nvt_layout_rows(lives->trace, table); i++) {
            struct life *life = &lives->items[nvt_layout_process(lives->trace, table, i)];
            life->made = 1;
            widen(life, start[i], start[i]);
        }
    }
}

static void note_times(struct lives *lives)
{
    const struct nvt_trace *trace = lives->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    for (uint32_t i = 0; i < calls->count; i++)
        widen(&lives->items[trace->threads.process[calls->thread[i]]], calls->start[i],
              calls->end[i]);
    for (uint32_t i = 0; i < samples->count; i++) {
        struct life *life = &lives->items[trace->threads.process[samples->thread[i]]];
        widen(life, samples->time[i], samples->time[i]);
        life->cpu_ns += samples->cpu_ns[i];
        lives->cpu_ns += samples->cpu_ns[i];
    }
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        struct life *life = &lives->items[trace->threads.process[i]];
        const int64_t ended = trace->threads.ended_ns[i], last = trace->threads.last_ns[i];
        if (life->own.from <= life->own.to)
            widen(life, last ? last : life->own.to, ended > last ? ended : life->own.to);
    }
}

/* --- who started whom ------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct lives *lives = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const int64_t *pid = lives->trace->processes.pid;
    if (pid[a] != pid[b])
        return pid[a] < pid[b] ? -1 : 1;
    const int64_t from = lives->items[a].own.from, other = lives->items[b].own.from;
    return from != other ? (from < other ? -1 : 1) : (a > b) - (a < b);
}

/* The image of a process that ran at a moment, or the first one; NVT_NONE: there is none of that number. */
static uint32_t image_at(const struct lives *lives, int64_t pid, int64_t moment)
{
    uint32_t low = 0, found = NVT_NONE;
    NVT_BISECT(low, lives->trace->processes.count,
               lives->trace->processes.pid[lives->by_pid[low]] < pid);
    for (; low < lives->trace->processes.count &&
           lives->trace->processes.pid[lives->by_pid[low]] == pid;
         low++)
        if (found == NVT_NONE || lives->items[lives->by_pid[low]].own.from <= moment)
            found = lives->by_pid[low];
    return found;
}

/* Whether one image became the other, rather than that its number was given to another process. */
static int is_exec(const struct lives *lives, uint32_t image, uint32_t next)
{
    const struct nvt_processes *processes = &lives->trace->processes;
    const struct span a = lives->items[image].own, b = lives->items[next].own;
    return processes->pid[image] == processes->pid[next] &&
           processes->parent_pid[image] == processes->parent_pid[next] && a.from <= a.to &&
           b.from <= b.to && b.from - a.to < NOTICED_NS;
}

static void link_processes(struct lives *lives)
{
    const struct nvt_processes *processes = &lives->trace->processes;
    qsort_r(lives->by_pid, processes->count, sizeof(*lives->by_pid), compare_rows, lives);
    for (uint32_t i = 0; i + 1 < processes->count; i++)
        if (is_exec(lives, lives->by_pid[i], lives->by_pid[i + 1]))
            lives->items[lives->by_pid[i]].next = lives->by_pid[i + 1];
    for (uint32_t i = 0; i < processes->count; i++) {
        struct life *life = &lives->items[i];
        const uint32_t parent = processes->parent_pid[i] > 0 && life->own.from <= life->own.to
                                    ? image_at(lives, processes->parent_pid[i], life->own.from)
                                    : NVT_NONE;
        if (parent == NVT_NONE || parent == i)
            continue;
        life->parent = parent;
        const char *name = nvt_name(lives->trace, processes->name[i]);
        /* What was forked has the same command line, and a worker of Python's multiprocessing is a part of its program. */
        if (strcmp(name, nvt_name(lives->trace, processes->name[parent])) != 0 &&
            !strstr(name, "multiprocessing"))
            lives->items[parent].has_other = 1;
    }
}

static int compare_children(const void *left, const void *right, void *context)
{
    const struct lives *lives = context;
    const struct life *a = &lives->items[*(const uint32_t *)left];
    const struct life *b = &lives->items[*(const uint32_t *)right];
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->own.from != b->own.from ? (a->own.from < b->own.from ? -1 : 1) : 0;
}

/* When each process had children. 0, or -1 when out of memory. */
static int join_children(struct lives *lives)
{
    const uint32_t count = lives->trace->processes.count;
    uint32_t *rows = malloc(((size_t)count + 1) * sizeof(*rows)), spans = 0;
    lives->children = malloc(((size_t)count + 1) * sizeof(*lives->children));
    if (!rows || !lives->children) {
        free(rows);
        return -1;
    }
    for (uint32_t i = 0; i < count; i++)
        rows[i] = i;
    qsort_r(rows, count, sizeof(*rows), compare_children, lives);
    for (uint32_t i = 0; i < count && lives->items[rows[i]].parent != NVT_NONE; i++) {
        struct life *parent = &lives->items[lives->items[rows[i]].parent];
        struct span span = lives->items[rows[i]].own;
        span.from = span.from > parent->own.from ? span.from : parent->own.from;
        span.to = span.to < parent->own.to ? span.to : parent->own.to;
        if (span.from > span.to)
            continue;
        if (parent->first == parent->last)
            parent->first = parent->last = spans;
        if (parent->last > parent->first && lives->children[parent->last - 1].to >= span.from) {
            struct span *before = &lives->children[parent->last - 1];
            before->to = span.to > before->to ? span.to : before->to;
            continue;
        }
        lives->children[spans++] = span;
        parent->last = spans;
    }
    free(rows);
    return 0;
}

/* --- how they waited ---------------------------------------------------------------------------------- */

/* How much of a span lies in those in which a process had children. */
static double overlap(const struct lives *lives, const struct life *life, struct span span)
{
    double sum = 0;
    uint32_t low = life->first;
    NVT_BISECT(low, life->last, lives->children[low].to < span.from);
    for (; low < life->last && lives->children[low].from < span.to; low++) {
        struct span both = lives->children[low];
        both.from = both.from > span.from ? both.from : span.from;
        both.to = both.to < span.to ? both.to : span.to;
        sum += length_of(both);
    }
    return sum;
}

enum waits { NO_WAIT, WAITS, WAITS_FOR_END };

/* What a call waits for: the end of a process, or the signal of it, or what a child writes to a pipe; or anything. */
static enum waits kind_of(const struct nvt_trace *trace, uint32_t call)
{
    static const char *const ends[] = {"sigsuspend", "sigtimedwait", "sigwait", "sigwaitinfo",
                                       "pause",      "system",       "pclose"};
    const char *name = nvt_name(trace, trace->os_calls.name[call]);
    const struct nvt_os_call_info *info = nvt_os_call_find(name);
    if (NVT_IS_ONE_OF(name, ends))
        return WAITS_FOR_END;
    if (!info)
        return NO_WAIT;
    if (info->kind == NVT_OS_PROCESSES)
        return strncmp(name, "wait", 4) ? NO_WAIT : WAITS_FOR_END;
    if (info->result == NVT_OS_READS &&
        !strncmp(nvt_name(trace, trace->os_calls.file[call]), "pipe", 4))
        return WAITS_FOR_END;
    return info->kind == NVT_OS_POLL || info->kind == NVT_OS_SLEEPS || info->kind == NVT_OS_THREADS
               ? WAITS
               : NO_WAIT;
}

static void add_waits(struct lives *lives)
{
    const struct nvt_trace *trace = lives->trace;
    const struct nvt_os_calls *calls = &trace->os_calls;
    const struct nvt_cpu_samples *samples = &trace->cpu_samples;
    for (uint32_t i = 0; i < calls->count; i++) {
        struct life *life = &lives->items[trace->threads.process[calls->thread[i]]];
        if (life->first == life->last || !nvt_is_main_thread(trace, calls->thread[i]))
            continue;
        const enum waits waits = kind_of(trace, i);
        const double ns =
            waits ? overlap(lives, life, (struct span){calls->start[i], calls->end[i]}) : 0;
        life->waiting_ns += ns;
        life->for_end_ns += waits == WAITS_FOR_END ? ns : 0;
    }
    for (uint32_t i = 0; i < samples->count; i++) {
        struct life *life = &lives->items[trace->threads.process[samples->thread[i]]];
        const struct span at = {samples->time[i], samples->time[i] + 1};
        if (life->first < life->last && overlap(lives, life, at) > 0)
            life->busy_ns += (double)samples->cpu_ns[i];
    }
}

/* Whether it only waited for its children. */
static int is_waiter(const struct lives *lives, const struct life *life)
{
    double ran = 0;
    for (uint32_t i = life->first; i < life->last; i++)
        ran += length_of(lives->children[i]);
    if (life->made || ran <= 0 || ran < LEAST_CHILDREN * length_of(life->own))
        return 0;
    if (life->waiting_ns >= LEAST_WAITING * ran && life->for_end_ns >= LEAST_FOR_END * ran &&
        life->busy_ns <= MOST_CPU * ran)
        return 1;
    return life->has_other && life->waiting_ns >= LEAST_WAITING_ELSE * ran &&
           life->busy_ns <= MOST_CPU_ELSE * ran;
}

static int is_little(const struct lives *lives, const struct life *life)
{
    return !life->made && (life->cpu_ns <= MOST_CPU_BEFORE ||
                           (double)life->cpu_ns <= MOST_SHARE_BEFORE * (double)lives->cpu_ns);
}

/* Whether it became another program, or was started and over before its parent did, or by such a one. */
static int is_before(const struct lives *lives, const struct life *life)
{
    if (!is_little(lives, life))
        return 0;
    if (life->next != NVT_NONE)
        return 1;
    const struct life *parent = life->parent == NVT_NONE ? NULL : &lives->items[life->parent];
    for (uint32_t depth = 0; parent && depth < 64; depth++) {
        if (!is_little(lives, parent))
            return 0;
        if (parent->next != NVT_NONE)
            return life->own.to - lives->items[parent->next].own.from < NOTICED_NS;
        parent = parent->parent == NVT_NONE ? NULL : &lives->items[parent->parent];
    }
    return 0;
}

/* --- all ------------------------------------------------------------------------------------------------ */

static int begin_lives(struct lives *lives, const struct nvt_trace *trace)
{
    const uint32_t count = trace->processes.count;
    *lives = (struct lives){.trace = trace};
    lives->items = malloc(((size_t)count + 1) * sizeof(*lives->items));
    lives->by_pid = malloc(((size_t)count + 1) * sizeof(*lives->by_pid));
    if (!lives->items || !lives->by_pid)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        lives->items[i] =
            (struct life){.own = {INT64_MAX, INT64_MIN}, .parent = NVT_NONE, .next = NVT_NONE};
        lives->by_pid[i] = i;
    }
    note_made(lives);
    note_times(lives);
    link_processes(lives);
    if (join_children(lives))
        return -1;
    add_waits(lives);
    return 0;
}

uint8_t *nvt_launchers_find(const struct nvt_trace *trace, uint32_t *count)
{
    struct lives lives;
    uint8_t *found = calloc((size_t)trace->processes.count + 1, 1);
    *count = 0;
    if (trace->processes.count < 2 || !(trace->os_calls.count + trace->cpu_samples.count))
        return found;
    int failed = begin_lives(&lives, trace) || !found;
    for (uint32_t i = 0; i < trace->processes.count && !failed; i++) {
        const struct life *life = &lives.items[i];
        found[i] =
            life->own.from <= life->own.to &&
            (trace->processes.is_launcher[i] || is_waiter(&lives, life) || is_before(&lives, life));
        *count += found[i];
    }
    free(lives.items);
    free(lives.by_pid);
    free(lives.children);
    if (failed) {
        free(found);
        return NULL;
    }
    return found;
}

/* Rows of a table whose threads are of launchers go. 0, or -1 when out of memory. */
static int leave_out(struct nvt_trace *trace, enum nvt_table_number number,
                     const uint8_t *launchers)
{
    const struct nvt_layout_table *table = &nvt_layout()[number];
    const uint32_t rows = nvt_layout_rows(trace, table);
    uint32_t *place = malloc(((size_t)rows + 1) * sizeof(*place)), count = 0;
    if (!place)
        return -1;
    for (uint32_t i = 0; i < rows; i++)
        place[i] = launchers[nvt_layout_process(trace, table, i)] ? NVT_NONE : count++;
    nvt_layout_keep(trace, table, place, count);
    free(place);
    return 0;
}

/* A word of a command line without its folders: its length, with *word. */
static int base_of(const char **word)
{
    const char *end = *word + strcspn(*word, " ");
    for (const char *at = *word; at < end; at++)
        if (*at == '/')
            *word = at + 1;
    return (int)(end - *word);
}

/* The program that a command line starts: "timeout", of "python3 /usr/bin/torchrun …" torchrun. */
static int program_of(const char *command, const char **name)
{
    *name = command;
    const int length = base_of(name);
    if (strncmp(*name, "python", 6) != 0 || (*name)[length] != ' ' || (*name)[length + 1] == '-')
        return length;
    *name += length + 1;
    return base_of(name);
}

static void tell(struct nvt_trace *trace, const uint8_t *launchers, uint32_t count)
{
    enum { NAMES = 4 };
    char names[200] = " ", word[40]; /* " bash, timeout," */
    uint32_t told = 0;
    for (uint32_t i = 0; i < trace->processes.count && told <= NAMES; i++) {
        const char *name;
        const int length = program_of(nvt_name(trace, trace->processes.name[i]), &name);
        snprintf(word, sizeof(word), " %.*s,", length < 32 ? length : 32, name);
        if (!launchers[i] || length == 0 || strstr(names, word))
            continue;
        snprintf(names + strlen(names) - !told, sizeof(names) - strlen(names), "%s",
                 told < NAMES ? word : " …,");
        told++;
    }
    nvt_trace_note(
        trace,
        "OS calls and CPU samples of %u process%s that only started the program are left "
        "out (%.*s); --launchers counts them",
        count, count == 1 ? "" : "es", (int)strlen(names) - 2 * (told > 0), names + 1);
}

int nvt_launchers_leave_out(struct nvt_trace *trace)
{
    uint32_t count;
    uint8_t *launchers = nvt_launchers_find(trace, &count);
    int failed = !launchers;
    if (!failed && count) {
        failed = leave_out(trace, NVT_TABLE_os_calls, launchers) ||
                 leave_out(trace, NVT_TABLE_cpu_samples, launchers);
        if (!failed)
            tell(trace, launchers, count);
    }
    free(launchers);
    return failed;
}
