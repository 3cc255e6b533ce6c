#include "options.h"

#include <stdio.h>
#include <string.h>

#include "axis.h"
#include "create_file.h"
#include "suggest.h"

/* Values of long options begin behind those of letters. That of --help, which has no entry, is behind those of the table. */
#define LONG 256
#define HELP (LONG + NVT_OPTIONS_MOST)

/* getopt_long's tables. */
struct tables {
    struct option longs[NVT_OPTIONS_MOST + 2];
    char letters[3 * NVT_OPTIONS_MOST + 8];
};

/* NULL: there is none. */
static const struct nvt_option *of_letter(const struct nvt_option *options, int letter)
{
    while (options->name && options->letter != letter)
        options++;
    return options->name ? options : NULL;
}

/* What getopt_long returns of a long option: the same of those that are alike. */
static int long_value(const struct nvt_option *options, int at)
{
    int first = 0;
    while (options[first].set != options[at].set || options[first].to != options[at].to ||
           options[first].number != options[at].number)
        first++;
    return LONG + (options[at].set ? first : at);
}

static int argument_of(const struct nvt_option *option)
{
    static const int kinds[] = {[NVT_VALUE] = required_argument,
                                [NVT_MAYBE_VALUE] = optional_argument,
                                [NVT_NO_VALUE] = no_argument};
    return option->set ? kinds[option->takes] : option->text ? required_argument : no_argument;
}

static void make_tables(struct tables *tables, const char *operands,
                        const struct nvt_option *options)
{
    int count = 0;
    *tables = (struct tables){.letters = {0}};
    char *letter = stpcpy(stpcpy(tables->letters, operands), "h");
    for (const struct nvt_option *at = options; at->name && count < NVT_OPTIONS_MOST; at++) {
        const int argument = argument_of(at), value = long_value(options, count);
        tables->longs[count++] = (struct option){at->name, argument, NULL, value};
        if (at->letter && at->letter != 'h')
            *letter++ = at->letter;
        if (at->letter && argument == required_argument)
            *letter++ = ':';
    }
    if (!of_letter(options, 'h'))
        tables->longs[count] = (struct option){"help", no_argument, NULL, HELP};
}

static int take(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    if (option->set)
        return option->set(option, value, err);
    if (option->text)
        *option->text = value;
    else if (option->flag)
        *option->flag = 1;
    else
        *option->choice = option->number;
    return 0;
}

int nvt_options_parse(int argc, char **argv, const char *operands, const struct nvt_option *options,
                      struct nvt_error *err)
{
    struct tables tables;
    int status = 0, found, at = 0;
    make_tables(&tables, operands, options);
    opterr = 0;
    optind = 0;
    while (!status && (found = getopt_long(argc, argv, tables.letters, tables.longs, &at)) != -1) {
        if (found == '?' || found == ':')
            return found;
        const struct nvt_option *option = found == HELP   ? NULL
                                          : found >= LONG ? &options[at]
                                                          : of_letter(options, found);
        status = option ? take(option, optarg, err) : 1;
    }
    while (status == 1 && getopt_long(argc, argv, tables.letters, tables.longs, NULL) != -1)
        continue;
    return status;
}

int nvt_set_duration(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    return nvt_axis_duration(value, option->to)
               ? nvt_fail(err, "--%s %s: must be a time such as %s", option->name, value,
                          option->hint)
               : 0;
}

int nvt_set_file(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    *(const char **)option->to = value;
    return nvt_check_not_stdout(value, option->hint, "file", err);
}

int nvt_set_folder(const struct nvt_option *option, const char *value, struct nvt_error *err)
{
    *(const char **)option->to = value;
    return nvt_check_not_stdout(value, option->hint, "directory", err);
}

/* The word with what was refused. Among several letters getopt_long stays at it until the last. */
static const char *refused_word(char **argv)
{
    const char *word = argv[optind - 1], *next = argv[optind];
    const int is_letter = optopt && optopt < LONG; /* negative in UTF-8 */
    const int is_next = is_letter && next && next[0] == '-' && next[1] != '-' &&
                        strchr(next, optopt) &&
                        (word[0] != '-' || word[1] == '-' || !strchr(word, optopt));
    return is_next ? next : word;
}

/* Write the options that begin with `name`, "--format, --filter-time"; "" where there is none. */
static void list_matches(const char *name, const struct option *longs,
                         const struct nvt_option *options, char *out, size_t size)
{
    static const char more[] = ", …";
    const size_t length = strlen(name);
    size_t used = 0, listed = 0;
    for (size_t i = 0; longs[i].name; i++)
        listed += !strncmp(longs[i].name, name, length) && !options[i].is_hidden;
    for (size_t i = 0; longs[i].name; i++) {
        if (strncmp(longs[i].name, name, length) || (listed > 1 && options[i].is_hidden))
            continue;
        if (used + strlen(longs[i].name) + strlen(", --") + sizeof(more) > size) {
            memcpy(out + used, more, sizeof(more));
            return;
        }
        used +=
            (size_t)snprintf(out + used, size - used, "%s--%s", used ? ", " : "", longs[i].name);
    }
}

/* Fill err about a long option that no one option is. */
static void refuse_name(const char *name, const char *command, const struct nvt_option *options,
                        struct nvt_error *err)
{
    struct tables tables;
    struct nvt_suggestion suggestion = {.name = name};
    char matches[300] = "", best[80], hint[128];
    make_tables(&tables, "", options);
    list_matches(name, tables.longs, options, matches, sizeof(matches));
    for (const struct option *at = tables.longs; at->name; at++)
        nvt_suggest(&suggestion, at->name);
    if (suggestion.best) {
        snprintf(best, sizeof(best), "--%s", suggestion.best);
        suggestion.best = best;
    }
    if (*matches)
        nvt_error_set(err, "option --%s is ambiguous: %s; see nvtally %s --help", name, matches,
                      command);
    else
        nvt_error_set(err, "unknown option --%s%s; see nvtally %s --help", name,
                      nvt_suggestion_text(&suggestion, hint, sizeof(hint)), command);
}

/* Fill err about a letter that no option has: of a name behind one dash, or a '=' behind one that takes no value. */
static void refuse_letter(const char *word, const char *command, const struct nvt_option *options,
                          struct nvt_error *err)
{
    struct tables tables;
    const size_t length = strcspn(word + 1, "=");
    make_tables(&tables, "", options);
    for (const struct option *at = tables.longs; at->name; at++)
        if (length > 1 && strlen(at->name) == length && !memcmp(at->name, word + 1, length)) {
            nvt_error_set(err, "unknown option %s (did you mean '--%s'?); see nvtally %s --help",
                          word, at->name, command);
            return;
        }
    if (optopt == '=' && length)
        nvt_error_set(err, "option -%c takes no value; see nvtally %s --help", word[length],
                      command);
    else
        nvt_error_set(err, "unknown option %s; see nvtally %s --help", word, command);
}

int nvt_refused_option(int refused, char **argv, const struct nvt_option *options,
                       struct nvt_error *err)
{
    const char *word = refused_word(argv);
    const int is_long = !optopt || optopt >= LONG;
    const char letter[] = {'-', (char)optopt, 0};
    if (refused == ':')
        return nvt_fail(err, "option %s needs a value; see nvtally %s --help",
                        is_long ? word : letter, argv[0]);
    if (!is_long) {
        refuse_letter(word, argv[0], options, err);
        return nvt_failed();
    }
    char name[sizeof(err->message)]; /* of a character at least, which may be a '=' */
    snprintf(name, sizeof(name), "%.*s", 1 + (int)strcspn(word + 3, "="), word + 2);
    if (optopt)
        return nvt_fail(err, "option --%s takes no value; see nvtally %s --help", name, argv[0]);
    refuse_name(name, argv[0], options, err);
    return nvt_failed();
}

int nvt_options_read(int argc, char **argv, const char *operands, const struct nvt_option *options,
                     struct nvt_error *err)
{
    const int status = nvt_options_parse(argc, argv, operands, options, err);
    return status > 1 ? nvt_refused_option(status, argv, options, err) : status;
}
