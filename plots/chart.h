/*
 * Charts: pictures by name. A new chart is one new file plots/charts/<name>.c, with a struct nvt_chart
 * nvt_chart_<name>, and its name in NVT_CHARTS. One of a comparison is a struct nvt_change_chart
 * nvt_change_chart_<name>, and its name is in NVT_CHANGE_CHARTS.
 */
#ifndef NVT_CHART_H
#define NVT_CHART_H

#include <stdio.h>

#include "../analyze/input/input.h"

/* All charts: X(name of nvt_chart_<name>). Their order is that of documents. */
#define NVT_CHARTS(X)                                                                              \
    X(fragments)                                                                                   \
    X(switchback)                                                                                  \
    X(gpipe)                                                                                       \
    X(scaling)                                                                                     \
    X(growth)                                                                                      \
    X(phases)                                                                                      \
    X(roofline)                                                                                    \
    X(timeline)                                                                                    \
    X(flame)                                                                                       \
    X(cpu)                                                                                         \
    X(ranges)                                                                                      \
    X(critical_path)                                                                               \
    X(osrt)                                                                                        \
    X(mpi)                                                                                         \
    X(mpi_peers)                                                                                   \
    X(ranks)                                                                                       \
    X(memory)                                                                                      \
    X(memory_at_peak)                                                                              \
    X(counters)                                                                                    \
    X(reference)                                                                                   \
    X(warmup)                                                                                      \
    X(overhead)

/* Those of a comparison, of which struct nvt_change_chart is: X(name of nvt_change_chart_<name>). */
#define NVT_CHANGE_CHARTS(X)                                                                       \
    X(change)                                                                                      \
    X(flame_change)

struct nvt_chart_request {
    struct nvt_input *input;
    const char *directory;     /* where pictures, scripts and data go; it exists */
    const char *format;        /* "svg", "png", "pdf" */
    FILE *paths;               /* gets the path of each picture, a line each */
    struct nvt_strings *drawn; /* names of its pictures so far; NULL: a name may be taken twice */
    /* paths of more files that pictures must not go over, or NULL */
    const struct nvt_strings *kept;
    int is_within_document; /* that says where all of it was measured: pictures need not */
};

/* The part of a report that its pictures belong to. */
enum nvt_chart_part {
    NVT_CHART_RESULTS,
    NVT_CHART_ROOFLINE,
    NVT_CHART_GROWTH,
    NVT_CHART_WARMUP,
    NVT_CHART_COST,
    NVT_CHART_MEMORY,
    NVT_CHART_TIME,
    NVT_CHART_CPU,
    NVT_CHART_COUNTERS,
    NVT_CHART_REFERENCE,
    NVT_CHART_NOWHERE,
};

/* Draw a trace that was given by itself, alone in its request, with the name that its pictures begin with, which no other trace of the
 * input has. 0, or -1 with err filled. */
typedef int nvt_chart_draw_trace(const struct nvt_chart_request *request, const char *base,
                                 struct nvt_error *err);

struct nvt_chart {
    const char *name;
    const char *about;
    enum nvt_chart_part part;
    /* Whether the input holds what it shows; NULL: whether a trace that was given by itself `has` it. */
    int (*fits)(const struct nvt_input *input);
    int (*has)(const struct nvt_trace *trace);
    /* Draw its pictures; NULL: those of the first traces that were given by themselves, each in pictures of its own. 0, or -1 with err
     * filled. */
    int (*draw)(const struct nvt_chart_request *request, struct nvt_error *err);
    nvt_chart_draw_trace *draw_trace;
};

int nvt_chart_fits(const struct nvt_chart *chart, const struct nvt_input *input);
int nvt_chart_pictures(const struct nvt_chart *chart, const struct nvt_chart_request *request,
                       struct nvt_error *err);

struct nvt_changes;

/* A chart of what is compared (changes.h). */
struct nvt_change_chart {
    const char *name;
    const char *about;
    /* Draw its pictures, none where there is nothing to show. The request's input is empty. 0, or -1 with err filled. */
    int (*draw)(const struct nvt_chart_request *request, const struct nvt_changes *changes,
                struct nvt_error *err);
};

/* All of them; *count gets how many. */
const struct nvt_change_chart *const *nvt_change_charts(size_t *count);

#define NVT_DECLARE_CHANGE_CHART(name) extern const struct nvt_change_chart nvt_change_chart_##name;
NVT_CHANGE_CHARTS(NVT_DECLARE_CHANGE_CHART)
#undef NVT_DECLARE_CHANGE_CHART

/* All charts; *count gets how many. */
const struct nvt_chart *const *nvt_charts(size_t *count);

#define NVT_DECLARE_CHART(name) extern const struct nvt_chart nvt_chart_##name;
NVT_CHARTS(NVT_DECLARE_CHART)
#undef NVT_DECLARE_CHART

/*
 * A file of a chart, DIRECTORY/NAME.SUFFIX, opened for writing; closing it says whether all of it
 * was written. NULL and -1 with err filled.
 */
FILE *nvt_chart_open(const struct nvt_chart_request *request, const char *name, const char *suffix,
                     struct nvt_error *err);
int nvt_chart_close(const struct nvt_chart_request *request, FILE *file, const char *name,
                    const char *suffix, struct nvt_error *err);

/* Run NAME.gp of the directory and print the path of NAME.<format>. 0, or -1 with err filled. */
int nvt_chart_render(const struct nvt_chart_request *request, const char *name,
                     struct nvt_error *err);

struct nvt_frame;

/* The note below a chart that says where all of its input was measured (frame.h). */
void nvt_chart_provenance(const struct nvt_input *input, struct nvt_frame *frame);

/* Write NAME.dat and NAME.gp of `what` and draw the picture; under NAME-2 and so on where another one of the request has
 * that name. 0, or -1 with err filled. */
typedef void nvt_chart_put(const struct nvt_chart_request *request, const void *what,
                           const char *name, FILE *out);
int nvt_chart_draw(const struct nvt_chart_request *request, const char *name,
                   nvt_chart_put *put_data, nvt_chart_put *put_script, const void *what,
                   struct nvt_error *err);

/* The same with tips, names that a browser shows of boxes of an SVG (svg.h); its functions write NAME.dat, NAME.gp and the tips. */
struct nvt_chart_parts {
    nvt_chart_put *data, *script, *tips;
};
int nvt_chart_draw_tipped(const struct nvt_chart_request *request, const char *name,
                          const struct nvt_chart_parts *parts, const void *what,
                          struct nvt_error *err);

/* Traces given by themselves, of which charts draw the first ones, each in pictures of its own. */
enum { NVT_CHART_TRACES = 3 };

/* How many there are in the input, those of run directories left out. */
size_t nvt_chart_own_traces(const struct nvt_input *input);

/* Whether a trace has ranges or device operations. */
int nvt_chart_has_time(const struct nvt_trace *trace);

/* Ranges of a trace that never ended, as in a hang; all of them, or push/pop ranges alone. */
size_t nvt_chart_unclosed(const struct nvt_trace *trace, int push_pop);

/* The name that pictures of the trace at `index` begin with. */
void nvt_chart_trace_name(const struct nvt_input *input, size_t index, char *out, size_t size);

/* The name of a picture of WHAT of all traces together: "TRACE-WHAT", of several "FIRST-and-3-more-WHAT", and "WHAT" where
 * some are of run directories. */
void nvt_chart_traces_name(const struct nvt_input *input, const char *what, char *out, size_t size);

#endif
