/*
 * Untrusted text: UTF-8 that may be malformed, characters of any width, control characters that must not reach a
 * terminal.
 */
#ifndef NVT_TEXT_H
#define NVT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What stands for bytes that are no UTF-8. */
#define NVT_REPLACEMENT 0xFFFDu

/* Bytes that a character takes at most. */
#define NVT_UTF8_MAX 4

/*
 * The character at *at, which then moves behind it; 0 at the terminating NUL (*at stays). A byte
 * that starts no well-formed sequence (overlong, surrogate, above U+10FFFF, cut) gives
 * NVT_REPLACEMENT: one for each maximal part of a sequence, as Unicode 15 section 3.9 recommends.
 */
uint32_t nvt_utf8_next(const char **at);

/* Write a character as UTF-8, without terminator; returns the number of bytes (1 … 4). */
size_t nvt_utf8_put(uint32_t character, char out[NVT_UTF8_MAX]);

/* Write a character as UTF-8 into a stream. */
void nvt_utf8_write(uint32_t character, FILE *out);

/* The last name of a path, without its folders: a part of it. */
const char *nvt_file_name(const char *path);

/* Whether a name has that ending, behind at least one character. */
int nvt_has_ending(const char *name, const char *ending);

/*
 * Columns that a character takes on a terminal: 2 for East Asian wide and fullwidth ones and for
 * emoji, 0 for combining marks and joiners, else 1 (Unicode 14, UAX 11).
 */
int nvt_char_width(uint32_t character);

/*
 * The character to show for one that could steer a terminal or turn the text around: control pictures (U+2400 …) for C0
 * and DEL, NVT_REPLACEMENT for C1, bidirectional controls, line and paragraph separators and noncharacters. Any other
 * is returned unchanged.
 */
uint32_t nvt_char_visible(uint32_t character);

/* Columns of a text once every character has gone through nvt_char_visible. */
size_t nvt_text_width(const char *text);

/* Behind what takes so many columns of it at most, or at its end. */
const char *nvt_text_skip(const char *text, size_t columns);

#endif
