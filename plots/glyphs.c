#include "glyphs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/buffer.h"
#include "../lib/create_file.h"
#include "../lib/program.h"
#include "../lib/text.h"
#include "document.h"

#define CHARACTERS 0x110000u
#define MISSING    0x25A1u

/* What fonts have, a bit a character; and what was replaced. */
static struct {
    uint8_t has[CHARACTERS / 8];
    int is_read, is_known;
    size_t replaced;
    uint32_t example;
} fonts;

/* What our own texts are made of, and whatever has fonts for these: no need to ask for that. */
static int is_common(uint32_t character)
{
    return character < 0x250 || (character >= 0x2010 && character <= 0x2026);
}

static int is_missing(uint32_t character)
{
    return !is_common(character) && nvt_char_width(character) > 0 && character < CHARACTERS &&
           !(fonts.has[character / 8] >> character % 8 & 1);
}

/* "20-7e a0 …", hexadecimal. */
static void add_ranges(const char *text, const char *end)
{
    while (text < end) {
        char *next;
        unsigned long first = strtoul(text, &next, 16), last = first;
        if (next == text || next > end)
            return;
        if (*next == '-')
            last = strtoul(next + 1, &next, 16);
        for (unsigned long i = first; i <= last && i < CHARACTERS; i++)
            fonts.has[i / 8] |= (uint8_t)(1u << i % 8);
        text = next + (*next == ' ');
    }
}

/* Lines ":charset=RANGES", one a font. */
static void add_fonts(const char *text)
{
    static const char key[] = "charset=";
    for (const char *at = text; (at = strstr(at, key)) != NULL;) {
        at += sizeof(key) - 1;
        const char *end = at + strcspn(at, "\n:");
        add_ranges(at, end);
        fonts.is_known = 1;
        at = end;
    }
}

/* All of a descriptor, with a terminator. 0, or -1 when out of memory. */
static int read_all(int from, struct nvt_buffer *text)
{
    char piece[65536];
    int status = 0;
    for (ssize_t got; (got = read(from, piece, sizeof(piece))) > 0 || (got < 0 && errno == EINTR);)
        if (got > 0)
            status |= nvt_buffer_append(text, piece, (size_t)got);
    return status || nvt_buffer_append(text, "", 1) ? -1 : 0;
}

/* Ask fontconfig, once. */
static void read_fonts(void)
{
    int out[2];
    char path[PATH_MAX];
    if (fonts.is_read || nvt_find_program("fc-list", path, sizeof(path)) || pipe2(out, O_CLOEXEC))
        return;
    fonts.is_read = 1;
    char program[] = "fc-list", all[] = ":", what[] = "charset",
         *arguments[] = {program, all, what, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, path, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    struct nvt_buffer text = {0};
    if (!failed && !read_all(out[0], &text))
        add_fonts((const char *)text.data);
    close(out[0]);
    while (!failed && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    nvt_buffer_free(&text);
}

static int has_others(const char *text)
{
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;)
        if (!is_common(character))
            return 1;
    return 0;
}

/* Whether a character was not asked for before. */
static int is_first(uint32_t character)
{
    static unsigned char seen[0x110000 / 8];
    const unsigned char bit = (unsigned char)(1u << character % 8);
    const int is_new = !(seen[character / 8] & bit);
    seen[character / 8] |= bit;
    return is_new;
}

static int write_text(const char *path, const char *text, struct nvt_error *err)
{
    FILE *out = nvt_create_stream(path);
    if (!out)
        return nvt_fail_at(err, path, -1, "cannot be opened: %s", strerror(errno));
    for (uint32_t character; (character = nvt_utf8_next(&text)) != 0;) {
        const int missing = is_missing(character);
        nvt_utf8_write(missing ? MISSING : character, out);
        fonts.replaced += missing && is_first(character);
        fonts.example = missing && !fonts.example ? character : fonts.example;
    }
    return nvt_stream_end(out, path, 0, err);
}

int nvt_glyphs_replace(const char *path, struct nvt_error *err)
{
    size_t size;
    char *text = nvt_document_read(path, &size, err);
    if (!text)
        return -1;
    int status = 0;
    if (has_others(text))
        read_fonts();
    int missing = 0;
    for (const char *at = text; fonts.is_known && !missing && *at;)
        missing = is_missing(nvt_utf8_next(&at));
    if (missing)
        status = write_text(path, text, err);
    free(text);
    return status;
}

void nvt_glyphs_note(const char *format)
{
    if (!fonts.replaced)
        return;
    fprintf(stderr, "nvtally: note: no font here has %zu character%s of the charts (",
            fonts.replaced, fonts.replaced == 1 ? "" : "s");
    nvt_utf8_write(nvt_char_visible(fonts.example), stderr);
    fprintf(stderr, "%s): %s has an empty square in their place, svg has the characters\n",
            fonts.replaced == 1 ? "" : " …", format);
}
