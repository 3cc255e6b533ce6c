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
    char file[512];    /* path it concerns ('' for an empty one), or "" */
    int64_t offset;    /* byte offset in that file, -1 when unknown */
    int64_t line;      /* 1-based line in that file, 0 when unknown */
};

#define NVT_ERROR_INIT                                                                             \
    {                                                                                              \
        {0}, {0}, -1, 0                                                                            \
    }

/* What the macros below return, in the header so that a compiler or an analyser of the caller knows
 * that the branch of a failure cannot go on as if there had been none. */
static inline int nvt_failed(void)
{
    return -1;
}

void nvt_error_set(struct nvt_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nvt_error_set_at(struct nvt_error *err, const char *file, int64_t offset, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
void nvt_error_set_line(struct nvt_error *err, const char *file, int64_t line, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

/*
 * nvt_fail(err, format, ...): fill err (may be NULL) with a message and return -1, so that `return nvt_fail(err, ...)`
 * reads well. Clears file, offset and line. Control characters in the message become '?', because names and paths are
 * untrusted.
 */
#define nvt_fail(...) (nvt_error_set(__VA_ARGS__), nvt_failed())

/* nvt_fail_at(err, file, offset, format, ...): naming the file and the byte offset (-1: unknown).
 */
#define nvt_fail_at(...) (nvt_error_set_at(__VA_ARGS__), nvt_failed())

/* nvt_fail_line(err, file, line, format, ...): naming the file and the line of it (from 1). */
#define nvt_fail_line(...) (nvt_error_set_line(__VA_ARGS__), nvt_failed())

/* Add the file to an error that was raised below without one. Returns -1. */
int nvt_error_in(struct nvt_error *err, const char *file);

/* The error as one line, "FILE: MESSAGE (at byte N)", into buffer (always terminated). */
const char *nvt_error_text(const struct nvt_error *err, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
