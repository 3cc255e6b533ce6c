#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* Length of the UTF-8 character at text, 0 when there is none. */
static size_t character(const unsigned char *text)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] >= 0x80 && (text[0] < 0xc2 || text[0] > 0xf4))
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

/* The character of so many bytes when it could steer a terminal or turn the text around, which an
 * escape keeps it from; else 0. */
static uint32_t to_escape(const unsigned char *text, size_t length)
{
    if (length == 1)
        return *text < 0x20 || *text == 0x7f ? *text : 0;
    const char *at = (const char *)text;
    uint32_t character = nvt_utf8_next(&at);
    return character < 0x10000 && nvt_char_visible(character) != character ? character : 0;
}

int nvt_json_quote(struct nvt_buffer *out, const char *text)
{
    uint32_t escaped;
    int failed = nvt_buffer_append(out, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)text; *at && !failed;) {
        size_t length = character(at);
        if (!length) {
            failed = nvt_buffer_append(out, "\xef\xbf\xbd", 3);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            failed = nvt_buffer_printf(out, "\\%c", *at);
        } else if ((escaped = to_escape(at, length)) != 0) {
            failed = nvt_buffer_printf(out, "\\u%04x", escaped);
        } else {
            failed = nvt_buffer_append(out, at, length);
        }
        at += length;
    }
    return failed || nvt_buffer_append(out, "\"", 1) ? -1 : 0;
}

void nvt_json_begin(struct nvt_json *json, struct nvt_buffer *out)
{
    *json = (struct nvt_json){out, 0, nvt_buffer_append(out, "{", 1)};
}

static void key_of(struct nvt_json *json, const char *key)
{
    if (json->members++)
        json->failed |= nvt_buffer_append(json->out, ", ", 2);
    json->failed |= nvt_json_quote(json->out, key) || nvt_buffer_append(json->out, ": ", 2);
}

void nvt_json_null(struct nvt_json *json, const char *key)
{
    key_of(json, key);
    json->failed |= nvt_buffer_append(json->out, "null", 4);
}

void nvt_json_bool(struct nvt_json *json, const char *key, int value)
{
    key_of(json, key);
    json->failed |= nvt_buffer_printf(json->out, "%s", value ? "true" : "false");
}

void nvt_json_text(struct nvt_json *json, const char *key, const char *value)
{
    if (!value) {
        nvt_json_null(json, key);
        return;
    }
    key_of(json, key);
    json->failed |= nvt_json_quote(json->out, value);
}

void nvt_json_integer(struct nvt_json *json, const char *key, int64_t value)
{
    key_of(json, key);
    json->failed |= nvt_buffer_printf(json->out, "%" PRId64, value);
}

static void put_number(struct nvt_json *json, double value)
{
    char text[40] = "null";
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    json->failed |= nvt_buffer_append(json->out, text, strlen(text));
}

void nvt_json_number(struct nvt_json *json, const char *key, double value)
{
    key_of(json, key);
    put_number(json, value);
}

void nvt_json_numbers(struct nvt_json *json, const char *key, const double *values, size_t count)
{
    key_of(json, key);
    for (size_t i = 0; i < count; i++) {
        json->failed |= nvt_buffer_append(json->out, i ? ", " : "[", i ? 2 : 1);
        put_number(json, values[i]);
    }
    json->failed |= nvt_buffer_append(json->out, count ? "]" : "[]", count ? 1 : 2);
}

int nvt_json_end(struct nvt_json *json)
{
    json->failed |= nvt_buffer_append(json->out, "}\n", 2);
    return json->failed ? -1 : 0;
}
