/*
 * The options of a command, described once: how each is called, and what it does. getopt_long's rules hold: long names may be
 * abbreviated, options may stand behind operands, and "--" ends them.
 */
#ifndef NVT_OPTIONS_H
#define NVT_OPTIONS_H

#include <getopt.h>

#include "error.h"

enum { NVT_OPTIONS_MOST = 256 };

struct nvt_option;
/* Takes the value of an option. 0, -1 with err, or another status, which ends the options. */
typedef int nvt_set(const struct nvt_option *option, const char *value, struct nvt_error *err);

/* What the option of a setter takes; NVT_MAYBE_VALUE: --name=VALUE, or nothing. Where there is no value, the setter gets NULL. */
enum nvt_option_value { NVT_VALUE, NVT_MAYBE_VALUE, NVT_NO_VALUE };

/*
 * One option, which does one of four things. A table of them ends with {0}. Every command has --help and -h, which need no entry. An
 * abbreviation of several options is refused; where these have the same setter, place and number, it is the first of them.
 */
struct nvt_option {
    const char *name;            /* without its dashes */
    char letter;                 /* of its short form; 0: it has none */
    int *flag;                   /* becomes 1, without a value */
    int *choice;                 /* becomes `number`, without a value */
    const char **text;           /* becomes the value, which lasts as long as argv */
    nvt_set *set;                /* is called with the value */
    enum nvt_option_value takes; /* of `set` */
    void *to;                    /* where `set` puts it, */
    const char *hint;            /* what it adds to errors, */
    int number;                  /* and a bound of it */
    int is_hidden;               /* --help leaves it out */
};

/*
 * Do what the options in argv say, one after the other, until one is wrong. `operands` is ":", or "+:" where the first operand ends the
 * options. Returns 0 with optind at the first operand; 1 for --help, with the rest of argv passed over; -1 with err; what getopt_long
 * has refused: ':' an option that lacks its value, '?' any other; or what a setter returned.
 */
int nvt_options_parse(int argc, char **argv, const char *operands, const struct nvt_option *options,
                      struct nvt_error *err);

/* Setter of a time such as 500ms, `to` points to an int64_t, nanoseconds; `hint` has examples. */
nvt_set nvt_set_duration;

/* Setters of the path of an output, `to` points to a const char *; "-" is refused: `hint` says what cannot go to standard output, "a trace". */
nvt_set nvt_set_file, nvt_set_folder;

/*
 * Say what nvt_options_parse has refused, '?' or ':', right after it: that an option is unknown (and which one may have been meant), takes no
 * value or needs one, or which options an abbreviation is of: those that --help lists, and hidden ones where it lists fewer than two.
 * argv[0] is the command's name. Returns -1, with err filled.
 */
int nvt_refused_option(int refused, char **argv, const struct nvt_option *options,
                       struct nvt_error *err);

/* nvt_options_parse, and what it refused is said: 0 with optind at the first operand, 1 for --help, -1 with err. For tables whose setters
 * return nothing else than 0 and -1. */
int nvt_options_read(int argc, char **argv, const char *operands, const struct nvt_option *options,
                     struct nvt_error *err);

#endif
