/* Text for people in lines that fit, with a hanging indent. */
#ifndef NVT_WRAP_H
#define NVT_WRAP_H

#include <stddef.h>
#include <stdio.h>

#include "error.h"

/*
 * Write a text in lines of at most `width` columns (0: on one line), without a line feed after the last one. What is on
 * its first line already takes `first` columns; the lines below it begin with `hang` blanks. Lines end between words; a
 * word that has no room in a line is cut where that is full, behind a comma or a slash if it has one. Characters are
 * made visible (lib/text.h). Returns how many lines it took.
 */
size_t nvt_wrap(const char *text, size_t first, size_t hang, size_t width, FILE *out);

/* How many lines it would take. */
size_t nvt_wrap_lines(const char *text, size_t first, size_t hang, size_t width);

/* Columns of a text that is printed without knowing for whom, as --help. */
#define NVT_HELP_WIDTH 79

/*
 * Write a line of a list, "  NAME   what it is": the text from `column` on (below the name where that is longer), wrapped at
 * `width` (0: never), and a line feed.
 */
void nvt_put_item(const char *name, size_t column, const char *text, size_t width, FILE *out);

/* Write a message of the program, "nvtally: TEXT": wrapped where `err` is a terminal, else on one line; characters are made visible. */
void nvt_message(FILE *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write such a message of an error. Returns 2, the exit status of a command that cannot be done. */
int nvt_message_error(FILE *out, const struct nvt_error *err);

#endif
