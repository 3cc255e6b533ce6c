#include "ctl_kit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "record_kit.h"

void ctl_end(pid_t pid, int number)
{
    int status;
    kill(pid, number);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

int ctl_set_up(void **state)
{
    const int status = recorded_set_up(state);
    char *folder = realpath(recorded_in("."), NULL);
    setenv("NVTALLY_TMPDIR", folder, 1);
    free(folder);
    return status;
}
