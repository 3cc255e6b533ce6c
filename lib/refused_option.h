/* Options that a command refuses. */
#ifndef NVT_REFUSED_OPTION_H
#define NVT_REFUSED_OPTION_H

#include "error.h"

/* Says what getopt_long has refused of a command: an option without its value (':'), or one that the command has not ('?'). `typed`
 * is the word on the command line. Returns -1, with err filled. */
int nvt_refused_option(int option, const char *typed, const char *command, struct nvt_error *err);

#endif
