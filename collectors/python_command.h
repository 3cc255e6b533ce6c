/*
 * The command line of a Python program, as people write it behind `record --python`.
 */
#ifndef NVT_PYTHON_COMMAND_H
#define NVT_PYTHON_COMMAND_H

#include "../lib/error.h"

/* Whether a command is a Python script that no shell would start: a file that is there, ends in .py, and is not executable, is
 * not found in PATH, or does not say what runs it ("#!"). */
int nvt_is_python_script(const char *command);

/*
 * The command with Python before it where it needs one: a script, or options of Python ("-m", "module"). Python is the
 * first of python3 and python in PATH. malloc'ed, with the words of argv; NULL with err: there is no Python, or no
 * memory.
 */
char **nvt_python_command(char *const argv[], struct nvt_error *err);

#endif
