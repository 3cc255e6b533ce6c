/*
 * The command `compare`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/commands.h"
#include "../lib/render.h"
#include "../lib/terminal.h"
#include "command.h"
#include "comparison/compare_join.h"
#include "comparison/compare_machine.h"
#include "comparison/compare_reference.h"
#include "comparison/compare_table.h"
#include "input/rows.h"

static const char usage_text[] =
    "usage: nvtally compare A B [C…] [OPTIONS]\n"
    "       nvtally compare A1 A2 … vs B1 B2 … [vs C1 …] [OPTIONS]\n"
    "       nvtally compare A… --reference [OPTIONS]\n\n"
    "Compares runs (directories of nvtally run) or traces: how each phase, range and kernel has\n"
    "changed against side A, with an interval and a verdict, and which peaks of memory differ.\n"
    "To take the noise between runs into account, give three or more runs of each side (better\n"
    "five), and put 'vs' between the sides.\n"
    "Traces of ranks (rank3 in their names) are compared rank with rank.\n"
    "With --reference, directories are compared with the published figures of the same\n"
    "configurations. These come from other machines, so there is a ratio and no verdict.\n\n"
    "  -f, --format FORMAT  column (default), grid, markdown, latex, csv, tsv, json\n"
    "      --fail-above PCT exit with 1 if anything is slower by more than this: 5 or 5%\n"
    "      --fail-unknown   with --fail-above, also if it may be but cannot be told from noise\n"
    "      --fail-memory-above PCT\n"
    "                       exit with 1 if a peak of memory is higher by more than this\n"
    "      --reference      compare with the published figures (nvtally reference)\n"
    "      --tolerance PCT  changes within this are the same (default: 1%)\n" NVT_WINDOW_HELP
        NVT_ITERATION_HELP
    "      --top N          print only the N rows whose total time has changed most\n"
    "      --wide           do not shorten text\n"
    "      --help           this text\n\n"
    "Exit status: 0, 1 if --fail-above or --fail-memory-above was exceeded, 2 if the input\n"
    "cannot be compared.\n"
    "Example:  nvtally compare before after --fail-above 5%\n";

struct request {
    const struct nvt_format *format;
    double fail_above;        /* fraction, NaN: never */
    double fail_memory_above; /* the same of peaks of memory */
    double tolerance;         /* fraction */
    size_t top;               /* rows, 0: all */
    int fail_unknown;
    int reference; /* beside published figures */
    struct nvt_window window;
    const char *iteration; /* ranges, NULL: those that are called so */
    int is_wide;           /* nothing is shortened */
};

/* Both that is compared. */
struct compared {
    struct nvt_sides groups;
    struct nvt_compared_memory memory;
    struct nvt_compared_machine machine;
    size_t sides;
};

enum { FAIL_ABOVE = 256, FAIL_UNKNOWN, FAIL_MEMORY, TOLERANCE, TOP, REFERENCE, WIDE, HELP };

static int parse_percent(const char *option, const char *text, double *fraction,
                         struct nvt_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%")) || !(value >= 0) || value > 1e6)
        return nvt_fail(err, "%s %s: must be a percentage, such as 5 or 5%%", option, text);
    *fraction = value / 100;
    return 0;
}

static int parse_bound(int option, const char *text, struct request *request, struct nvt_error *err)
{
    if (option == FAIL_ABOVE)
        return parse_percent("--fail-above", text, &request->fail_above, err);
    if (option == FAIL_MEMORY)
        return parse_percent("--fail-memory-above", text, &request->fail_memory_above, err);
    return parse_percent("--tolerance", text, &request->tolerance, err);
}

static int parse_top(const char *text, size_t *top, struct nvt_error *err)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || !value || value > 1000000000)
        return nvt_fail(err, "--top %s: must be a number of rows", text);
    *top = value;
    return 0;
}

/* 0 to go on, 1 for --help, -1 with err. */
static int parse(int argc, char **argv, struct request *request, struct nvt_error *err)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"fail-above", required_argument, NULL, FAIL_ABOVE},
        {"fail-unknown", no_argument, NULL, FAIL_UNKNOWN},
        {"fail-memory-above", required_argument, NULL, FAIL_MEMORY},
        {"reference", no_argument, NULL, REFERENCE},
        {"tolerance", required_argument, NULL, TOLERANCE},
        {"top", required_argument, NULL, TOP},
        NVT_WINDOW_OPTIONS,
        NVT_ITERATION_OPTION,
        {"wide", no_argument, NULL, WIDE},
        {"help", no_argument, NULL, HELP},
        {NULL, 0, NULL, 0}};
    char hint[128];
    optind = 0;
    for (int option; (option = nvt_command_option(argc, argv, ":f:h", options, err)) != -1;) {
        switch (option) {
        case 'f':
            request->format = nvt_format_find(optarg);
            if (!request->format)
                return nvt_fail(err, "no format '%s'%s; see nvtally compare --help", optarg,
                                nvt_format_hint(optarg, hint, sizeof(hint)));
            break;
        case FAIL_ABOVE:
        case FAIL_MEMORY:
        case TOLERANCE:
            if (parse_bound(option, optarg, request, err))
                return -1;
            break;
        case FAIL_UNKNOWN:
            request->fail_unknown = 1;
            break;
        case TOP:
            if (parse_top(optarg, &request->top, err))
                return -1;
            break;
        case REFERENCE:
            request->reference = 1;
            break;
        case WIDE:
            request->is_wide = 1;
            break;
        case HELP:
        case 'h':
            fputs(usage_text, stdout);
            return 1;
        case NVT_ITERATION:
            request->iteration = optarg;
            break;
        default:
            if (nvt_command_window(&request->window, option, err) <= 0)
                return -1;
        }
    }
    if (request->fail_unknown && isnan(request->fail_above))
        return nvt_fail(err, "--fail-unknown needs --fail-above PCT");
    return 0;
}

static int add_argument(const struct request *request, struct compared *compared, size_t side,
                        const char *path, struct nvt_error *err)
{
    struct nvt_report_input input = {
        .plain_names = 1, .window = &request->window, .iteration = request->iteration};
    int status = nvt_input_add(&input, path, err);
    if (!status)
        nvt_sides_add_origin(&compared->groups, side, &input);
    if (!status)
        status = nvt_input_rows(&input, err) || nvt_input_traces(&input, err) ||
                 nvt_sides_add(&compared->groups, side, &input, err) ||
                 nvt_compared_memory_add(&compared->memory, side, &input, err) ||
                 nvt_compared_machine_add(&compared->machine, side, &input, err);
    if (!status)
        nvt_command_notes(&input);
    nvt_input_free(&input);
    return status ? -1 : 0;
}

/* Of traces that were run with something else on each side the rest of what they were run with is compared, and it is
 * said. 0, or -1 with err. */
static int join_sides(struct compared *compared, size_t sides, struct nvt_error *err)
{
    struct nvt_buffer note = {0};
    int joined = nvt_compare_join(&compared->groups, &compared->memory, sides, &note);
    if (joined > 0 && nvt_buffer_append(&note, "", 1))
        joined = -1;
    if (joined > 0) {
        fputs("nvtally: note: ", stderr);
        nvt_render_visible((const char *)note.data, stderr);
        putc('\n', stderr);
    }
    nvt_buffer_free(&note);
    return joined < 0 ? nvt_fail(err, "out of memory") : 0;
}

static int is_same_file(const char *left, const char *right)
{
    struct stat a, b;
    return !stat(left, &a) && !stat(right, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A line where a side has a file more than once: that shows no noise between runs. */
static void note_twice(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        for (int k = i; k-- > 0 && strcmp(arguments[k], "vs") != 0;)
            if (is_same_file(arguments[i], arguments[k])) {
                fputs("nvtally: note: ", stderr);
                nvt_render_visible(arguments[i], stderr);
                fputs(" is given more than once on a side: that is not another run\n", stderr);
                return;
            }
}

/* A line where phases of a side are of the run's own clock, those of another of ranges. */
static void note_clocks(const struct nvt_sides *groups, size_t sides)
{
    int records = 0, ranges = 0;
    for (size_t side = 0; side < sides; side++) {
        records |= groups->origins[side].has_records && !groups->origins[side].has_ranges;
        ranges |= groups->origins[side].has_ranges;
    }
    if (records && ranges)
        fputs("nvtally: note: phases of one side are timed by the run's own clock, of another by "
              "ranges, which include the cost of their events and more: short ones differ by that; "
              "stats -r overhead compares the same clock\n",
              stderr);
}

/* A line where the machine was another. 0, or -1 with err. */
static int note_machine(const struct nvt_compared_machine *machine, size_t sides,
                        struct nvt_error *err)
{
    struct nvt_buffer text = {0};
    int failed = nvt_compared_machine_text(machine, sides, &text);
    if (!failed && text.size)
        fprintf(stderr,
                "nvtally: note: %.*s: what has changed may be the machine, not the program\n",
                (int)text.size, (const char *)text.data);
    nvt_buffer_free(&text);
    return failed ? nvt_fail(err, "out of memory") : 0;
}

/* Read all sides. How many, or 0 with err. */
static size_t read_sides(const struct request *request, int count, char **arguments,
                         struct compared *compared, struct nvt_error *err)
{
    size_t side = 0;
    int together = 0, given = 0;
    for (int i = 0; i < count; i++)
        together |= !strcmp(arguments[i], "vs");
    for (int i = 0; i < count; i++) {
        int is_border = !strcmp(arguments[i], "vs");
        if (is_border || (!together && given)) {
            if (!given || side + 1 == NVT_SIDES) {
                nvt_fail(err, given ? "more than %d sides" : "a side has nothing to compare",
                         NVT_SIDES);
                return 0;
            }
            side++;
            given = 0;
        }
        if (is_border)
            continue;
        given++;
        if (add_argument(request, compared, side, arguments[i], err))
            return 0;
    }
    if (!side || !given) {
        nvt_fail(err, "compare needs two sides: nvtally compare A B");
        return 0;
    }
    if (join_sides(compared, side + 1, err))
        return 0;
    if (together)
        note_twice(count, arguments);
    note_clocks(&compared->groups, side + 1);
    return note_machine(&compared->machine, side + 1, err) ? 0 : side + 1;
}

/* Lines about peaks that a side has alone, and about those above the bound. */
static void note_peaks(const struct compared *compared, const struct request *request, size_t above)
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
            fprintf(stderr, "nvtally: memory: only in %c: %zu peak%s\n", (char)('A' + side), alone,
                    alone == 1 ? "" : "s");
    }
    if (above)
        fprintf(stderr, "nvtally: memory: %zu higher by more than %g %%\n", above,
                100 * request->fail_memory_above);
}

/* The second table, of what is not the same; and notes. How many peaks are above the bound, or -1 with err. */
static int64_t add_memory(const struct request *request, const struct compared *compared,
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
            fprintf(stderr, "nvtally: memory: all %zu peaks are the same\n", same);
        note_peaks(compared, request, above);
        return (int64_t)above;
    }
    nvt_compare_set_provenance(table, &compared->groups, compared->sides);
    if (nvt_tables_add(tables, table))
        return nvt_fail(err, "out of memory");
    if (same)
        fprintf(stderr, "nvtally: memory: %zu peak%s more %s the same\n", same,
                same == 1 ? "" : "s", same == 1 ? "is" : "are");
    note_peaks(compared, request, above);
    return (int64_t)above;
}

/* How many peaks of memory are above the bound, or -1 with err. */
static int64_t show(const struct request *request, const struct compared *compared,
                    const struct nvt_outcomes *outcomes, struct nvt_error *err)
{
    struct nvt_tables tables = {.terminal = nvt_terminal_width(stdout),
                                .is_wide = request->is_wide};
    int64_t status = 0;
    if (outcomes->count &&
        nvt_tables_add(
            &tables, nvt_compare_table(outcomes, &compared->groups, compared->sides, request->top)))
        status = nvt_fail(err, "out of memory");
    if (!status)
        status = add_memory(request, compared, &tables, err);
    if (status >= 0 && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    nvt_tables_free(&tables);
    if (status >= 0 && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    return status;
}

/* What a side's first group is of; NULL: it has none. */
static const char *first_configuration(const struct nvt_sides *groups, size_t side)
{
    for (size_t i = 0; i < groups->count; i++)
        if (groups->items[i].sides[side].count)
            return groups->items[i].configuration;
    return NULL;
}

static int nothing_in_common(const struct nvt_sides *groups, size_t sides, struct nvt_error *err)
{
    const char *first = first_configuration(groups, 0), *other = NULL;
    for (size_t side = 1; side < sides && !other; side++)
        other = first_configuration(groups, side);
    const int differ = first && other && strcmp(first, other) != 0;
    return nvt_fail(err,
                    "the sides have nothing in common: no phase, range or kernel of the same name "
                    "and configuration%s%.200s%s%.200s%s",
                    differ ? " (side A has '" : "", differ ? first : "",
                    differ ? "', another one '" : "", differ ? other : "", differ ? "')" : "");
}

static void note_missing(const struct nvt_outcomes *outcomes, size_t sides)
{
    for (size_t side = 0; side < sides; side++) {
        size_t counts[NVT_GROUP_KINDS] = {0}, all = 0;
        for (size_t i = 0; i < outcomes->count; i++) {
            const struct nvt_outcome *row = &outcomes->rows[i];
            const int is_here = side ? side == row->side && !row->group->sides[0].count
                                     : row->group->sides[0].count > 0;
            counts[row->group->kind] += !nvt_outcome_has_both(row) && is_here;
            all += !nvt_outcome_has_both(row) && is_here;
        }
        if (!all)
            continue;
        fprintf(stderr, "nvtally: only in %c:", (char)('A' + side));
        for (size_t kind = 0, before = 0; kind < NVT_GROUP_KINDS; kind++)
            if (counts[kind]) {
                fprintf(stderr, "%s %zu %s%s", before ? "," : "", counts[kind],
                        nvt_compared_kind_name((enum nvt_compared_kind)kind),
                        counts[kind] == 1 ? "" : "s");
                before = 1;
            }
        fputc('\n', stderr);
    }
}

static void note_runs(const struct nvt_outcomes *outcomes)
{
    size_t runs = 0, paired = 0, left_out = 0;
    if (!outcomes->compared)
        return;
    for (size_t i = 0; i < outcomes->compared; i++) {
        const struct nvt_change *change = &outcomes->changes[i];
        size_t fewer = change->runs[0] < change->runs[1] ? change->runs[0] : change->runs[1];
        runs = fewer > runs ? fewer : runs;
        paired += change->is_paired != 0;
        left_out += change->left_out > 0;
    }
    if (runs < NVT_CHANGE_RUNS)
        fprintf(stderr,
                "nvtally: %s per side: the noise between runs is not known; five per side show it "
                "(A1 A2 … vs B1 B2 …)\n",
                runs == 1 ? "one run" : "two runs");
    if (paired)
        fprintf(stderr,
                "nvtally: %zu of %zu rows compare the k-th run of a side with the k-th of the "
                "other, because their times go together (ranks have rank in their names)\n",
                paired, outcomes->compared);
    if (left_out)
        fprintf(stderr, "nvtally: %zu rows: ranks or runs that only one side has are left out\n",
                left_out);
}

/* Whether the bound of times was exceeded. */
static int note_outcome(const struct request *request, const struct nvt_outcomes *outcomes)
{
    const double percent = 100 * request->fail_above;
    size_t slower, unknown;
    nvt_outcomes_above(outcomes, request->fail_above, &slower, &unknown);
    if (request->top && request->top < outcomes->count)
        fprintf(stderr, "nvtally: %zu of %zu rows are shown\n", request->top, outcomes->count);
    if (slower)
        fprintf(stderr, "nvtally: %zu slower by more than %g %%\n", slower, percent);
    if (unknown)
        fprintf(stderr,
                "nvtally: %zu may be slower by more than %g %%, but cannot be told from noise%s\n",
                unknown, percent,
                request->fail_unknown ? "" : "; --fail-unknown makes that exit status 1");
    return slower || (unknown && request->fail_unknown);
}

/* 0, 1 when a bound was exceeded, -1 with err. */
static int compare_groups(const struct request *request, const struct compared *compared,
                          struct nvt_error *err)
{
    struct nvt_outcomes outcomes = {0};
    int status = 0;
    if (nvt_outcomes_make(&outcomes, &compared->groups, compared->sides, request->tolerance,
                          request->top > 0))
        status = nvt_fail(err, "out of memory");
    /* Of memory alone no bound of times can be told. */
    if (!status && !outcomes.compared &&
        !(isnan(request->fail_above) &&
          nvt_compared_memory_is_shared(&compared->memory, compared->sides)))
        status = nothing_in_common(&compared->groups, compared->sides, err);
    int64_t above = status ? -1 : show(request, compared, &outcomes, err);
    if (above < 0)
        status = -1;
    if (!status) {
        note_runs(&outcomes);
        note_missing(&outcomes, compared->sides);
        status = note_outcome(request, &outcomes) || above;
    }
    nvt_outcomes_free(&outcomes);
    return status;
}

static int put_reference(const struct request *request, const struct nvt_report_input *input,
                         struct nvt_error *err)
{
    struct nvt_besides besides = {0};
    struct nvt_tables tables = {.terminal = nvt_terminal_width(stdout),
                                .is_wide = request->is_wide};
    int status = nvt_beside_reference(input, &besides, err);
    if (!status)
        status = nvt_beside_table(input, &besides, &tables, err);
    if (!status && request->format->render(&tables, stdout))
        status = nvt_fail(err, "out of memory");
    if (!status && (fflush(stdout) || ferror(stdout)))
        status = nvt_fail(err, "standard output cannot be written");
    nvt_tables_free(&tables);
    nvt_besides_free(&besides);
    return status;
}

static int compare_reference(const struct request *request, int count, char **paths,
                             struct nvt_error *err)
{
    struct nvt_report_input input = {.window = &request->window};
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
    struct request request = {.format = nvt_format_find("column"),
                              .fail_above = NAN,
                              .fail_memory_above = NAN,
                              .tolerance = 0.01};
    struct nvt_error err = NVT_ERROR_INIT;
    struct compared compared = {.memory = {0}};
    int status = parse(argc, argv, &request, &err);
    if (status)
        return status == 1 ? 0 : nvt_command_fail(&err);
    if (request.reference)
        return compare_reference(&request, argc - optind, argv + optind, &err)
                   ? nvt_command_fail(&err)
                   : 0;
    if (nvt_sides_init(&compared.groups))
        status = nvt_fail(&err, "out of memory");
    if (!status)
        compared.sides = read_sides(&request, argc - optind, argv + optind, &compared, &err);
    if (compared.sides)
        status = compare_groups(&request, &compared, &err);
    nvt_sides_free(&compared.groups);
    nvt_compared_memory_free(&compared.memory);
    return !compared.sides || status < 0 ? nvt_command_fail(&err) : status;
}
