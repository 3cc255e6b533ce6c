/*
 * Whether a document of HTML is well-formed and loads nothing: every tag closed in its order, no id
 * twice, no link that leads out of it, no script but one, and a policy that forbids the rest.
 */
#ifndef NVT_TESTS_HTML_CHECK_H
#define NVT_TESTS_HTML_CHECK_H

#include <stddef.h>

/* Fail the test that called unless it is so. */
void expect_html(const char *text);

/* How often `what` stands in a text, one behind the other. */
size_t count_of(const char *text, const char *what);

#endif
