/* The program under test on a pseudo-terminal, as a person sees it. */
#ifndef NVT_TESTS_TERMINAL_KIT_H
#define NVT_TESTS_TERMINAL_KIT_H

#include <stddef.h>

/*
 * Run nvtally (argv[0] is replaced by it) with stdout and stderr on a terminal of so many columns and lines. `environment`:
 * "NAME=value" to set, "NAME" to unset, NULL-terminated, or NULL; COLUMNS, LINES and NO_COLOR are not set unless it says so.
 * Returns what was printed, owned, with "\n" at the ends of lines; *status gets the exit status. Where there is no
 * pseudo-terminal the test is skipped, with a word.
 */
char *kit_on_terminal(int columns, int lines, const char *const environment[],
                      const char *const argv[], int *status);

/* Take the escape sequences of colours out of a text, in place. Returns how many there were. */
size_t kit_uncolour(char *text);

/* Fail the test, showing the text, where one of its lines takes more columns than `columns`. Returns how many lines it has. */
size_t kit_expect_fits(const char *text, size_t columns);

#endif
