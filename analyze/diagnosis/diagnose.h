/*
 * Diagnosis: findings, each with what it costs, the evidence, where to look, a remedy and how sure
 * it is. A new rule is one new file analyze/findings/<name>.c, which defines nvt_rule_<name>, and
 * its name in NVT_RULES; docs/adding.md says what else it needs. The shortest one to copy is
 * findings/stalled.c, of those that compare runs findings/crossing.c.
 *
 * A rule must be silent on a trace that has not its trouble: its thresholds are stated in the rule
 * itself, each with its reason (`threshold`), and tests/test_diagnose*.c has for every rule a trace
 * on either side of them.
 */
#ifndef NVT_DIAGNOSE_H
#define NVT_DIAGNOSE_H

#include "../../lib/quantity_text.h"
#include "../device/devices.h"
#include "../model/named_iterations.h"
#include "../input/input.h"

/* All rules: X(name of nvt_rule_<name>). Their order is that of `diagnose --rules`. */
#define NVT_RULES(X)                                                                               \
    X(deadlock)                                                                                    \
    X(hang)                                                                                        \
    X(stuck)                                                                                       \
    X(scaling)                                                                                     \
    X(crossing)                                                                                    \
    X(sync)                                                                                        \
    X(launch)                                                                                      \
    X(loading)                                                                                     \
    X(cold)                                                                                        \
    X(kernels)                                                                                     \
    X(grid)                                                                                        \
    X(tail)                                                                                        \
    X(idle)                                                                                        \
    X(input)                                                                                       \
    X(operator)                                                                                    \
    X(outside)                                                                                     \
    X(between)                                                                                     \
    X(blocked)                                                                                     \
    X(busy)                                                                                        \
    X(serial)                                                                                      \
    X(stalled)                                                                                     \
    X(pageable)                                                                                    \
    X(transfers)                                                                                   \
    X(copies)                                                                                      \
    X(unified)                                                                                     \
    X(faults)                                                                                      \
    X(allocation)                                                                                  \
    X(memory)                                                                                      \
    X(resident)                                                                                    \
    X(held)                                                                                        \
    X(refused)                                                                                     \
    X(communication)                                                                               \
    X(mpi)                                                                                         \
    X(distributed)                                                                                 \
    X(late)                                                                                        \
    X(ranks)                                                                                       \
    X(periodic)                                                                                    \
    X(iterations)                                                                                  \
    X(slower_part)                                                                                 \
    X(warmup)                                                                                      \
    X(timing)                                                                                      \
    X(unclosed)                                                                                    \
    X(clocks)                                                                                      \
    X(oversubscribed)                                                                              \
    X(machine)                                                                                     \
    X(preempted)                                                                                   \
    X(paging)                                                                                      \
    X(misses)                                                                                      \
    X(slots)                                                                                       \
    X(dram)                                                                                        \
    X(tensor)                                                                                      \
    X(pcie)

/* How sure a finding is; what each word means is nvt_confidence_meaning. */
enum nvt_confidence { NVT_SEEN, NVT_TESTED, NVT_LIKELY, NVT_POSSIBLE, NVT_CONFIDENCES };

/* "seen", "tested", "likely", "possible"; and its meaning, a sentence. */
const char *nvt_confidence_name(enum nvt_confidence confidence);
const char *nvt_confidence_meaning(enum nvt_confidence confidence);

/* Moments that a finding points at. */
#define NVT_MOMENTS 3

struct nvt_rule;

struct nvt_finding {
    const char *cause;           /* "scaling", "sync-bound" …; static text */
    const struct nvt_rule *rule; /* that found it */
    double cost_ns; /* what an iteration (without any: the trace's second half) would be spared
                          at most (one device's time where there are several), or by how much its
                          measurement is wrong; 0: no time */
    /* that cost_ns is a part of: an iteration, or the time looked at; 0: not known */
    double whole_ns;
    const char *per; /* of what: "per iteration" …; static text */
    /* cost_ns of all iterations that were looked at; 0: no time, or it compares traces */
    double total_ns;
    int64_t from, to;   /* ns: what was looked at of the trace, and */
    double units;       /* what costs were divided by; 0: of several traces */
    double cost_bytes;  /* memory that would be spared at most; 0: none */
    double whole_bytes; /* that cost_bytes are a part of; 0: not known */
    enum nvt_confidence confidence;
    char where[256];   /* configuration or file */
    char subject[104]; /* the name that it is about, if any: distinguishes findings of one rule */
    /* of all of what that is the beginning of: who has another is about something else */
    uint64_t about;
    uint32_t process; /* that it is of where processes are looked at apart, else NVT_NONE */
    /* the position, from 1 on, of a finding that says why there is this one; 0: none does */
    size_t explained_by;
    size_t traces; /* that have it: 1, more once folded; 0: it compares several */
    /* of those that compare several, how many find it: 0 or, once folded, more than 1 */
    size_t sweeps;
    size_t of;          /* traces in all, once folded */
    char first[256];    /* `where` of the first of them, once folded */
    char what[256];     /* one sentence */
    char evidence[512]; /* numbers */
    /* that the moments lie in; belongs to the input; NULL: none do */
    const struct nvt_trace *trace;
    int64_t moments[NVT_MOMENTS]; /* ns on the trace's axis: examples */
    uint32_t moment_count;
    char remedy[256];
};

struct nvt_findings {
    struct nvt_finding *items;
    size_t count;
};

/*
 * One trace, and what every rule asks about it. Where several processes enter iterations, or none
 * does and several use a device, each of them is looked at by itself: each enters its own, and what
 * they did side by side is never added up.
 */
struct nvt_counted_ranges;

struct nvt_view {
    const struct nvt_input_trace *input;
    const struct nvt_trace *trace;
    const struct nvt_counted_ranges *counted; /* of the trace, for rules that need counts */
    uint32_t process;                         /* whose rows count, NVT_NONE: all */
    uint32_t process_count;                   /* 1, or of all those that enter iterations */
    const uint32_t *iterations;               /* its rows of ranges, ascending */
    uint32_t iteration_count;
    /*
     * The steady part: the second half of the iterations, or of the trace's time without any, up to the end of what was
     * still open then. What a program does once, when it starts, lies before it: rules about a loop look only here.
     */
    int64_t from, to; /* ns */
    /* iterations in it, 1 without any: what costs are divided by. One of each of threads that enter
     * theirs side by side is one. */
    double units;
    const char *per; /* "per iteration"; "in the second half of the trace" without any */
    double span_ns;  /* to - from */
    /* With operations in the steady part: sums over devices are divided by how many there are.
     * None for a rule that needs no operations. Of one that looks at gaps a device that several
     * processes use is one, with the operations of all of them, and knows what other files have on it. */
    const struct nvt_used_device *devices;
    uint32_t device_count;
};

/* What must have been recorded for a rule to apply. */
enum nvt_rule_needs {
    NVT_RULE_OPS = 1,         /* device operations */
    NVT_RULE_CALLS = 2,       /* of CUDA */
    NVT_RULE_MEMORY = 4,      /* memory events */
    NVT_RULE_RANGES = 8,      /* any */
    NVT_RULE_ITERATIONS = 16, /* nvt_iterations */
    NVT_RULE_LEVELS = 32,     /* memory events, or counters of memory (counters.h) */
    NVT_RULE_OS_CALLS = 64,
    NVT_RULE_SAMPLES = 128,    /* of CPUs */
    NVT_RULE_MACHINE = 256,    /* samples of the machine */
    NVT_RULE_PROCESS = 512,    /* of its processes' memory */
    NVT_RULE_MPI = 1024,       /* calls to MPI or torch.distributed */
    NVT_RULE_OPERATORS = 2048, /* of torch.profiler, with nothing of a device */
    NVT_RULE_COUNTS = 4096,    /* CPU counters of ranges */
    NVT_RULE_METRICS = 8192    /* samples of GPU metrics */
};

/* What rules read. */
struct nvt_case {
    const struct nvt_input *input; /* with its traces */
    const char *by; /* the axis along which runs are compared, NULL: each one that varies */
};

struct nvt_rule {
    const char *cause;     /* heading of its findings */
    const char *about;     /* what it finds, half a sentence */
    const char *threshold; /* from where on it speaks, and why from there */
    const char *remedy;    /* what a finding says unless it knows better */
    /* The other parts of its page (nvt_rule_page), in sentences. */
    const char *means;    /* what it means for the program */
    const char *found;    /* how it is found, and what has to be recorded */
    const char *helped;   /* what has helped others */
    const char *confused; /* what it is confused with, and how to tell the two apart */
    const char *show; /* the command that shows it best, "stats -r gpu_idle"; NULL: a timeline */
    /* the remedy for a program that uses PyTorch, in its words; NULL: the same */
    const char *in_pytorch;
    enum nvt_confidence confidence;
    unsigned needs; /* enum nvt_rule_needs */
    /* Rules that say why where this one says what happens: its findings come behind theirs of about its cost. Ended by NULL;
     * NULL: it is no symptom of others. */
    const struct nvt_rule *const *reasons;
    int is_fatal; /* the program cannot go on: it comes first */
    /* what its cost is, if not time that could be saved but an error of measurement: it comes behind; else NULL */
    const char *error;
    int is_along; /* it compares runs along an axis: what --by leaves */
    int is_whole; /* it looks at all processes of a trace at once */
    int has_gaps; /* it looks at gaps of devices (nvt_view_gaps) */
    int is_of_operations; /* without iterations it looks at all of the devices' time, not at its second half: single
                             operations are its trouble, not a loop */
    /* One of the two is NULL. Both append findings; 0, or -1 with err filled. */
    int (*look)(const struct nvt_rule *rule, const struct nvt_view *view,
                struct nvt_findings *findings, struct nvt_error *err); /* at each trace */
    int (*compare)(const struct nvt_rule *rule, const struct nvt_case *facts,
                   struct nvt_findings *findings, struct nvt_error *err); /* all of them */
};

#define NVT_DECLARE_RULE(name) extern const struct nvt_rule nvt_rule_##name;
NVT_RULES(NVT_DECLARE_RULE)
#undef NVT_DECLARE_RULE

/* All rules; *count gets how many. */
const struct nvt_rule *const *nvt_rules(size_t *count);

/* Let one rule look at the input. 0, or -1 with err. */
int nvt_rule_apply(const struct nvt_rule *rule, const struct nvt_case *facts,
                   struct nvt_findings *findings, struct nvt_error *err);

/* Whether a run of the input has numbers of that axis. 0, or -1 with err, which lists the axes there
 * are. */
int nvt_axis_check(const struct nvt_input *input, const char *by, struct nvt_error *err);

/* Append a line when that axis has fewer values than rules need that look along it. 0, or -1 with
 * err (out of memory). */
int nvt_axis_missing(const struct nvt_input *input, const char *by, struct nvt_buffer *lines,
                     struct nvt_error *err);

/* All rules over the input (its traces read), the costliest finding first; with `by`, an axis that
 * nvt_axis_check accepts, only rules that look along one. The caller frees findings->items, also on failure. 0, or -1 with err. */
int nvt_diagnose(const struct nvt_input *input, const char *by, struct nvt_findings *findings,
                 struct nvt_error *err);

/*
 * Make one finding of those that one rule has of several traces (or, where it compares traces, of several sweeps) and
 * one subject: the costliest, which then counts them. The order stays, that of nvt_diagnose; the traces of the input
 * are still there. A finding that compares several traces and has no subject is unchanged. 0, or -1 with err (out of
 * memory).
 */
int nvt_findings_fold(struct nvt_findings *findings, const struct nvt_input *input,
                      struct nvt_error *err);

/* Take those out whose cost is minor (nvt_finding_is_minor); *count gets how many. 0, or -1 with err (out of memory). */
int nvt_findings_leave_minor(struct nvt_findings *findings, size_t *count, struct nvt_error *err);

/* Append a line that says how many rules looked at what: "21 of 38 rules looked at iterations 17 to 32 of 32". 0, or -1 with err
 * (out of memory). */
int nvt_diagnose_looked(const struct nvt_input *input, struct nvt_buffer *lines,
                        struct nvt_error *err);

/* What the costs "per iteration" of findings are of, as medians of all iterations are others: "iterations 6 to 10 of 10"; "" where there
 * are none such, or several traces. The second appends a line that says so. 0, or -1 with err (out of memory). */
int nvt_diagnose_cover(const struct nvt_input *input, const struct nvt_findings *findings,
                       char *out, size_t size, struct nvt_error *err);
int nvt_diagnose_put_cover(const struct nvt_input *input, const struct nvt_findings *findings,
                           struct nvt_buffer *lines, struct nvt_error *err);

/* What the traces of an input have, of enum nvt_rule_needs. 0, or -1 with err (out of memory). */
int nvt_diagnose_has(const struct nvt_input *input, unsigned *has, struct nvt_error *err);

/* What a rule needs and no trace has ("device operations"), of `has`; NULL: nothing is missing. */
const char *nvt_rule_lacks(const struct nvt_rule *rule, unsigned has);

/* Append a line for each kind of record that no trace has and rules need: how many of them were skipped for it, and how
 * to record it: with what recorded the traces, with record where that differs. A level that was on is not asked for. 0, or -1 with err (out of memory). */
int nvt_diagnose_missing(const struct nvt_input *input, struct nvt_buffer *lines,
                         struct nvt_error *err);

/* Append what the traces have none of, and how to record it: "no OS calls in the trace (nvtally record --trace osrt)". `need` is one
 * of enum nvt_rule_needs, or 0: then it is `what`, of a level of record (NULL: of none). 0, or -1 when out of memory. */
int nvt_diagnose_lack(const struct nvt_input *input, unsigned need, const char *what,
                      const char *level, struct nvt_buffer *text);

/* Whether a level of record, or "pytorch", was on in one of the traces, as far as they say so. */
int nvt_was_recorded(const struct nvt_input *input, const char *level);

/* For who finds nothing: append a line with the levels of record that show more of a program on any machine, and were not on.
 * 0, or -1 with err (out of memory). */
int nvt_diagnose_more(const struct nvt_input *input, struct nvt_buffer *lines,
                      struct nvt_error *err);

/*
 * Append a line for each trace, three at most, whose devices are idle for half of their time and more (gaps between
 * operations, the mean of its devices) while findings explain less than half of that: for how long, how much of it they
 * explain, the longest gap and what the launching thread did in it. Before findings are folded. 0, or -1 with err.
 */
int nvt_diagnose_idle(const struct nvt_input *input, const struct nvt_findings *findings,
                      struct nvt_buffer *lines, struct nvt_error *err);

/* Append a line for each trace, three at most, whose command was killed or crashed, or ended with another status than 0 in the
 * middle of an iteration or a range: how, and where it was. 0, or -1 with err (out of memory). */
int nvt_diagnose_end(const struct nvt_input *input, struct nvt_buffer *lines,
                     struct nvt_error *err);

/* Append a line that says where the whole run of one recorded program went that has iterations, if less than 80 % of it is training.
 * 0, or -1 with err (out of memory). */
int nvt_diagnose_run(const struct nvt_input *input, struct nvt_buffer *lines,
                     struct nvt_error *err);

/* A note for gaps of devices in findings, or (`is_idle`) in lines of nvt_diagnose_idle, where simultaneous traces share
 * a device or may share one. 0, or -1 with err (out of memory). */
int nvt_diagnose_shared(struct nvt_input *input, const struct nvt_findings *findings, int is_idle,
                        struct nvt_error *err);

/* A finding of a rule with its cause, confidence, remedy and, with a view, where. */
struct nvt_finding nvt_finding_of(const struct nvt_rule *rule, const struct nvt_view *view);

/* The longest of what a finding adds up, the longest first: when each began. */
struct nvt_longest {
    int64_t start[NVT_MOMENTS];
    double ns[NVT_MOMENTS]; /* 0: none */
};

void nvt_longest_add(struct nvt_longest *longest, int64_t start, double ns);
/* Point at them. */
void nvt_finding_point_longest(struct nvt_finding *finding, const struct nvt_longest *longest);

/* One more moment to look at; those behind the third are dropped. */
void nvt_finding_point(struct nvt_finding *finding, int64_t moment_ns);

/* What it costs of the whole, 0.48; NaN where either is not known, or the cost is more than that. */
double nvt_finding_share(const struct nvt_finding *finding);

/* Whether its cost is known to be so little, below 1 % of the whole, that it is shown only on request. */
int nvt_finding_is_minor(const struct nvt_finding *finding);

/*
 * "launch-bound   6.98 ms of 14.7 ms per iteration (48 %)"; the cost of that, or "16.0 MiB at the peak", empty when it costs
 * neither; "GPU is idle … (likely)"; and where. Folded: "launch-bound in 10 of 26 traces   up to 6.98 ms of …", "WHERE and
 * in 9 more, first in FIRST".
 */
void nvt_finding_title(const struct nvt_finding *finding, char *out, size_t size);
void nvt_finding_cost(const struct nvt_finding *finding, char *out, size_t size);
void nvt_finding_what(const struct nvt_finding *finding, char *out, size_t size);
void nvt_finding_where(const struct nvt_finding *finding, char *out, size_t size);

/*
 * Append the command line that shows a finding: the report that its rule names, or else a timeline around the first moment, of
 * its trace or, where it compares several, of what was given to the command (ended by NULL; NULL: unknown). Nothing where
 * there is neither. 0, or -1 when out of memory.
 */
int nvt_finding_command(const struct nvt_finding *finding, char *const *given,
                        struct nvt_buffer *out);

/*
 * A finding in one line of at most `width` columns (0: as long as it is): its cause in `cause_width` columns or more, its cost
 * with its share, and the name that it is about: "launch-bound   6.98 ms of 14.7 ms per iteration (48 %)   forward". No
 * line feed. Names are as they are in the trace: print them by nvt_put_visible or the like.
 */
void nvt_finding_line(const struct nvt_finding *finding, size_t cause_width, size_t width,
                      char *out, size_t size);

/* Room for it. */
#define NVT_FINDING_LINE_MAX 512

/* A moment as ns since the beginning of its trace (nvt_trace_begin), as --filter-time takes it: what a person is
 * shown. */
int64_t nvt_finding_moment(const struct nvt_finding *finding, uint32_t i);
/* It as text, in the unit of the latest; all of them: "11.780 ms, 12.034 ms of FILE", or "". */
const char *nvt_finding_moment_text(const struct nvt_finding *finding, uint32_t i,
                                    char out[NVT_TIME_MAX]);
void nvt_finding_moments(const struct nvt_finding *finding, char *out, size_t size);

/* What the finding is about, which also goes into its `what`. */
void nvt_finding_about(struct nvt_finding *finding, const char *subject);
/* Of an operation's whole name: by its short one (lib/kernel_names.h). */
void nvt_finding_about_kernel(struct nvt_finding *finding, const char *name);

/* Whether two findings of one rule are about the same. */
int nvt_findings_agree(const struct nvt_finding *a, const struct nvt_finding *b);

/* Room for a cost, for a title, for what, for where, and for all moments. */
#define NVT_COST_MAX    128
#define NVT_WHAT_MAX    288
#define NVT_TITLE_MAX   640
#define NVT_WHERE_MAX   640
#define NVT_MOMENTS_MAX 512

/* Append a copy. 0, or -1 with err when out of memory. */
int nvt_findings_add(struct nvt_findings *findings, const struct nvt_finding *finding,
                     struct nvt_error *err);

/* Narrow a view to its steady part (from, to, units, per, span_ns): for a rule that is_of_operations and also looks for loops. */
void nvt_view_steady_part(struct nvt_view *view);

/* The same view of the second half of its OS calls alone: without ranges there may be nothing else. */
struct nvt_view nvt_view_of_calls(const struct nvt_view *view);

/* The views of a trace for a rule: zero-initialise, release with nvt_views_free. */
struct nvt_views {
    struct nvt_view *items;
    size_t count;
    uint32_t *iterations; /* of one view behind those of the other; so are devices */
    struct nvt_used_devices used;
    struct nvt_used_device *devices;
    size_t iteration_count, device_count;
};

/* `from` is one of the input's. 0, or -1 with err filled (out of memory). */
int nvt_views_make(struct nvt_views *views, const struct nvt_rule *rule,
                   const struct nvt_input_trace *from, const struct nvt_input *input,
                   struct nvt_error *err);
void nvt_views_free(struct nvt_views *views);

/* Make one finding, that of the costliest, of those from `first` on that several processes of a trace share; its
 * evidence states how many of the `of` processes have it. */
void nvt_views_join(struct nvt_findings *findings, size_t first, size_t of);

/* For qsort: what is fatal, then by share of the whole; what has none comes behind, by time, then by memory, then the
 * rest. Errors of measurement come behind what costs time. */
int nvt_findings_by_cost(const void *left, const void *right);

/* Those from `first` on, in that order. */
void nvt_findings_sort(struct nvt_findings *findings, size_t first);

/* Add to a finding's evidence, as far as there is room. */
void nvt_finding_append(struct nvt_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the rows of a process, or of a thread, count. */
static inline int nvt_is_viewed(const struct nvt_view *view, uint32_t process)
{
    return view->process == NVT_NONE || view->process == process;
}

static inline int nvt_is_viewed_thread(const struct nvt_view *view, uint32_t thread)
{
    return view->process == NVT_NONE ||
           (thread != NVT_NONE && view->trace->threads.process[thread] == view->process);
}

/* How long an iteration of the view takes, ns. */
static inline double nvt_iteration_ns(const struct nvt_view *view, uint32_t iteration)
{
    const struct nvt_ranges *ranges = &view->trace->ranges;
    return (double)(ranges->end[view->iterations[iteration]] -
                    ranges->start[view->iterations[iteration]]);
}

/* From where on an iteration of a view, of those from `first` on, takes unusually long, ns: half as long again as their median, which
 * `usual` gets, and five deviations above it (nvt_sample_deviation). NaN when out of memory. */
double nvt_slow_iteration_ns(const struct nvt_view *view, uint32_t first, double *usual);

/* Whether a moment lies in the steady part; whether an operation, or a call, of the view begins in
 * it. */
static inline int nvt_is_steady(const struct nvt_view *view, int64_t moment)
{
    return moment >= view->from && moment <= view->to;
}

static inline int nvt_is_steady_op(const struct nvt_view *view, uint32_t op)
{
    return nvt_is_steady(view, view->trace->ops.start[op]) &&
           nvt_is_viewed(view, view->trace->ops.process[op]);
}

static inline int nvt_is_steady_call(const struct nvt_view *view, uint32_t call)
{
    return nvt_is_steady(view, view->trace->apis.start[call]) &&
           nvt_is_viewed_thread(view, view->trace->apis.thread[call]);
}

struct nvt_gap_sum;

/*
 * The time of `count` things, of ns in all, were the two longest as long as the others are on average;
 * at most ns, 0 for less than three. What is said of a loop has to hold of that: what a program does
 * once, between many short things of the kind, is no loop.
 */
double nvt_usual_time(double ns, double count, double longest_ns, double second_ns);

/* Add up the gaps of a cause in the steady part, none where no calls were recorded; `share` is their part of the
 * devices' time there, at most 1, `usual` that of their usual time. 0, or -1 with err (out of memory). */
int nvt_view_gaps(const struct nvt_view *view, struct nvt_gap_sum *sum, struct nvt_error *err);

/* A finding of a rule about such gaps: with their cost, and the longest of them to look at. */
struct nvt_finding nvt_finding_of_gaps(const struct nvt_rule *rule, const struct nvt_view *view,
                                       const struct nvt_gap_sum *sum);

/* The name of an input trace for `where`: its configuration, with backend, level of collection,
 * warm-ups and repetition where rows of one configuration differ in them, or its file. */
void nvt_case_name(const struct nvt_input_trace *from, char *out, size_t size);

#endif
