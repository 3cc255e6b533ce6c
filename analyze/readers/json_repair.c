#include "json_repair.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "../../lib/count_of.h"

/* SLASH to STAR: of a comment, behind its first character, in one of a line or of its own end, and behind a star in that. */
enum state { OUTSIDE, STRING, ESCAPE, MAYBE_OVER, WORD, SLASH, LINE, COMMENT, STAR };

static void put(struct nvt_buffer *out, int c)
{
    const unsigned char byte = (unsigned char)c;
    nvt_buffer_append(out, &byte, 1);
}

static void put_text(struct nvt_buffer *out, const char *text)
{
    nvt_buffer_append(out, text, strlen(text));
}

/* --- strings --- */

static int is_hex(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < 4; i++)
        if (i >= size || !isxdigit(text[i]))
            return 0;
    return 1;
}

/* Whether the backslash before `at` begins an escape of JSON. */
static int is_escape(const struct nvt_buffer *token, size_t at)
{
    if (at >= token->size)
        return 0;
    if (token->data[at] == 'u')
        return is_hex(token->data + at + 1, token->size - at - 1);
    return strchr("\"\\/bfnrt", token->data[at]) && token->data[at];
}

/* Whether backslashes of a string, from its first quote on, stand for themselves: it begins as a path of Windows does, or
 * has one before what cannot be escaped. */
static int is_literal(const struct nvt_buffer *token)
{
    const uint8_t *text = token->data;
    if (token->size > 3 && isalpha(text[1]) && text[2] == ':' && text[3] == '\\' &&
        (token->size == 4 || text[4] != '\\'))
        return 1;
    for (size_t i = 1; i < token->size; i++)
        if (text[i] == '\\') {
            if (i + 1 < token->size && !is_escape(token, i + 1))
                return 1;
            i++;
        }
    return 0;
}

/* Whether a string, from its first quote on, has nothing that could have to change. */
static int is_plain(const struct nvt_buffer *token)
{
    for (size_t i = 0; i < token->size; i++)
        if (token->data[i] < ' ' || token->data[i] == '\\')
            return 0;
    return token->data[0] == '"';
}

static void end_string(struct nvt_json_repair *repair)
{
    repair->token.size = 0;
    repair->last = 'v';
    repair->state = OUTSIDE;
}

/* The string that was collected, without its last quote, as JSON has it. */
static void put_string(struct nvt_json_repair *repair, struct nvt_buffer *out)
{
    const struct nvt_buffer *token = &repair->token;
    if (token->size && is_plain(token)) {
        nvt_buffer_append(out, token->data, token->size);
        put(out, '"');
        end_string(repair);
        return;
    }
    const int literal = is_literal(token);
    int is_changed = literal || repair->quote != '"';
    put(out, '"');
    for (size_t i = 1; i < token->size; i++) {
        const int c = token->data[i], next = i + 1 < token->size ? token->data[i + 1] : 0;
        if (c == '\\' && next && (!literal || next == repair->quote)) {
            if (next != '\'')
                put(out, c);
            put(out, next);
            i++;
        } else if (c == '\\' || (c == '"' && repair->quote != '"')) {
            put(out, '\\');
            put(out, c);
        } else if (c < ' ') {
            nvt_buffer_printf(out, "\\u%04x", (unsigned)c);
            is_changed = 1;
        } else {
            put(out, c);
        }
    }
    put(out, '"');
    repair->repaired += (unsigned)is_changed;
    end_string(repair);
}

/* --- bare words --- */

/* A number as JSON has it: optional minus, no needless zero, digits on both sides of a point. */
static int is_number(const char *text)
{
    text += *text == '-';
    if (!isdigit((unsigned char)*text) || (*text == '0' && isdigit((unsigned char)text[1])))
        return 0;
    text += strspn(text, "0123456789");
    if (*text == '.') {
        if (!isdigit((unsigned char)*++text))
            return 0;
        text += strspn(text, "0123456789");
    }
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '-' || text[1] == '+');
        if (!isdigit((unsigned char)*text))
            return 0;
        text += strspn(text, "0123456789");
    }
    return !*text;
}

/* What a word stands for: a text of JSON, or NULL. */
static const char *meaning_of(const char *word)
{
    static const struct {
        const char *word, *json;
    } words[] = {{"inf", "null"},  {"infinity", "null"}, {"nan", "null"}, {"none", "null"},
                 {"true", "true"}, {"false", "false"},   {"null", "null"}};
    word += *word == '-' || *word == '+';
    for (size_t i = 0; i < NVT_COUNT_OF(words); i++)
        if (!strcasecmp(word, words[i].word))
            return words[i].json;
    /* "nan(ind)" and the like of C libraries */
    return !strncasecmp(word, "nan", 3) ? "null" : NULL;
}

/* A number in another form than JSON's, in `out`: hexadecimal, a plus, missing or needless digits. 0: it is none. */
static int number_of(const char *word, char *out, size_t size)
{
    const int is_negative = *word == '-';
    const char *digits = word + (*word == '-' || *word == '+');
    char *end;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        unsigned long long value = strtoull(digits, &end, 16);
        if (*end || !digits[2])
            return 0;
        snprintf(out, size, "%s%llu", is_negative ? "-" : "", value);
        return 1;
    }
    digits += strspn(digits, "0");
    const size_t whole = strspn(digits, "0123456789");
    const char *point = digits[whole] == '.' ? digits + whole + 1 : "";
    snprintf(out, size, "%s%s%.*s.%s%s", is_negative ? "-" : "", whole ? "" : "0", (int)whole,
             digits, *point && isdigit((unsigned char)*point) ? "" : "0", point);
    return (whole || digits > word || *point) && is_number(out);
}

static void put_word(struct nvt_json_repair *repair, struct nvt_buffer *out)
{
    char number[512];
    put(&repair->token, 0);
    if (repair->token.failed)
        return;
    const char *word = (const char *)repair->token.data;
    const int is_decimal = is_number(word);
    const char *meaning = is_decimal ? NULL : meaning_of(word);
    const int is_known = is_decimal || (meaning && !strcmp(word, meaning));
    if (is_known)
        put_text(out, word);
    else if (meaning)
        put_text(out, meaning);
    else if (repair->token.size < sizeof(number) / 2 && number_of(word, number, sizeof(number)))
        put_text(out, number);
    else
        nvt_buffer_printf(out, "\"%s\"", word);
    repair->repaired += !is_known;
    repair->token.size = 0;
    repair->last = 'v';
    repair->state = OUTSIDE;
}

/* --- what is between them --- */

static int is_of_word(int c)
{
    return isalnum(c) || c == '_' || c == '+' || c == '-' || c == '.' || c == '$' || c >= 0x80;
}

/* Something follows: the comma before it, where there is one or has to be. */
static void put_comma(struct nvt_json_repair *repair, int next, struct nvt_buffer *out)
{
    const int closes = next == '}' || next == ']';
    const int is_missing = repair->last == '}' && next == '{';
    if (repair->has_comma && (closes || !repair->last || strchr("{[", repair->last)))
        repair->repaired++;
    else if (repair->has_comma || is_missing) {
        put(out, ',');
        repair->repaired += !repair->has_comma;
    }
    repair->has_comma = 0;
    nvt_buffer_append(out, repair->blank.data, repair->blank.size);
    repair->blank.size = 0;
}

static void take_outside(struct nvt_json_repair *repair, int c, struct nvt_buffer *out)
{
    if (isspace(c) || (!repair->last && c >= 0x80)) { /* a byte-order mark may come first */
        put(repair->has_comma ? &repair->blank : out, c);
        return;
    }
    if (c == ',') {
        repair->repaired += (unsigned)repair->has_comma;
        repair->has_comma = 1;
        return;
    }
    if (c == '/') {
        repair->state = SLASH;
        return;
    }
    if (c != ':')
        put_comma(repair, c, out);
    if (c == '"' || c == '\'' || is_of_word(c)) {
        repair->quote = c;
        repair->state = c == '"' || c == '\'' ? STRING : WORD;
        put(&repair->token, c);
        return;
    }
    put(out, c);
    repair->last = c;
}

static void take_in_string(struct nvt_json_repair *repair, int c, struct nvt_buffer *out)
{
    if (c == repair->quote) {
        put_string(repair, out);
        return;
    }
    put(&repair->token, c);
    if (c == '\\')
        repair->state = ESCAPE;
}

/* Behind a backslash. A quote may end the string, if backslashes stand for themselves there. */
static void take_escaped(struct nvt_json_repair *repair, int c)
{
    if (c == repair->quote && is_literal(&repair->token)) {
        repair->blank.size = 0;
        repair->state = MAYBE_OVER;
        return;
    }
    put(&repair->token, c);
    repair->state = STRING;
}

static void take(struct nvt_json_repair *repair, int c, struct nvt_buffer *out);

static void take_behind_quote(struct nvt_json_repair *repair, int c, struct nvt_buffer *out)
{
    if (isspace(c)) {
        put(&repair->blank, c);
        return;
    }
    const int is_over = strchr(",:}]", c) && c;
    if (is_over) {
        put_string(repair, out);
        nvt_buffer_append(out, repair->blank.data, repair->blank.size);
    } else {
        put(&repair->token, repair->quote);
        nvt_buffer_append(&repair->token, repair->blank.data, repair->blank.size);
        repair->state = STRING;
    }
    repair->blank.size = 0;
    take(repair, c, out);
}

/* A comment goes on. 0: what seemed to be one is none. */
static int take_comment(struct nvt_json_repair *repair, int c)
{
    const int is_line = repair->state == SLASH && c == '/', begins = repair->state == SLASH;
    if (begins && c != '/' && c != '*') {
        repair->state = OUTSIDE;
        return 0;
    }
    repair->repaired += (unsigned)begins;
    if (begins)
        repair->state = is_line ? LINE : COMMENT;
    else if (repair->state == LINE)
        repair->state = c == '\n' ? OUTSIDE : LINE;
    else if (c == '*')
        repair->state = STAR;
    else
        repair->state = repair->state == STAR && c == '/' ? OUTSIDE : COMMENT;
    return 1;
}

static void take(struct nvt_json_repair *repair, int c, struct nvt_buffer *out)
{
    switch ((enum state)repair->state) {
    case STRING:
        take_in_string(repair, c, out);
        return;
    case ESCAPE:
        take_escaped(repair, c);
        return;
    case MAYBE_OVER:
        take_behind_quote(repair, c, out);
        return;
    case WORD:
        if (is_of_word(c) || c == '(' || c == ')') {
            put(&repair->token, c);
            return;
        }
        put_word(repair, out);
        break;
    case SLASH:
    case LINE:
    case COMMENT:
    case STAR:
        if (take_comment(repair, c))
            return;
        put(out, '/');
        break;
    case OUTSIDE:
        break;
    }
    take_outside(repair, c, out);
}

static int failed(const struct nvt_json_repair *repair, const struct nvt_buffer *out)
{
    return repair->token.failed || repair->blank.failed || out->failed ? -1 : 0;
}

int nvt_json_repair(struct nvt_json_repair *repair, const unsigned char *text, size_t size,
                    struct nvt_buffer *out)
{
    for (size_t i = 0; i < size && !failed(repair, out); i++) {
        const size_t start = i;
        while (repair->state == STRING && i < size && text[i] != repair->quote && text[i] != '\\')
            i++;
        if (i > start)
            nvt_buffer_append(&repair->token, text + start, i - start);
        if (i < size)
            take(repair, text[i], out);
    }
    return failed(repair, out);
}

int nvt_json_repair_end(struct nvt_json_repair *repair, struct nvt_buffer *out)
{
    if (repair->state == WORD)
        put_word(repair, out);
    if (repair->state == MAYBE_OVER)
        put_string(repair, out);
    return failed(repair, out);
}

void nvt_json_repair_free(struct nvt_json_repair *repair)
{
    nvt_buffer_free(&repair->token);
    nvt_buffer_free(&repair->blank);
}
