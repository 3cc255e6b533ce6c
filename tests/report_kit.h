/* Documents of the command report. */
#ifndef NVT_TESTS_REPORT_KIT_H
#define NVT_TESTS_REPORT_KIT_H

#include "cli.h"

/* `nvtally report` with five words, of which the last ones may be NULL. */
struct cli_result report_run(const char *a, const char *b, const char *c, const char *d,
                             const char *e);

/* The document that a report of `input` writes as NAME, owned. */
char *report_document(const char *input, const char *directory, const char *name);

/* Braces in their order, those of \{ and \} left out. */
void report_expect_braces(const char *text);

/* What LaTeX makes of a.tex in a folder, where there is pdflatex. */
void report_compile(const char *directory);

#endif
