/*
 * What the commands over traces and run directories share: how they say that they cannot, what they
 * note, and how they take options. These, and the commands themselves, print; nothing else in
 * analyze/ does.
 */
#ifndef NVT_COMMAND_H
#define NVT_COMMAND_H

#include <getopt.h>

#include "reports/report.h"

/* Print the error as "nvtally: …" on stderr. Returns 2, the exit status. */
int nvt_command_fail(const struct nvt_error *err);

/* Print the notes and warnings of an input on stderr, each as a line that starts with "nvtally: ".
 */
void nvt_command_notes(const struct nvt_report_input *input);

/*
 * The next option of a command: what getopt_long returns; -1 behind the last one; '?' with err
 * filled for one that is not known or lacks its value. Begin with optind 0. `letters` start with
 * ':'.
 */
int nvt_command_option(int argc, char **argv, const char *letters, const struct option *options,
                       struct nvt_error *err);

#endif
