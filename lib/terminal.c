#include "terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Nobody has more; a number beyond is a mistake. */
#define COLUMNS_MOST 10000

size_t nvt_terminal_width(FILE *out)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int terminal = fileno(out);
    if (terminal < 0 || !isatty(terminal))
        return 0;
    long given = columns ? strtol(columns, NULL, 10) : 0;
    if (given > 0 && given <= COLUMNS_MOST)
        return (size_t)given;
    return ioctl(terminal, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
