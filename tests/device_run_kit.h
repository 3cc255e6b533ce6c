/*
 * What the tests of tests/device/run share: the script with its folders in the fixture's (cli.h), and programs that
 * stand in for nvtally, nvidia-smi and PyTorch.
 */
#ifndef NVT_TESTS_DEVICE_RUN_KIT_H
#define NVT_TESTS_DEVICE_RUN_KIT_H

#include "cli.h"

/* The script with its folders in ours; dry at the smallest size that can be cut into 128 fragments. The processor is slower than a
 * device, and others may use it, too: parts and rows have ten times as long. */
struct cli_result device_run(const char *dry, const char *work, const char *iterations,
                             const char *const parts[]);

/* What stands in for the program: rows of status error, and 0. */
extern const char device_failing_program[];

/* A program of that text, in a folder of the fixture's. */
void device_put_program(const char *folder, const char *name, const char *text);

/* A folder with a device that answers, by this program in the place of nvtally, and that nvidia-smi holds. */
void device_put(const char *folder, const char *program);

/* The script with the programs of a folder of the fixture's, as BUILD and on PATH. */
struct cli_result device_run_stood_in(const char *programs, const char *dry,
                                      const char *const parts[]);

/* What stands in for the program: of one configuration a row that is ok, in the folder behind -o. */
extern const char device_ok_program[];

/* Steps that a log has, in their order. */
void device_expect_steps(const char *log, const char *const steps[]);

/* The line of the goals that begins so, after two spaces, says that. */
void device_expect_line(const struct cli_result *result, const char *goal, const char *said);

#endif
