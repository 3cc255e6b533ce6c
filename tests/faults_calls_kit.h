/* Runs of commands in which one allocation or one system call fails. */
#ifndef NVT_TESTS_FAULTS_CALLS_KIT_H
#define NVT_TESTS_FAULTS_CALLS_KIT_H

#include <stddef.h>

#include "faults_kit.h"

/* Arguments of a command. */
#define MOST 16

/* How calls fail. `harmless`: the work must be done all the same, by all commands or by the
 * recorder alone. (stdio, by which the others write, gives up at EINTR; they have no handlers that
 * could cause it.) */
enum harmless { NO, RECORDER, ALL };
struct way {
    const char *group, *error;
    int all_later;
    enum harmless harmless;
};

enum { WAYS = 10 };

extern const struct way faults_ways[WAYS];

/* Every n-th in the short form, so that each part is met. */
unsigned long faults_step_of(unsigned long count, unsigned long most);

/* What fails in a run: an allocation (way NULL), or a call. */
struct fault {
    const struct way *way;
    unsigned long number; /* 0: none, it is counted only */
};

/* What fails, in words. */
const char *faults_name_of(const struct fault *fault, char *out, size_t size);

/*
 * A command, in which that fails. count_of: how many calls or allocations it makes where nothing fails, 0 where that
 * cannot be counted.
 */
struct cli_result faults_run_with(const struct fault *fault, const char *const argv[]);
unsigned long faults_count_of(const struct way *way, const char *const argv[]);

/* Lines of a text. */
int faults_lines_of(const char *text);

/* Whether the work must be done all the same. */
int faults_is_harmless(const struct fault *fault, int is_recorder);

/* Success, or an end with one clear line. */
void faults_assert_sound(const struct cli_result *result, const char *command,
                         const struct fault *fault);

/* Allocations or calls that commands made, for faults_note_runs_of(). */
extern unsigned long faults_of_all;

/* A row of the table: in how many runs something failed. */
void faults_note_runs_of(const char *command, const struct way *way, unsigned long runs);

#endif
