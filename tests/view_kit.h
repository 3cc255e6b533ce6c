/* Questions to the server behind `view`, and the command itself while it runs. What fails fails the test. */
#ifndef NVT_TESTS_VIEW_KIT_H
#define NVT_TESTS_VIEW_KIT_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct view_reply {
    int status;
    char *text; /* with its headers, owned */
};

/* A socket that is connected to the port of an address, "http://127.0.0.1:PORT/TOKEN/". */
int view_connect(const char *address);

/* Ask an address for a path, "/TOKEN/lanes", of a host. */
struct view_reply view_ask_at(const char *address, const char *host, const char *method,
                              const char *path);
/* view_ask_at of localhost; and of a path behind the token of the address. */
struct view_reply view_ask_with(const char *address, const char *method, const char *path);
struct view_reply view_ask(const char *address, const char *path);

/* Fails unless a reply has a status and holds a text (NULL: any). Frees it. */
void view_expect(struct view_reply reply, int status, const char *needle);

/* A number that the server says: of the first `key` in an answer. */
uint64_t view_number(const char *address, const char *path, const char *key);

struct view_running {
    pid_t pid;
    FILE *out;
    char address[256];
};

/* `nvtally view FILE --no-open OPTION`, once it prints its address; the test is skipped where there is no libmicrohttpd. */
struct view_running view_run(const char *file, const char *option);
/* The same once it has read the file, which a slow machine may take long for. */
struct view_running view_run_of(const char *file);
/* End it by a signal; fails unless it ends with status 0. */
void view_end(struct view_running *view, int by);

#endif
