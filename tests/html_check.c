#include "html_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        count++;
    return count;
}

struct html {
    const char *text;
    char stack[64][32];
    size_t depth;
    char ids[4000][40];
    size_t id_count;
};

static void take_attribute(struct html *html, const char *name, size_t name_size, const char *value,
                           size_t size)
{
    char id[40] = "";
    if (name_size == 2 && !strncmp(name, "id", 2)) {
        assert_true(size && size < sizeof(id) && html->id_count < 4000);
        snprintf(id, sizeof(id), "%.*s", (int)size, value);
        for (size_t i = 0; i < html->id_count; i++)
            if (!strcmp(html->ids[i], id))
                fail_msg("the id %s stands there twice", id);
        memcpy(html->ids[html->id_count++], id, sizeof(id));
    }
    /* Nothing is loaded, and no link leads out of the document. */
    if ((name_size >= 4 && !strncmp(name + name_size - 4, "href", 4)))
        assert_int_equal(*value, '#');
    assert_false(name_size == 3 && !strncmp(name, "src", 3));
    assert_false(name_size > 2 && name[0] == 'o' && name[1] == 'n');
    /* What is only read may name anything. */
    if (memmem(value, size, "://", 3) && strncmp(name, "title", name_size) != 0)
        assert_int_equal(strncmp(name, "xmlns", 5), 0);
}

/* The attributes behind a tag's name; returns the '>' or "/>" that ends it. */
static const char *take_attributes(struct html *html, const char *at)
{
    for (;;) {
        at += strspn(at, " \t\n");
        if (*at == '>' || !strncmp(at, "/>", 2))
            return at;
        const char *name = at;
        size_t size = strcspn(at, "= \t\n>");
        at += size + strspn(at + size, " \t\n");
        if (*at != '=')
            continue;
        at += strspn(at + 1, " ");
        char quote = at[1];
        assert_true(quote == '"' || quote == '\'');
        const char *value = at + 2, *end = strchr(value, quote);
        assert_non_null(end);
        take_attribute(html, name, size, value, (size_t)(end - value));
        at = end + 1;
    }
}

static void take_tag(struct html *html, const char **at)
{
    char name[32] = "";
    int closes = (*at)[1] == '/';
    const char *start = *at + 1 + closes;
    size_t size = strcspn(start, " \t\n/>");
    assert_true(size && size < sizeof(name));
    snprintf(name, sizeof(name), "%.*s", (int)size, start);
    const char *end = take_attributes(html, start + size);
    if (closes) {
        if (!html->depth || strcmp(html->stack[html->depth - 1], name))
            fail_msg("</%s> closes <%s>", name, html->depth ? html->stack[html->depth - 1] : "");
        html->depth--;
    } else if (*end == '>' && strcmp(name, "meta")) {
        assert_true(html->depth < 64);
        memcpy(html->stack[html->depth++], name, sizeof(name));
    }
    *at = end + (*end == '/') + 1;
    /* What stands in these two is no markup. */
    if (!closes && (!strcmp(name, "script") || !strcmp(name, "style"))) {
        *at = strstr(*at, !strcmp(name, "script") ? "</script>" : "</style>");
        assert_non_null(*at);
    }
}

void expect_html(const char *text)
{
    struct html *html = calloc(1, sizeof(*html));
    assert_non_null(html);
    assert_int_equal(strncmp(text, "<!DOCTYPE html>\n", 16), 0);
    for (const char *at = text + 16; *at;) {
        if (*at == '<')
            take_tag(html, &at);
        else
            at += strcspn(at, "<");
    }
    assert_int_equal(html->depth, 0);
    assert_int_equal(count_of(text, "<script>"), 1);
    assert_int_equal(count_of(text, "<script type=\"application/json\" id=\""),
                     count_of(text, "<script") - 1);
    assert_int_equal(count_of(text, "<img"), 0);
    assert_int_equal(count_of(text, "@import"), 0);
    assert_non_null(strstr(text, "default-src 'none'"));
    free(html);
}
