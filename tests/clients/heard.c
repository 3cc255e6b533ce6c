/*
 * Counts the signals that reach it: heard FILE. Writes its process number to FILE when it can be sent some, and at SIGTERM a line
 * with how often SIGUSR1 and SIGTERM came; it ends 0.3 s later, so that a second one is counted, too.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t heard[65];

static void hear(int number)
{
    heard[number]++;
}

int main(int argc, char **argv)
{
    char fresh[600];
    struct sigaction action = {.sa_handler = hear};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    snprintf(fresh, sizeof(fresh), "%s.new", argc > 1 ? argv[1] : "heard");
    FILE *file = fopen(fresh, "w");
    if (argc < 2 || !file || fprintf(file, "%d\n", getpid()) < 0 || fclose(file) ||
        rename(fresh, argv[1]))
        return 99;
    while (!heard[SIGTERM])
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    for (int i = 0; i < 60; i++) /* a signal ends each */
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    printf("USR1 %d TERM %d\n", heard[SIGUSR1], heard[SIGTERM]);
    return 0;
}
