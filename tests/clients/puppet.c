/*
 * Does what its input says, a line at a time, and answers each with "ok", so that a test knows what has been done when:
 *
 *   range NAME   a range of the default domain, empty
 *   steps N      N iterations, ranges `step`
 *   begin, end   one that is open in between
 *   slow MS      one that takes so long
 *   brief N      N children, one after the other, that have an iteration each and call _exit
 *   live N       a child that has N iterations, and goes on doing nothing until the puppet ends, ten minutes at most
 *   child N      one that has N iterations and ends, and is waited for
 */
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void steps(long count, long ms)
{
    for (long i = 0; i < count; i++) {
        nvtxRangePushA("step");
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
        nvtxRangePop();
    }
}

/* A child with so many iterations; `lives`: it stays. Its process. */
static pid_t be_parent(long count, int lives)
{
    int ready[2];
    char done;
    if (pipe(ready))
        return -1;
    const pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        steps(count, 0);
        close(ready[1]);
        if (lives)
            sleep(600);
        _exit(0);
    }
    close(ready[1]);
    (void)!read(ready[0], &done, 1);
    close(ready[0]);
    return pid;
}

static void obey(const char *verb, const char *word)
{
    const long number = strtol(word, NULL, 10);
    if (!strcmp(verb, "range")) {
        nvtxRangePushA(word);
        nvtxRangePop();
    } else if (!strcmp(verb, "steps"))
        steps(number, 0);
    else if (!strcmp(verb, "begin"))
        nvtxRangePushA("step");
    else if (!strcmp(verb, "end"))
        nvtxRangePop();
    else if (!strcmp(verb, "slow"))
        steps(1, number);
    else if (!strcmp(verb, "live"))
        be_parent(number, 1);
    else if (!strcmp(verb, "child"))
        waitpid(be_parent(number, 0), NULL, 0);
    for (long i = 0; i < number && !strcmp(verb, "brief"); i++)
        waitpid(be_parent(1, 0), NULL, 0);
}

int main(void)
{
    char line[256], verb[16], word[200];
    while (fgets(line, sizeof(line), stdin)) {
        *word = 0;
        if (sscanf(line, "%15s %199s", verb, word) < 1)
            continue;
        obey(verb, word);
        puts("ok");
        (void)fflush(stdout);
    }
    return 0;
}
