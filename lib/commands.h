/*
 * The entry function of every command, listed in nvtally.c. argv[0] is the command's own name.
 * Each returns the exit status: 0 good, 1 the answer is 'no', 2 the command cannot be done;
 * `record` and `run` pass on the status of what they ran. Results go to stdout, the rest to stderr.
 */
#ifndef NVT_COMMANDS_H
#define NVT_COMMANDS_H

#include <stddef.h>

struct nvt_probe_item;

/* 1, or 0 in a program that was built without kernels/: no_workloads.c then has nvt_cmd_run and nvt_measure_peaks. */
extern const int nvt_has_workloads;

int nvt_cmd_record(int argc, char **argv);    /* collectors/record.c */
int nvt_cmd_env(int argc, char **argv);       /* collectors/env.c */
int nvt_cmd_ctl(int argc, char **argv);       /* collectors/ctl.c */
int nvt_cmd_run(int argc, char **argv);       /* kernels/run.c */
int nvt_cmd_stats(int argc, char **argv);     /* analyze/stats.c */
int nvt_cmd_diagnose(int argc, char **argv);  /* analyze/diagnose.c */
int nvt_cmd_compare(int argc, char **argv);   /* analyze/compare.c */
int nvt_cmd_import(int argc, char **argv);    /* analyze/import.c */
int nvt_cmd_reference(int argc, char **argv); /* analyze/reference.c */
int nvt_cmd_plot(int argc, char **argv);      /* plots/plot.c */
int nvt_cmd_report(int argc, char **argv);    /* plots/report_command.c */
int nvt_cmd_export(int argc, char **argv);    /* analyze/export.c */
int nvt_cmd_sql(int argc, char **argv);       /* analyze/sql_command.c */
int nvt_cmd_check(int argc, char **argv);     /* analyze/check.c */
int nvt_cmd_mcp(int argc, char **argv);       /* analyze/mcp.c */
int nvt_cmd_view(int argc, char **argv);      /* analyze/view_command.c */
int nvt_cmd_top(int argc, char **argv);       /* analyze/top_command.c */
int nvt_cmd_info(int argc, char **argv);      /* analyze/info.c */

/*
 * Show on stderr, where that is a terminal, what people see first of a trace that was just recorded; nothing of one that has
 * nothing to show, cannot be read, or takes long to be read. analyze/overview_command.c
 */
void nvt_show_recording(const char *path);

/*
 * Measure what each backend reaches that answers here, in a process of its own each: a large product of every precision that
 * it does not emulate, one of 8-bit integers and a large copy. It takes seconds. Fills at most `room` items of the section
 * "peak" (probe_peak.h) and returns how many. What was measured is kept (peak_cache.h). kernels/measure_peaks.c
 */
size_t nvt_measure_peaks(struct nvt_probe_item *items, size_t room);

#endif
