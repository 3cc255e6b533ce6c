#include "json_scan.h"

#include <string.h>

#include "json_bytes.h"

/* What may come next; 0 is the beginning. */
enum expects { VALUE, ITEM_OR_END, ITEM, KEY_OR_END, KEY, COLON, COMMA_OR_END, NOTHING };

/* A token in the text: `end` is behind it, NULL where it is not whole or not well-formed, by `problem`. */
struct token {
    const char *end;
    const char *problem;
    int has_escapes;
};

/* --- texts --- */

static int hex_of(char c)
{
    if (nvt_json_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits; -1: they are not that. */
static int code_of(const char *at)
{
    int code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_of(at[i]);
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* Behind an escape that begins at `at`, with its backslash. */
static const char *escape_end(const char *at, const char *end, struct token *token)
{
    if (end - at < 2)
        return NULL;
    if (at[1] != 'u') {
        if (at[1] && strchr("\"\\/bfnrt", at[1]))
            return at + 2;
        token->problem = "a backslash before what cannot be escaped";
        return NULL;
    }
    for (int i = 2; i < 6 && at + i < end; i++)
        if (hex_of(at[i]) < 0) {
            token->problem = "\\u without four hexadecimal digits";
            return NULL;
        }
    return end - at < 6 ? NULL : at + 6;
}

/* A text from its first quote on. */
static struct token text_token(const char *at, const char *end)
{
    struct token token = {NULL, NULL, 0};
    for (at++; (at = nvt_json_next_special(at, end)) < end;) {
        if (*at == '"') {
            token.end = at + 1;
            return token;
        }
        if (*at != '\\') {
            token.problem = "a control character in a text";
            return token;
        }
        token.has_escapes = 1;
        at = escape_end(at, end, &token);
        if (!at)
            return token;
    }
    return token;
}

static void put_code(struct nvt_buffer *out, unsigned code)
{
    unsigned char bytes[4];
    size_t size = 0;
    if (code < 0x80) {
        bytes[size++] = (unsigned char)code;
    } else if (code < 0x800) {
        bytes[size++] = (unsigned char)(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[size++] = (unsigned char)(0xe0 | code >> 12);
        bytes[size++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    } else {
        bytes[size++] = (unsigned char)(0xf0 | code >> 18);
        bytes[size++] = (unsigned char)(0x80 | (code >> 12 & 0x3f));
        bytes[size++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80)
        bytes[size++] = (unsigned char)(0x80 | (code & 0x3f));
    nvt_buffer_append(out, bytes, size);
}

/* The character of an escape \u at `at`, which may be one of a pair; behind it. The first of a pair without its second is a '?'. */
static const char *put_unicode(struct nvt_buffer *out, const char *at, const char *end)
{
    const unsigned code = (unsigned)code_of(at + 2);
    const int is_first = (code & 0xfc00) == 0xd800;
    if (!is_first) {
        put_code(out, code);
        return at + 6;
    }
    const int second = end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? code_of(at + 8) : -1;
    if (second < 0) {
        put_code(out, '?');
        return at + 6;
    }
    put_code(out, 0x10000 + ((code & 0x3ff) << 10) + ((unsigned)second & 0x3ff));
    return at + 12;
}

/* What is between the quotes, without escapes, in scan->plain. 0, or -1 when out of memory. */
static int make_plain(struct nvt_json_scan *scan, const char *at, const char *end)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    struct nvt_buffer *out = &scan->plain;
    out->size = 0;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        nvt_buffer_append(out, at, (size_t)((slash ? slash : end) - at));
        if (!slash)
            break;
        if (slash[1] == 'u') {
            at = put_unicode(out, slash, end);
            continue;
        }
        const char *known = strchr(from, slash[1]);
        nvt_buffer_append(out, known ? &to[known - from] : &slash[1], 1);
        at = slash + 2;
    }
    return out->failed ? -1 : 0;
}

/* --- numbers and words --- */

static struct token no_number(void)
{
    return (struct token){NULL, "a number without digits where they belong", 0};
}

/* A number. One that ends with the text is whole if nothing follows. */
static struct token number_token(const char *at, const char *end, int is_last)
{
    const struct token cut = {NULL, NULL, 0};
    at += *at == '-';
    if (at == end)
        return is_last ? no_number() : cut;
    if (!nvt_json_is_digit(*at))
        return no_number();
    at = *at == '0' ? at + 1 : nvt_json_digits_end(at, end);
    if (at < end && *at == '.') {
        const char *first = ++at;
        at = nvt_json_digits_end(at, end);
        if (at == first)
            return at == end && !is_last ? cut : no_number();
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        const char *first = at;
        at = nvt_json_digits_end(at, end);
        if (at == first)
            return at == end && !is_last ? cut : no_number();
    }
    return at == end && !is_last ? cut : (struct token){at, NULL, 0};
}

static struct token word_token(const char *at, const char *end, const char *word)
{
    struct token token = {NULL, NULL, 0};
    const size_t size = strlen(word), there = (size_t)(end - at);
    if (memcmp(at, word, there < size ? there : size) != 0)
        token.problem = "a word that is no value";
    else if (there >= size)
        token.end = at + size;
    return token;
}

/* --- the grammar --- */

static enum nvt_json_scanned wrong(struct nvt_json_scan *scan, const char *problem)
{
    scan->problem = problem;
    return NVT_JSON_WRONG;
}

static void value_is_over(struct nvt_json_scan *scan)
{
    scan->expects = scan->depth ? COMMA_OR_END : NOTHING;
    scan->is_unwanted = 0;
}

static void is_closed(struct nvt_json_scan *scan, const char *end)
{
    if (scan->depth == scan->base)
        scan->closed = end;
}

static enum nvt_json_scanned open_bracket(struct nvt_json_scan *scan, const char **at,
                                          const char *end)
{
    const int is_array = **at == '[';
    if (scan->depth == NVT_JSON_DEPTH)
        return wrong(scan, NULL);
    if (!scan->skipped) {
        const int answer =
            scan->is_unwanted ? NVT_JSON_SKIP : scan->handler->open(scan->context, is_array);
        if (answer < 0)
            return NVT_JSON_STOPPED;
        const char *behind = answer == NVT_JSON_SKIP
                                 ? nvt_json_skipped_end(*at, end, NVT_JSON_DEPTH - scan->depth)
                                 : NULL;
        if (behind) {
            value_is_over(scan);
            is_closed(scan, behind);
            *at = behind;
            return NVT_JSON_GOES_ON;
        }
        if (answer == NVT_JSON_SKIP)
            scan->skipped = scan->depth + 1;
    }
    const uint64_t bit = UINT64_C(1) << scan->depth++;
    scan->arrays = is_array ? scan->arrays | bit : scan->arrays & ~bit;
    scan->expects = is_array ? ITEM_OR_END : KEY_OR_END;
    scan->is_unwanted = 0;
    ++*at;
    return NVT_JSON_GOES_ON;
}

static int is_in_array(const struct nvt_json_scan *scan)
{
    return (int)(scan->arrays >> (scan->depth - 1) & 1);
}

static enum nvt_json_scanned close_bracket(struct nvt_json_scan *scan, const char **at,
                                           int is_array)
{
    if (is_in_array(scan) != is_array)
        return wrong(scan, is_array ? "']' where '}' belongs" : "'}' where ']' belongs");
    scan->depth--;
    value_is_over(scan);
    if (!scan->skipped && scan->handler->close(scan->context))
        return NVT_JSON_STOPPED;
    if (scan->skipped > scan->depth)
        scan->skipped = 0;
    ++*at;
    is_closed(scan, *at);
    return NVT_JSON_GOES_ON;
}

/* Hand a token over, a key or a value. */
static enum nvt_json_scanned take_text(struct nvt_json_scan *scan, const char **at,
                                       struct token token, int is_key)
{
    size_t size = (size_t)(token.end - *at) - 2;
    const char *text = *at + 1;
    if (size > NVT_JSON_TOKEN)
        return wrong(scan, NVT_JSON_TOO_LONG);
    if (!scan->skipped && !scan->is_unwanted) {
        if (token.has_escapes) {
            if (make_plain(scan, text, token.end - 1))
                return wrong(scan, NVT_JSON_NO_MEMORY);
            text = (const char *)scan->plain.data;
            size = scan->plain.size;
        }
        const int answer = is_key ? scan->handler->key(scan->context, text, size)
                                  : scan->handler->value(scan->context, NVT_JSON_TEXT, text, size);
        if (answer < 0)
            return NVT_JSON_STOPPED;
        scan->is_unwanted = is_key && answer == NVT_JSON_SKIP;
    }
    if (is_key)
        scan->expects = COLON;
    else
        value_is_over(scan);
    *at = token.end;
    return NVT_JSON_GOES_ON;
}

static enum nvt_json_scanned take_plain(struct nvt_json_scan *scan, const char **at,
                                        struct token token, enum nvt_json_type type)
{
    const size_t size = (size_t)(token.end - *at);
    if (size > NVT_JSON_TOKEN)
        return wrong(scan, NVT_JSON_TOO_LONG);
    if (!scan->skipped && !scan->is_unwanted &&
        scan->handler->value(scan->context, type, *at, type == NVT_JSON_NUMBER ? size : 0))
        return NVT_JSON_STOPPED;
    value_is_over(scan);
    *at = token.end;
    return NVT_JSON_GOES_ON;
}

static enum nvt_json_scanned scan_text(struct nvt_json_scan *scan, const char **at, const char *end,
                                       int is_key)
{
    const char *const close = nvt_json_next_special_near(*at + 1, end);
    const struct token token =
        close < end && *close == '"' ? (struct token){close + 1, NULL, 0} : text_token(*at, end);
    if (token.problem)
        return wrong(scan, token.problem);
    return token.end ? take_text(scan, at, token, is_key) : NVT_JSON_MORE;
}

static enum nvt_json_scanned scan_value(struct nvt_json_scan *scan, const char **at,
                                        const char *end, int is_last)
{
    struct token token;
    enum nvt_json_type type = NVT_JSON_NUMBER;
    switch (**at) {
    case '"':
        return scan_text(scan, at, end, 0);
    case '{':
    case '[':
        return open_bracket(scan, at, end);
    case 't':
        token = word_token(*at, end, "true");
        type = NVT_JSON_TRUE;
        break;
    case 'f':
        token = word_token(*at, end, "false");
        type = NVT_JSON_FALSE;
        break;
    case 'n':
        token = word_token(*at, end, "null");
        type = NVT_JSON_NULL;
        break;
    default:
        if (**at != '-' && !nvt_json_is_digit(**at))
            return wrong(scan, "a value is missing");
        token = number_token(*at, end, is_last);
    }
    if (token.problem)
        return wrong(scan, token.problem);
    return token.end ? take_plain(scan, at, token, type) : NVT_JSON_MORE;
}

/* Behind a number that nobody wants, as most are written, and what follows it; NULL: the grammar has to look at it. */
static const char *unwanted_end(const char *at, const char *end)
{
    const char *const first = at;
    at += at < end && *at == '-';
    if (end - at < 2 || !nvt_json_is_digit(*at) || (*at == '0' && nvt_json_is_digit(at[1])))
        return NULL;
    while (at < end && nvt_json_is_digit(*at))
        at++;
    if (end - at > 1 && *at == '.' && nvt_json_is_digit(at[1]))
        for (at++; at < end && nvt_json_is_digit(*at);)
            at++;
    const int is_over = at < end && (*at == ',' || *at == '}' || nvt_json_is_blank(*at));
    return is_over && at - first <= NVT_JSON_TOKEN ? at : NULL;
}

/* The key behind a comma; NULL: something else is there. */
static const char *next_key(const char *at, const char *end)
{
    if (at == end || *at != ',')
        return NULL;
    at = nvt_json_blanks_end(at + 1, end);
    return at < end && *at == '"' ? at : NULL;
}

/* The key that is expected, up to its value: 1; 0: it is another, or its text is wanted; -1: the handler stops. */
static int take_known_key(struct nvt_json_scan *scan, const char **at, const char *end)
{
    const struct nvt_json_memo_key *key = scan->skipped || !scan->handler->known_key
                                              ? NULL
                                              : nvt_json_memo_next(&scan->memo, *at, end);
    const int answer =
        key ? scan->handler->known_key(scan->context, key->number) : NVT_JSON_TEXT_WANTED;
    if (answer < 0 || answer == NVT_JSON_TEXT_WANTED)
        return answer < 0 ? -1 : 0;
    scan->is_unwanted = answer == NVT_JSON_SKIP;
    scan->memo.last = (uint8_t)(key - scan->memo.keys);
    *at += key->size;
    return 1;
}

static void learn_key(struct nvt_json_scan *scan, const char *at, size_t size, const char *value)
{
    if (scan->skipped || !scan->handler->known_key)
        return;
    struct nvt_json_memo_key *key = nvt_json_memo_learn(&scan->memo, at, value);
    if (key && !key->number)
        key->number = scan->handler->number(at + 1, size - 2);
}

/* A key and its value, as far as that follows as is usual. */
static enum nvt_json_scanned scan_member(struct nvt_json_scan *scan, const char **at,
                                         const char *end, int is_last)
{
    const int known = take_known_key(scan, at, end);
    if (known < 0)
        return NVT_JSON_STOPPED;
    if (!known) {
        const char *const key = *at;
        const enum nvt_json_scanned status = scan_text(scan, at, end, 1);
        if (status != NVT_JSON_GOES_ON || end - *at < 3 || **at != ':')
            return status;
        const size_t size = (size_t)(*at - key);
        *at += (*at)[1] == ' ' ? 2 : 1;
        learn_key(scan, key, size, *at);
    }
    scan->expects = VALUE;
    const char *const behind = scan->is_unwanted ? unwanted_end(*at, end) : NULL;
    if (behind) {
        value_is_over(scan);
        *at = behind;
        return NVT_JSON_GOES_ON;
    }
    return nvt_json_is_blank(**at) ? NVT_JSON_GOES_ON : scan_value(scan, at, end, is_last);
}

/* Members from a key on, as far as they follow as is usual. */
static enum nvt_json_scanned scan_members(struct nvt_json_scan *scan, const char **at,
                                          const char *end, int is_last)
{
    for (;;) {
        const enum nvt_json_scanned status = scan_member(scan, at, end, is_last);
        const char *const key =
            status == NVT_JSON_GOES_ON && scan->expects == COMMA_OR_END ? next_key(*at, end) : NULL;
        if (!key)
            return status;
        scan->expects = KEY;
        *at = key;
    }
}

static enum nvt_json_scanned scan_comma_or_end(struct nvt_json_scan *scan, const char **at)
{
    const char c = **at;
    if (c == '}' || c == ']')
        return close_bracket(scan, at, c == ']');
    if (c != ',')
        return wrong(scan, "a comma or a bracket is missing");
    scan->expects = is_in_array(scan) ? ITEM : KEY;
    ++*at;
    return NVT_JSON_GOES_ON;
}

/* The token at `at`, which is no white space. */
static enum nvt_json_scanned scan_token(struct nvt_json_scan *scan, const char **at,
                                        const char *end, int is_last)
{
    switch ((enum expects)scan->expects) {
    case KEY_OR_END:
    case KEY:
        if (**at == '}' && scan->expects == KEY_OR_END)
            return close_bracket(scan, at, 0);
        return **at == '"' ? scan_members(scan, at, end, is_last) : wrong(scan, "a key is missing");
    case COLON:
        if (**at != ':')
            return wrong(scan, "a colon is missing");
        scan->expects = VALUE;
        ++*at;
        return NVT_JSON_GOES_ON;
    case COMMA_OR_END:
        return scan_comma_or_end(scan, at);
    case NOTHING:
        return wrong(scan, NVT_JSON_SEVERAL);
    case ITEM_OR_END:
        if (**at == ']')
            return close_bracket(scan, at, 1);
        break;
    case ITEM:
    case VALUE:
        break;
    }
    return scan_value(scan, at, end, is_last);
}

/* A colon or a comma right behind a token, as is usual. */
static const char *take_usual(struct nvt_json_scan *scan, const char *at)
{
    if (scan->expects == COLON && *at == ':') {
        scan->expects = VALUE;
        return at + 1;
    }
    if (scan->expects == COMMA_OR_END && *at == ',') {
        scan->expects = is_in_array(scan) ? ITEM : KEY;
        return at + 1;
    }
    return at;
}

enum nvt_json_scanned nvt_json_scan(struct nvt_json_scan *scan, const char *text, size_t size,
                                    int is_last)
{
    if (!text) /* of an empty buffer, to which nothing may be added */
        text = "";
    const char *const end = text + size, *at = text;
    enum nvt_json_scanned status = NVT_JSON_GOES_ON;
    scan->closed = NULL;
    while (status == NVT_JSON_GOES_ON) {
        at = nvt_json_blanks_end(at, end);
        if (at == end)
            break;
        status = scan_token(scan, &at, end, is_last);
        if (at < end)
            at = take_usual(scan, at);
    }
    scan->used = (size_t)(at - text);
    return status == NVT_JSON_GOES_ON ? NVT_JSON_MORE : status;
}

int nvt_json_scan_is_whole(const struct nvt_json_scan *scan)
{
    return scan->expects == NOTHING;
}

int nvt_json_scan_is_at_item(const struct nvt_json_scan *scan)
{
    return scan->expects == ITEM;
}

void nvt_json_scan_start_item(struct nvt_json_scan *scan, int depth)
{
    scan->depth = scan->base = depth;
    scan->arrays = (UINT64_C(1) << depth) - 1;
    scan->expects = ITEM;
    scan->skipped = scan->is_unwanted = 0;
}

void nvt_json_scan_end_item(struct nvt_json_scan *scan)
{
    value_is_over(scan);
}

void nvt_json_scan_free(struct nvt_json_scan *scan)
{
    nvt_buffer_free(&scan->plain);
}
