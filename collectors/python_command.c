#include "python_command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/program.h"
#include "../lib/text.h"

static int says_what_runs_it(const char *path)
{
    char start[2] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, start, sizeof(start));
    if (file >= 0)
        close(file);
    return got == 2 && start[0] == '#' && start[1] == '!';
}

int nvt_is_python_script(const char *command)
{
    struct stat status;
    return nvt_has_ending(command, ".py") && !stat(command, &status) && S_ISREG(status.st_mode) &&
           (nvt_command_find(command, NULL, 0) || !says_what_runs_it(command));
}

char **nvt_python_command(char *const argv[], struct nvt_error *err)
{
    static char pythons[][8] = {"python3", "python"};
    size_t count = 1, python = 0;
    while (argv[count])
        count++;
    int needs_one = argv[0][0] == '-' || nvt_is_python_script(argv[0]);
    while (needs_one && python < 2 && nvt_command_find(pythons[python], NULL, 0))
        python++;
    char **command = python < 2 ? malloc((count + 2) * sizeof(*command)) : NULL;
    if (!command) {
        nvt_fail(err, python < 2 ? "out of memory"
                                 : "--python: there is no python3 and no python in PATH");
        return NULL;
    }
    if (needs_one)
        command[0] = pythons[python];
    memcpy(command + needs_one, argv, (count + 1) * sizeof(*command));
    return command;
}
