/*
 * Errors: every fallible function returns 0 or a negative status and fills a struct nvt_error.
 *
 * Nothing in lib/ prints or exits; a command turns the error into one line with
 * nvt_error_text() and exits with 2.
 */
#ifndef NVT_ERROR_H
#define NVT_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong, where, and (in the message) what to do about it. Caller-owned, no pointers. */
struct nvt_error {
    char message[512]; /* one line, no trailing newline */
    char file[512];    /* path it concerns, or "" */
    int64_t offset;    /* byte offset in that file, -1 when unknown */
    int64_t line;      /* 1-based line in that file, 0 when unknown */
};

#define NVT_ERROR_INIT {{0}, {0}, -1, 0}

/*
 * Fill err (may be NULL) with a message and return -1, so that `return nvt_fail(err, ...)` reads
 * well. Clears file, offset and line. Control characters in the message become '?', because names
 * and paths come from strangers.
 */
int nvt_fail(struct nvt_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As nvt_fail, naming the file and the byte offset (-1: unknown). */
int nvt_fail_at(struct nvt_error *err, const char *file, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As nvt_fail, naming the file and the line of it (from 1). */
int nvt_fail_line(struct nvt_error *err, const char *file, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Add the file to an error that was raised below without one. Returns -1. */
int nvt_error_in(struct nvt_error *err, const char *file);

/* The error as one line, "FILE: MESSAGE (at byte N)", into buffer (always terminated). */
const char *nvt_error_text(const struct nvt_error *err, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
