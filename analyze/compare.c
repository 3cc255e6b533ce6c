/*
 * The command `compare`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "../lib/wrap.h"
#include "command.h"
#include "published/reference_pairs.h"
#include "comparison/compare_table.h"
#include "comparison/comparison.h"
#include "comparison/headline.h"

static const char usage_text[] =
    "usage: nvtally compare A B [C…] [OPTIONS]\n"
    "       nvtally compare A1 A2 … vs B1 B2 … [vs C1 …] [OPTIONS]\n"
    "       nvtally compare A… --reference [OPTIONS]\n\n"
    "Compares runs (directories of nvtally run) or traces: how each phase, range,\n"
    "kernel and sampled function has changed against side A, with an interval and a\n"
    "verdict, and which peaks of memory differ. 'nvtally plot A vs B' draws it. To\n"
    "take the noise between runs into account, give three or more runs of each side\n"
    "(better five), and put 'vs' between the sides. Traces of ranks (rank3 in their\n"
    "names) are compared rank with rank. With --reference, directories are compared\n"
    "with the published figures of the same configurations. These come from other\n"
    "machines, so there is a ratio and no verdict.\n\n"
    "  -f, --format FORMAT  table (default), column, grid, markdown, latex, csv, tsv,\n"
    "                       json or facts\n"
    "      --fail-above PCT exit with 1 if anything is slower by more than this, such\n"
    "                       as 5 or 5%\n"
    "      --fail-unknown   with --fail-above, also exit with 1 if noise is too large\n"
    "                       to rule out such a slowdown\n"
    "      --fail-memory-above PCT\n"
    "                       exit with 1 if a peak of memory is higher by more than\n"
    "                       this\n"
    "      --reference      compare with the published figures (nvtally reference)\n"
    "      --tolerance PCT  changes within this are the same (default: 1%)\n" NVT_WINDOW_HELP
        NVT_LAUNCHERS_HELP NVT_ITERATION_HELP
    "      --top N          print only the N rows whose total time has changed most\n"
    "      --wide           show all columns, and names at full length\n" NVT_COLOR_HELP
    "      --help           this text\n\n"
    "Exit status: 0, 1 if --fail-above or --fail-memory-above was exceeded, 2 if the\n"
    "input cannot be compared.\n"
    "Example:  nvtally compare before after --fail-above 5%\n";

struct request {
    const struct nvt_format *format;
    double fail_above;        /* fraction, NaN: never */
    double fail_memory_above; /* fraction by which peaks of memory may grow, NaN: any */
    double tolerance;         /* fraction */
    size_t top;               /* rows, 0: all */
    int fail_unknown;
    int reference; /* beside published figures */
    struct nvt_window window;
    const char *iteration; /* ranges, NULL: those that are called so */
    int is_wide;           /* nothing is shortened */
    enum nvt_color color;
    struct nvt_facts facts; /* what was given */
};

static int set_percent(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    char *end;
    const double percent = strtod(value, &end);
    if (end == value || (*end && strcmp(end, "%")) || !(percent >= 0) || percent > 1e6)
        return nvt_fail(err, "--%s %s: must be a percentage, such as 5 or 5%%", option->name,
                        value);
    *(double *)option->to = percent / 100;
    return 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    const struct nvt_option options[] = {
        {NVT_FORMAT_OPTION(&request->format, "see nvtally compare --help")},
        {"fail-above", .set = set_percent, .to = &request->fail_above},
        {"fail-unknown", .flag = &request->fail_unknown},
        {"fail-memory-above", .set = set_percent, .to = &request->fail_memory_above},
        {"reference", .flag = &request->reference},
        {"tolerance", .set = set_percent, .to = &request->tolerance},
        {"top", .set = nvt_set_rows, .to = &request->top, .number = 1},
        {NVT_TIME_OPTION(&request->window)},
        {NVT_RANGE_OPTION(&request->window)},
        {NVT_LAUNCHERS_OPTION(&request->window)},
        {NVT_ITERATION_OPTION(&request->iteration)},
        {NVT_COLOR_OPTION(&request->color)},
        {"wide", .flag = &request->is_wide},
        {0}};
    const int status = nvt_command_options(argc, argv, options, usage_text, err);
    return !status && request->fail_unknown && isnan(request->fail_above)
               ? nvt_fail(err, "--fail-unknown needs --fail-above PCT")
               : status;
}

/* Lines about peaks that a side has alone, and about those above the bound. */
static void note_peaks(struct nvt_comparison *compared, const struct request *request, size_t above)
{
    for (size_t side = 0; side < compared->sides; side++) {
        size_t alone = 0;
        for (size_t i = 0; i < compared->memory.count; i++) {
            const struct nvt_peaks *peaks = &compared->memory.items[i];
            int others = 0;
            for (size_t k = side ? 0 : 1; k < (side ? 1 : compared->sides); k++)
                others |= peaks->sides[k].count > 0;
            alone += peaks->sides[side].count && !others;
        }
        if (alone)
            nvt_note_in(&compared->notes, "memory: only in %c: %zu peak%s", (char)('A' + side),
                        alone, alone == 1 ? "" : "s");
    }
    if (above)
        nvt_note_in(&compared->notes, "memory: %zu higher by more than %g %%", above,
                    100 * request->fail_memory_above);
}

/* The second table, of what is not the same; and notes. How many peaks are above the bound, or -1 with err. */
static int64_t add_memory(const struct request *request, struct nvt_comparison *compared,
                          struct nvt_tables *tables, struct nvt_error *err)
{
    struct nvt_table *table = NULL;
    size_t same = 0, above = 0;
    if (nvt_compared_memory_table(&compared->memory, compared->sides, request->tolerance,
                                  request->fail_memory_above, &table, &same, &above, err))
        return -1;
    if (!nvt_table_rows(table) && !nvt_table_failed(table, NULL)) {
        nvt_table_free(table);
        if (same)
            nvt_note_in(&compared->notes, "memory: all %zu peaks are the same", same);
        note_peaks(compared, request, above);
        return (int64_t)above;
    }
    nvt_compare_set_provenance(table, &compared->groups, compared->sides);
    if (nvt_tables_add(tables, table))
        return nvt_fail(err, "out of memory");
    if (same)
        nvt_note_in(&compared->notes, "memory: %zu other peak%s unchanged", same,
                    same == 1 ? " is" : "s are");
    note_peaks(compared, request, above);
    return (int64_t)above;
}

static int is_for_people(const struct request *request)
{
    return request->format == nvt_format_find("table");
}

static void put_headline(const struct nvt_headline *headline, const struct nvt_screen *screen)
{
    char text[NVT_HEADLINE_MAX], counts[NVT_HEADLINE_MAX];
    const enum nvt_verdict verdict =
        headline->main ? headline->main->change->verdict : NVT_CANNOT_TELL;
    nvt_paint(screen, NVT_PAINT_TITLE, stdout);
    if (verdict == NVT_SLOWER || verdict == NVT_FASTER)
        nvt_paint(screen, verdict == NVT_SLOWER ? NVT_PAINT_BAD : NVT_PAINT_GOOD, stdout);
    (void)nvt_wrap(nvt_headline_text(headline, text), 0, 2, screen->width, stdout);
    nvt_paint(screen, NVT_PAINT_NONE, stdout);
    putchar('\n');
    if (!headline->main || !*nvt_headline_counts(headline, counts))
        return;
    fputs("  ", stdout);
    (void)nvt_wrap(counts, 2, 2, screen->width, stdout);
    putchar('\n');
}

/* A line a side. Returns how many rows of the table a screen has room for behind them; 0: all. */
static size_t put_headlines(const struct request *request, const struct nvt_comparison *compared,
                            const struct nvt_screen *screen)
{
    enum { CAPTION = 12, LEAST = 6 };
    const size_t lines = CAPTION + 2 * compared->sides;
    for (size_t side = 1; side < compared->sides && compared->outcomes.count; side++) {
        const struct nvt_headline headline = nvt_headline_of(compared, side);
        put_headline(&headline, screen);
    }
    if (compared->outcomes.count)
        putchar('\n');
    if (!screen->height || request->top || request->is_wide)
        return 0;
    return screen->height > lines + LEAST ? screen->height - lines : LEAST;
}

/* How many peaks of memory are above the bound, or -1 with err. */
static int64_t show(const struct request *request, struct nvt_comparison *compared,
                    const struct nvt_outcomes *outcomes, struct nvt_error *err)
{
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_facts facts = request->facts;
    struct nvt_tables tables = {.terminal = screen.width,
                                .is_coloured = screen.is_coloured,
                                .is_wide = request->is_wide,
                                .facts = &facts};
    int64_t status = 0;
    if (is_for_people(request))
        tables.most_rows = put_headlines(request, compared, &screen);
    tables.more = "--top N shows N of them, --wide all";
    if (outcomes->count &&
        nvt_tables_add(
            &tables, nvt_compare_table(outcomes, &compared->groups, compared->sides, request->top)))
        status = nvt_fail(err, "out of memory");
    if (!status)
        status = add_memory(request, compared, &tables, err);
    facts.notes = compared->notes.data;
    facts.notes_size = compared->notes.size;
    facts.range = request->window.range;
    facts.time = request->window.time;
    if (status >= 0 && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    nvt_tables_free(&tables);
    if (status >= 0 && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    return status;
}

/* Whether the bound of times was exceeded. */
static int note_outcome(const struct request *request, const struct nvt_outcomes *outcomes)
{
    const double percent = 100 * request->fail_above;
    size_t slower, unknown;
    nvt_outcomes_above(outcomes, request->fail_above, &slower, &unknown);
    if (request->top && request->top < outcomes->count)
        nvt_message(stderr, "%zu of %zu rows are shown", request->top, outcomes->count);
    if (slower)
        nvt_message(stderr, "%zu slower by more than %g %%", slower, percent);
    if (unknown)
        nvt_message(stderr, "%zu may be slower by more than %g %% (cannot tell)%s", unknown,
                    percent,
                    request->fail_unknown ? "" : "; --fail-unknown makes that exit status 1");
    return slower || (unknown && request->fail_unknown);
}

/* The tables, and lines about them. 0, 1 when a bound was exceeded, -1 with err. */
static int show_all(const struct request *request, struct nvt_comparison *compared,
                    struct nvt_error *err)
{
    /* Of memory alone no bound of times can be told. */
    if (nvt_comparison_check(compared, isnan(request->fail_above), err))
        return -1;
    if (!isnan(request->fail_memory_above) &&
        !nvt_compared_memory_is_shared(&compared->memory, compared->sides))
        return nvt_fail(err, "--fail-memory-above has nothing to check: no peak of memory was "
                             "recorded on both sides");
    /* Tables have all notes (-f facts); on a terminal those about outcomes come behind them. */
    const size_t before = compared->notes.size;
    if (nvt_comparison_note_outcomes(compared, err))
        return -1;
    const int64_t above = show(request, compared, &compared->outcomes, err);
    if (above < 0)
        return -1;
    nvt_command_lines(compared->notes.data + before, compared->notes.size - before);
    return note_outcome(request, &compared->outcomes) || above;
}

/* 0, 1 when a bound was exceeded, -1 with err. */
static int compare_sides(const struct request *request, int count, char **arguments,
                         struct nvt_error *err)
{
    const struct nvt_comparison_request how = {.command = "compare",
                                               .window = &request->window,
                                               .iteration = request->iteration,
                                               .tolerance = request->tolerance,
                                               .is_one_list = request->top > 0};
    struct nvt_comparison compared = {.sides = 0};
    int status = nvt_comparison_make(&compared, &how, count, arguments, err);
    nvt_command_lines(compared.notes.data, compared.notes.size);
    if (!status)
        status = show_all(request, &compared, err);
    nvt_comparison_free(&compared);
    return status;
}

static int put_reference(const struct request *request, const struct nvt_input *input,
                         struct nvt_error *err)
{
    struct nvt_reference_pairs pairs = {0};
    const struct nvt_screen screen = nvt_screen_of(stdout, request->color);
    struct nvt_tables tables = {.terminal = screen.width,
                                .is_coloured = screen.is_coloured,
                                .is_wide = request->is_wide,
                                .facts = &request->facts};
    int status = nvt_reference_pairs_find(input, &pairs, err);
    if (!status)
        status = nvt_reference_pairs_table(input, &pairs, &tables, err);
    if (!status && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    nvt_tables_free(&tables);
    nvt_reference_pairs_free(&pairs);
    return status;
}

static int compare_reference(const struct request *request, int count, char **paths,
                             struct nvt_error *err)
{
    struct nvt_input input = {.window = &request->window};
    int status = 0;
    if (!isnan(request->fail_above) || !isnan(request->fail_memory_above))
        status =
            nvt_fail(err, "--fail-above and --fail-memory-above are not for --reference: published "
                          "figures come from other machines, and exceeding them is no failure");
    else if (!count)
        status = nvt_fail(err, "compare --reference needs a directory that 'nvtally run' wrote");
    for (int i = 0; i < count && !status; i++) {
        status = nvt_input_add(&input, paths[i], err);
        if (!status && input.trace_count)
            status =
                nvt_fail_at(err, paths[i], -1,
                            "is a trace: --reference needs directories that 'nvtally run' wrote");
    }
    if (!status)
        status = put_reference(request, &input, err);
    nvt_input_free(&input);
    return status;
}

int nvt_cmd_compare(int argc, char **argv)
{
    struct request request = {.format = nvt_format_find("table"),
                              .fail_above = NAN,
                              .fail_memory_above = NAN,
                              .tolerance = NVT_COMPARISON_TOLERANCE};
    struct nvt_error err = NVT_ERROR_INIT;
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : nvt_command_fail(&err);
    /* With the "vs" between sides, as it was given. */
    request.facts.traces = (const char *const *)argv + optind;
    request.facts.trace_count = (size_t)(argc - optind);
    if (request.reference)
        return compare_reference(&request, argc - optind, argv + optind, &err)
                   ? nvt_command_fail(&err)
                   : 0;
    status = compare_sides(&request, argc - optind, argv + optind, &err);
    return status < 0 ? nvt_command_fail(&err) : status;
}
