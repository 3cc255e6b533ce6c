#include "terminal_kit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/grow.h"
#include "../lib/text.h"
#include "cli.h"

/* In the child: does not return. */
static void become(int master, const struct winsize *window, const char *const environment[],
                   const char *const argv[])
{
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    ioctl(terminal, TIOCSWINSZ, window);
    unsetenv("COLUMNS");
    unsetenv("LINES");
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    for (; environment && *environment; environment++)
        if (strchr(*environment, '='))
            putenv((char *)(uintptr_t)*environment);
        else
            unsetenv(*environment);
    dup2(terminal, STDOUT_FILENO);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    close(master);
    execv(cli_built("nvtally"), (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void without_returns(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (*at != '\r')
            *to++ = *at;
    *to = 0;
}

char *kit_on_terminal(int columns, int lines, const char *const environment[],
                      const char *const argv[], int *status)
{
    const struct winsize window = {.ws_row = (unsigned short)lines,
                                   .ws_col = (unsigned short)columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY), ended = 0;
    size_t used = 0, size = 1 << 16;
    char *out = malloc(size);
    if (master < 0 || grantpt(master) || unlockpt(master) || access(ptsname(master), R_OK | W_OK)) {
        if (master >= 0)
            close(master);
        free(out);
        print_message("no pseudo-terminals here (/dev/pts): not run\n");
        skip();
        return NULL; /* skip does not return, which is not declared */
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        become(master, &window, environment, argv);
    for (ssize_t got; (got = read(master, out + used, size - used - 1)) > 0;) {
        used += (size_t)got; /* ends with EIO when the other side is closed */
        if (size - used < 4096)
            assert_int_equal(nvt_resize(&out, size *= 2, 1), 0);
    }
    out[used] = 0;
    close(master);
    waitpid(child, &ended, 0);
    assert_true(WIFEXITED(ended));
    *status = WEXITSTATUS(ended);
    without_returns(out);
    return out;
}

size_t kit_uncolour(char *text)
{
    size_t count = 0;
    char *to = text;
    for (const char *at = text; *at;) {
        size_t codes = !strncmp(at, "\033[", 2) ? strspn(at + 2, "0123456789;") : 0;
        if (!strncmp(at, "\033[", 2) && at[2 + codes] == 'm') {
            at += 3 + codes;
            count++;
        } else
            *to++ = *at++;
    }
    *to = 0;
    return count;
}

size_t kit_expect_fits(const char *text, size_t columns)
{
    char *copy = strdup(text), *rest = copy;
    size_t lines = 0;
    assert_non_null(copy);
    kit_uncolour(copy);
    for (char *line; (line = strsep(&rest, "\n")); lines += rest != NULL)
        if (nvt_text_width(line) > columns)
            fail_msg("%zu columns, of %zu: '%s' in\n%s", nvt_text_width(line), columns, line, text);
    free(copy);
    return lines;
}
