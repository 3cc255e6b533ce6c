/*
 * ranks: the ranks of a job by iterations, a square for each, the redder the longer the rank itself took: the time in which a kernel
 * computed or its device had nothing to run, compared with the median of all ranks in that iteration. Times in which it waited
 * for others or moved data are not its own, so that a late rank stands out and not those that wait for it.
 */
#include "../chart.h"

#include <math.h>
#include <stdlib.h>

#include "../../analyze/input/ranks.h"
#include "../../analyze/studies/rank_digest.h"
#include "../../lib/sample.h"
#include "../frame.h"
#include "../gnuplot.h"

/* Squares smaller than a point are no picture. */
#define RANKS_MAX      2048
#define ITERATIONS_MAX 2000
/* Colours reach this far at least, %: what is less apart looks alike. */
#define LEAST 5

struct squares {
    const struct nvt_ranks *ranks;
    uint32_t iterations; /* that all have */
    double *usual;       /* of each iteration: the median of the ranks' own time, ns */
    double *length;      /* and of its length */
    double most;         /* % */
    struct nvt_provenance provenance;
};

/* How much longer a rank took itself, in % of the iteration. */
static double value(const struct squares *squares, uint32_t rank, uint32_t iteration)
{
    const double own = (double)squares->ranks->items[rank].turns[iteration].own;
    return squares->length[iteration] > 0
               ? 100 * (own - squares->usual[iteration]) / squares->length[iteration]
               : 0;
}

static void put_ranks_data(const struct nvt_chart_request *request, const void *what,
                           const char *name, FILE *out)
{
    const struct squares *squares = what;
    (void)request;
    (void)name;
    fputs("# iteration\trank\tlonger (%)\n", out);
    for (uint32_t rank = 0; rank < squares->ranks->count; rank++)
        for (uint32_t i = 0; i < squares->iterations; i++)
            fprintf(out, "%u\t%lld\t%.4g\n", i + 1, (long long)nvt_rank_shown(squares->ranks, rank),
                    value(squares, rank, i));
}

static void put_ranks_script(const struct nvt_chart_request *request, const void *what,
                             const char *name, FILE *out)
{
    const struct squares *squares = what;
    struct nvt_frame frame = nvt_frame_new(request, name, "Ranks by iterations");
    int64_t last = 0;
    for (uint32_t i = 0; i < squares->ranks->count; i++)
        last = nvt_rank_shown(squares->ranks, i) > last ? nvt_rank_shown(squares->ranks, i) : last;
    frame.right = 92;
    nvt_frame_note(&frame,
                   "The colour is how much longer a rank itself took than the median, in % of the "
                   "iteration: a kernel computed, or its device was idle.");
    nvt_frame_provenance(&frame, "", &squares->provenance);
    nvt_frame_open(&frame, NVT_FRAME_WIDTH - 64 - 92, out);
    fprintf(
        out,
        "set datafile separator '\\t'\nset xlabel 'iteration'\nset ylabel 'rank'\n"
        "set xrange [0.5:%u.5]\nset yrange [%lld.5:-0.5]\nset nogrid\n"
        "set xtics out nomirror\nset ytics out nomirror\n%s%s"
        "set palette defined (-1 '#2166ac', 0 '#f7f7f7', 1 '#b2182b')\nset cbrange [%.9g:%.9g]\n"
        "set colorbox\nset format cb '%%+.0f %%%%'\n"
        "plot '%s.dat' using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror "
        "fillstyle solid noborder fillcolor palette\n",
        squares->iterations, (long long)last, last < 16 ? "set ytics 1\n" : "",
        squares->iterations <= 16 ? "set xtics 1\n" : "", -squares->most, squares->most, name);
    nvt_frame_close(&frame, out);
}

/* Medians over ranks. 0, or -1 when out of memory. */
static int find_usual(struct squares *squares)
{
    const struct nvt_rank *items = squares->ranks->items;
    const uint32_t count = squares->ranks->count;
    double *own = malloc(((size_t)count + 1) * sizeof(*own)),
           *length = malloc(((size_t)count + 1) * sizeof(*length));
    squares->usual = calloc((size_t)squares->iterations + 1, sizeof(*squares->usual));
    squares->length = calloc((size_t)squares->iterations + 1, sizeof(*squares->length));
    const int failed = !own || !length || !squares->usual || !squares->length;
    for (uint32_t i = 0; i < squares->iterations && !failed; i++) {
        for (uint32_t rank = 0; rank < count; rank++) {
            own[rank] = (double)items[rank].turns[i].own;
            length[rank] = (double)items[rank].turns[i].length;
        }
        squares->usual[i] = nvt_sample_median(own, count);
        squares->length[i] = nvt_sample_median(length, count);
    }
    free(own);
    free(length);
    return failed ? -1 : 0;
}

/* Iterations that all ranks have; 0: not of devices, of one alone, or too many ranks. */
static uint32_t common_iterations(const struct nvt_ranks *ranks)
{
    uint32_t count = ITERATIONS_MAX;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const uint32_t own = ranks->items[i].turns ? ranks->items[i].iterations : 0;
        count = own < count ? own : count;
    }
    return ranks->count > 1 && ranks->count <= RANKS_MAX ? count : 0;
}

static int draw_ranks(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_ranks ranks = {0};
    struct squares squares = {.ranks = &ranks, .most = LEAST};
    char name[200];
    int status = nvt_ranks_find(&ranks, request->input, NULL, 0, err);
    squares.iterations = status ? 0 : common_iterations(&ranks);
    squares.provenance = nvt_input_provenance(request->input);
    if (squares.iterations && find_usual(&squares))
        status = nvt_fail(err, "out of memory");
    for (uint32_t rank = 0; rank < ranks.count && !status; rank++)
        for (uint32_t i = 0; i < squares.iterations; i++)
            squares.most = fmax(squares.most, fabs(value(&squares, rank, i)));
    nvt_chart_traces_name(request->input, "ranks", name, sizeof(name));
    if (!status && squares.iterations)
        status = nvt_chart_draw(request, name, put_ranks_data, put_ranks_script, &squares, err);
    free(squares.usual);
    free(squares.length);
    nvt_ranks_free(&ranks);
    return status;
}

/* Files of the ranks of one run, with devices and ranges. */
static int ranks_fits(const struct nvt_input *input)
{
    size_t runs = 0, devices = 0;
    size_t *numbers = nvt_input_run_numbers(input, &runs);
    for (size_t i = 0; i < input->trace_count; i++)
        devices += input->traces[i].trace->ops.count && input->traces[i].trace->ranges.count;
    free(numbers);
    return numbers && runs == 1 && devices > 1 && devices == input->trace_count;
}

const struct nvt_chart nvt_chart_ranks = {
    .name = "ranks",
    .about = "how long each rank of a job itself takes in each iteration",
    .part = NVT_CHART_TIME,
    .fits = ranks_fits,
    .draw = draw_ranks,
};
