/*
 * What the tests of faults share: recordings of tests/clients/faults in a folder of their own, and
 * a table of what each fault cost. NVTALLY_FAULTS=full (make check-faults) asks for the full form.
 * The rows of the table go to the file that NVTALLY_FAULTS_TABLE names, else to standard output.
 */
#ifndef NVT_TESTS_FAULTS_KIT_H
#define NVT_TESTS_FAULTS_KIT_H

#include <stdint.h>

#include "../analyze/readers/reader.h"
#include "cli.h"

/* Group fixtures: the folder, with sessions in it too, so that none that a killed recorder leaves
 * outlives the test; and its removal. */
int faults_set_up(void **state);
int faults_tear_down(void **state);

int faults_are_full(void);

/* Built with a sanitizer, which will not have other libraries before it (LD_PRELOAD) nor a tracer
 * beside it: skip the test, with a word. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULTS_SKIP_SANITIZED()                                                                    \
    do {                                                                                           \
        print_message("not run with a sanitizer\n");                                               \
        skip();                                                                                    \
    } while (0)
#else
#define FAULTS_SKIP_SANITIZED() ((void)0)
#endif

const char *faults_folder(void);
const char *faults_output(void); /* the trace that faults_record writes */

/* Run the client HOW FILE under `record`; run a script in sh. A run that hangs fails the test. */
struct cli_result faults_record(const char *how, const char *file);
struct cli_result faults_shell(const char *script);

/* The trace, freed by the caller; fails the test where it cannot be read. How many ranges of a name
 * in it were closed; how many events the recorder said were lost; the number that stands before
 * some words of it, 0 where they are not there. */
struct nvt_trace *faults_read(void);
uint32_t faults_count(const struct nvt_trace *trace, const char *name);
uint64_t faults_said_lost(const struct cli_result *result);
uint64_t faults_said(const struct cli_result *result, const char *words);

/* How many sessions are in the folder; the second fails unless there are none. */
int faults_sessions(void);
void faults_no_session_left(void);

/*
 * A row of the table, and the claim itself: of `completed` ranges that had returned to the program
 * (which counted them itself), as many are in the file or reported lost; fails otherwise.
 * `seconds`: of the whole run, which did not hang. faults_note_said: for what can only be told in
 * words.
 */
void faults_note(const char *fault, uint64_t completed, uint64_t in_file, uint64_t lost,
                 double seconds);
void faults_note_said(const char *fault, uint64_t completed, uint64_t in_file, const char *said,
                      double seconds);

/* A row of another kind: in how many runs one thing failed, each of which ended as it must, and how many such things there were. */
void faults_note_runs(const char *fault, unsigned long runs, unsigned long of);

#endif
