/*
 * How `nvtally ctl --watch FILE` reaches sessions on many hosts: by a file on a file system that they share, which all of them watch
 * (`record --watch FILE`, `env --watch FILE`).
 *
 * A request is a line that is appended to it: a protocol version, a serial number (16 hexadecimal digits, chosen at random), whom it is for
 * (HOST.PROCESS, or * for all), the bytes of what is asked and their checksum (XXH3 of all from the serial number on but these two), and
 * what is asked, with blanks between. Each line begins with a line feed of its own, so that what was cut off before it ends there; a line
 * whose length or checksum is wrong is passed over. Two who append at once may, on NFS, write over each other: who asks looks whether his
 * line is there, and appends it again, with the same number, as long as answers are missing; a session does each number once, in the
 * order of the file.
 *
 * Each session has a file next to it, FILE.HOST.PROCESS: on its first line '@', the boot, the pid namespace, the process and its start, by
 * which others on the same host know whether it lives; then its latest answers: on a line the serial number, '+' or '-' (it could not be
 * done) and the bytes of the text, which follows. It gets a new time every 10 s as a sign of life, and goes with the session. It is
 * replaced by rename(2): who reads it finds all of one answer or nothing of it.
 *
 * A session looks at the file by open(2), fstat(2) and close(2), twice a second, and 20 times a second while requests come. NFS asks its server at an open(2)
 * (close-to-open), so that its cache of attributes adds nothing. Where it does not (nocto; other file systems that cache attributes), every
 * two seconds it is asked by a chmod(2) that changes nothing, whose answer has the file's length; and who asks does the same with
 * answers that are late. A new session may be listed late by as much as the cache of directories allows (acdirmax, 60 s).
 *
 * What belongs to another user, or others may write to, is neither read nor written. What stood in the file before a session came is
 * not for it, nor what it finds in another file of that name.
 */
#ifndef NVT_CTL_FILE_H
#define NVT_CTL_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "ctl_socket.h"

#define NVT_CTL_FILE_LOOK_NS INT64_C(500000000)
#define NVT_CTL_FILE_SOON_NS INT64_C(50000000) /* so often for a while after a request */
#define NVT_CTL_FILE_REFRESH_NS                                                                    \
    INT64_C(2000000000) /* between two questions to the server how long the file is */
#define NVT_CTL_FILE_SIGN_NS   INT64_C(10000000000)  /* between two signs of life; */
#define NVT_CTL_FILE_SILENT_NS INT64_C(120000000000) /* who gives none for so long is left out */
#define NVT_CTL_SERIAL         17                    /* bytes, with a NUL */

/* --- the session's side --- */

enum { NVT_CTL_FILE_ANSWERS = 16, NVT_CTL_FILE_KNOWN = 1024 };

struct nvt_ctl_file {
    char path[PATH_MAX]; /* "": none is watched */
    char own[PATH_MAX];  /* that of our answers */
    char name[160];      /* HOST.PROCESS */
    dev_t device;        /* of the file that has been read, */
    ino_t inode;
    int64_t offset;                                         /* so far */
    int64_t next_look, next_refresh, soon_until, next_sign; /* CLOCK_MONOTONIC */
    struct nvt_ctl_file_answer {
        char serial[NVT_CTL_SERIAL];
        int failed;
        char *text; /* owned; NULL: none */
    } answers[NVT_CTL_FILE_ANSWERS];
    char known[NVT_CTL_FILE_KNOWN][NVT_CTL_SERIAL]; /* numbers that were done */
    unsigned done, unwritten; /* requests so far, and of these, answers that the file has not yet */
    /* What is wrong with the file, called when that changes; may be NULL. Set it after nvt_ctl_file_watch. */
    void (*said)(const char *path, const char *what);
    int trouble;  /* errno of the last look, which has been said; 0: none */
    unsigned odd; /* lines that are no requests, so far */
};

/* Watch it from its end on; it is made where there is none. 0, or -1 with err: it cannot be had, or others may write to it. */
int nvt_ctl_file_watch(struct nvt_ctl_file *file, const char *path, struct nvt_error *err);
void nvt_ctl_file_close(struct nvt_ctl_file *file);

/* Answer what has been asked since, if it is time for a look. Returns when the next one is due, CLOCK_MONOTONIC. */
int64_t nvt_ctl_file_serve(struct nvt_ctl_file *file, nvt_ctl_answer *answer, void *context);

/* --- the other side --- */

/* A file that sessions watch. The way stands first, as sessions point to it. */
struct nvt_ctl_file_way {
    struct nvt_ctl_way way;
    char path[PATH_MAX];
};

/* 0, or -1 with err: there is no such file, or it is not one of ours alone. One that was removed while sessions watch it is made again. */
int nvt_ctl_file_reach(struct nvt_ctl_file_way *way, const char *path, struct nvt_error *err);

/* Sessions that watch it, by their names; at most `most`. Returns how many there are, or -1 with err. *silent gets how many of
 * these have given no sign of life for long: they are not in `out`, and `said`, unless NULL, is called for each with its name and how long.
 * The file of one that was killed on this host is removed. */
int nvt_ctl_file_sessions(const struct nvt_ctl_file_way *way, struct nvt_ctl_session *out,
                          size_t most, void (*said)(const char *name, int64_t silent_ns),
                          struct nvt_error *err);

/* Append a request for `whom` with this serial number, nvt_ctl_file_serial's. 0, or -1 with err. */
void nvt_ctl_file_serial(char serial[NVT_CTL_SERIAL]);
int nvt_ctl_file_send(const char *path, const char *serial, const char *whom, const char *request,
                      struct nvt_error *err);

#endif
