/*
 * mpi_peers: who sends how much to whom, a square for each pair of ranks, the darker the more. Where bytes are not known
 * (of programs in Fortran), it is the number of messages.
 */
#include "../../analyze/reports/report.h"
#include "../../lib/quantity_text.h"
#include "../chart.h"

#include <math.h>
#include <stdlib.h>

#include "../frame.h"
#include "../gnuplot.h"

#define RANKS_MAX 512

struct squares {
    const struct nvt_table *table;
    int has_bytes;
    double most;
    int64_t ranks; /* from 0 on */
    size_t left_out;
};

static int64_t number(const struct squares *squares, size_t row, const char *column)
{
    return nvt_table_int(squares->table, row, nvt_table_find(squares->table, column));
}

static double bytes(const struct squares *squares, size_t row)
{
    return 1e6 * nvt_table_real(squares->table, row, nvt_table_find(squares->table, "Sent (MB)"));
}

static double value(const struct squares *squares, size_t row)
{
    return squares->has_bytes ? bytes(squares, row) : (double)number(squares, row, "Sends");
}

/* A message of the job's ranks to another one. */
static int is_shown(const struct squares *squares, size_t row)
{
    const struct nvt_table *table = squares->table;
    return !nvt_table_is_null(table, row, nvt_table_find(table, "Rank")) &&
           !nvt_table_is_null(table, row, nvt_table_find(table, "Peer")) &&
           number(squares, row, "Communicator") == 1 && number(squares, row, "Sends") > 0 &&
           number(squares, row, "Rank") < RANKS_MAX && number(squares, row, "Peer") < RANKS_MAX;
}

static void put_mpi_peers_data(const struct nvt_chart_request *request, const void *what,
                               const char *name, FILE *out)
{
    const struct squares *squares = what;
    (void)request;
    (void)name;
    fprintf(out, "# to\tfrom\t%s\n", squares->has_bytes ? "bytes" : "messages");
    for (size_t row = 0; row < nvt_table_rows(squares->table); row++)
        if (is_shown(squares, row))
            fprintf(out, "%lld\t%lld\t%.9g\n", (long long)number(squares, row, "Peer"),
                    (long long)number(squares, row, "Rank"), value(squares, row));
}

static void put_mpi_peers_script(const struct nvt_chart_request *request, const void *what,
                                 const char *name, FILE *out)
{
    const struct squares *squares = what;
    struct nvt_frame frame = nvt_frame_new(request, name, "Messages between ranks of MPI");
    char text[NVT_FRAME_TEXT];
    frame.right = 92;
    nvt_frame_note(&frame, squares->has_bytes
                               ? "The colour is what a rank sends to another, in bytes."
                               : "The colour is how many messages a rank sends to another.");
    snprintf(text, sizeof(text), "Not shown, of other communicators or unknown ranks: %s.",
             NVT_COUNTED((double)squares->left_out, "pair", "pairs"));
    if (squares->left_out)
        nvt_frame_note(&frame, text);
    nvt_frame_provenance(&frame, "", nvt_table_provenance(squares->table));
    nvt_frame_open(&frame, NVT_FRAME_WIDTH - 64 - 92, out);
    fprintf(out,
            "set datafile separator '\\t'\nset xlabel 'to rank'\nset ylabel 'from rank'\n"
            "set xrange [-0.5:%lld.5]\nset yrange [%lld.5:-0.5]\nset nogrid\n"
            "set xtics out nomirror\nset ytics out nomirror\n%s"
            "set palette defined (0 '#d6e6f4', 0.5 '#4a98c9', 1 '#08306b')\nset cbrange [0:%.9g]\n"
            "set colorbox\nset format cb '%s'\n"
            "plot '%s.dat' using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror "
            "fillstyle solid noborder fillcolor palette\n",
            (long long)squares->ranks - 1, (long long)squares->ranks - 1,
            squares->ranks <= 16 ? "set xtics 1\nset ytics 1\n" : "", squares->most,
            squares->has_bytes ? "%.0s %cB" : "%.0f", name);
    nvt_frame_close(&frame, out);
}

static int draw_mpi_peers(const struct nvt_chart_request *request, struct nvt_error *err)
{
    struct nvt_tables tables = {0};
    char name[200];
    int status = nvt_report_make(&nvt_report_mpi_peers, request->input, &tables, err);
    struct squares squares = {.table = status ? NULL : tables.items[0]};
    size_t rows = status ? 0 : nvt_table_rows(squares.table);
    for (size_t row = 0; row < rows; row++)
        squares.has_bytes |= is_shown(&squares, row) && bytes(&squares, row) > 0;
    for (size_t row = 0; row < rows; row++) {
        if (!is_shown(&squares, row)) {
            squares.left_out += number(&squares, row, "Sends") > 0;
            continue;
        }
        int64_t from = number(&squares, row, "Rank"), to = number(&squares, row, "Peer");
        squares.ranks = from >= squares.ranks ? from + 1 : squares.ranks;
        squares.ranks = to >= squares.ranks ? to + 1 : squares.ranks;
        squares.most = fmax(squares.most, value(&squares, row));
    }
    nvt_chart_traces_name(request->input, "mpi_peers", name, sizeof(name));
    if (!status && squares.ranks > 1 && squares.most > 0)
        status =
            nvt_chart_draw(request, name, put_mpi_peers_data, put_mpi_peers_script, &squares, err);
    nvt_tables_free(&tables);
    return status;
}

static int mpi_peers_fits(const struct nvt_input *input)
{
    for (size_t i = 0; i < input->trace_count; i++) {
        const struct nvt_mpi_calls *calls = &input->traces[i].trace->mpi_calls;
        for (uint32_t call = 0; call < calls->count; call++)
            if (calls->kind[call] == NVT_MPI_P2P && calls->peer[call] >= 0)
                return 1;
    }
    return 0;
}

const struct nvt_chart nvt_chart_mpi_peers = {
    .name = "mpi_peers",
    .about = "who sends how much to whom by messages of MPI",
    .part = NVT_CHART_TIME,
    .fits = mpi_peers_fits,
    .draw = draw_mpi_peers,
};
