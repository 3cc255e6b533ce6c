/*
 * What `make install` puts in place: a tree that works wherever it is moved, nothing left by `make
 * uninstall`, a library that others' programs are built with, and one version everywhere.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/version.h"
#include "cli.h"

/* The build that is installed, for make, which takes it as it is (-o all). */
static char build[4200];
static char *directory;

static struct cli_result shell(const char *line)
{
    const char *const environment[] = {"MAKEFLAGS", "MAKELEVEL", "NVTALLY_LIBDIR", "DESTDIR", NULL};
    const char *const argv[] = {"sh", "-c", line, directory, build, NULL};
    struct cli_options options = {.environment = environment, .timeout_s = 300};
    struct cli_result result = cli_run_with(&options, argv);
    return result;
}

/* $0: our folder, $1: for make. What it printed, owned; it must have ended well. */
static char *output_of(const char *line)
{
    struct cli_result result = shell(line);
    if (result.status)
        fail_msg("'%s' ended with %d:\n%.2000s%.2000s", line, result.status, result.out,
                 result.err);
    char *text = strdup(result.out);
    cli_result_free(&result);
    return text;
}

static void run(const char *line)
{
    free(output_of(line));
}

static void expect(const char *line, const char *needle)
{
    char *text = output_of(line);
    if (!strstr(text, needle))
        fail_msg("'%s' did not print '%s' but:\n%.4000s", line, needle, text);
    free(text);
}

static int install(void **state)
{
    (void)state;
    directory = cli_tempdir();
    snprintf(build, sizeof(build), "BUILD=%s", cli_built(""));
    build[strlen(build) - 1] = 0; /* its last slash */
    run("make -s \"$1\" -o all install DESTDIR=\"$0/root\" PREFIX=/opt/nvtally");
    run("make -s \"$1\" -o all install PREFIX=\"$0/prefix\"");
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    cli_tempdir_remove(directory);
    return 0;
}

/* DESTDIR is in no file that was installed, and the program looks for its libraries from where it
 * lies. */
static void works_where_it_is_moved(void **state)
{
    (void)state;
    char line[5000];
    run("! grep -rqF \"$0/root\" \"$0/root\"");
    expect("cat \"$0/root/opt/nvtally/lib/pkgconfig/nvtally.pc\"", "prefix=/opt/nvtally\n");
    run("cp -r \"$0/root/opt/nvtally\" \"$0/moved here\"");
    expect("\"$0/moved here/bin/nvtally\" info", "moved here/lib/nvtally/libnvtally-inject.so");
    run("\"$0/moved here/bin/nvtally\" run linear --backend host --size 64 --batch 1 --iterations "
        "3 "
        "-o \"$0/out\"");
    expect("\"$0/moved here/bin/nvtally\" stats -r phases -f csv \"$0/out\"", "forward");
    snprintf(line, sizeof(line), "\"$0/moved here/bin/nvtally\" record -o \"$0/t.nvt\" -- %s 7 1",
             cli_client("nested"));
    run(line);
    expect("\"$0/moved here/bin/nvtally\" stats -f csv \"$0/t.nvt\"", "PushPop");
    expect("\"$0/moved here/bin/nvtally\" reference gpipe -f csv", "published");
}

/* Each command has its page, and each page the version; man(1) takes it without a complaint. */
static void has_manual_pages(void **state)
{
    (void)state;
    struct cli_result found = shell("command -v scdoc");
    int none = found.status;
    cli_result_free(&found);
    if (none) {
        printf("there is no scdoc here, so there are no manual pages\n");
        skip();
    }
    expect("ls \"$0/prefix/share/man/man1\" | wc -l", "20\n");
    expect("grep -L '^\\.TH \"nvtally[a-z-]*\" \"1\" \"[0-9-]*\" \"nvtally " NVT_VERSION "\"$' "
           "\"$0/prefix/share/man/man1/\"* | wc -l",
           "0\n");
    run("! command -v man >/dev/null || ! MANROFFSEQ= man --warnings -E UTF-8 -l -Tutf8 "
        "\"$0/prefix/share/man/man1/\"*.1 2>&1 >/dev/null | grep .");
}

static void completes_in_every_shell(void **state)
{
    (void)state;
    run("cmp completion/nvtally.bash \"$0/prefix/share/bash-completion/completions/nvtally\"");
    run("cmp completion/_nvtally \"$0/prefix/share/zsh/site-functions/_nvtally\"");
    run("cmp completion/nvtally.fish \"$0/prefix/share/fish/vendor_completions.d/nvtally.fish\"");
}

/* Every link of the documents that were installed leads to one that was, or to a file of the
 * sources. */
static void documents_are_together(void **state)
{
    (void)state;
    run("cd \"$0/prefix/share/doc/nvtally\" && test -s copyright && test -s CHANGELOG.md && for "
        "link in $(grep -o "
        "'](docs/[^)#]*)' README.md | tr -d '()]'); do test -s \"$link\" || { echo $link; exit 1; "
        "}; done");
}

static char *find_headers(void)
{
    static const char *const places[] = {"/usr/include", "/usr/local/cuda/include",
                                         ".deps/nvidia/*/include"};
    glob_t found = {0};
    char pattern[256], *folder = NULL;
    for (size_t i = 0; i < NVT_COUNT_OF(places); i++) {
        snprintf(pattern, sizeof(pattern), "%s/nvtx3/nvToolsExt.h", places[i]);
        glob(pattern, i ? GLOB_APPEND : 0, NULL, &found);
    }
    if (found.gl_pathc)
        folder =
            strndup(found.gl_pathv[0], strlen(found.gl_pathv[0]) - strlen("/nvtx3/nvToolsExt.h"));
    globfree(&found);
    return folder;
}

/* The command line of docs/library.md builds the example, which then finds the library and the
 * collector. */
static void others_build_with_it(void **state)
{
    (void)state;
    char *document = cli_read_file("docs/library.md", NULL), *headers = find_headers(), line[9000];
    struct cli_result found = shell("command -v pkg-config");
    int none = found.status || !headers;
    cli_result_free(&found);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    none = 1; /* the library wants the sanitizer's runtime, which a plain program has not */
#endif
    if (none) {
        free(document);
        free(headers);
        skip();
        return;
    }
    const char *command = strstr(document, "$ cc ");
    assert_non_null(command);
    run("test \"$(PKG_CONFIG_PATH=\"$0/prefix/lib/pkgconfig\" pkg-config --modversion nvtally)\" "
        "= " NVT_VERSION);
    snprintf(line, sizeof(line),
             "h='%s'; case $h in /*) ;; *) h=$PWD/$h;; esac; cp examples/range_stats.c \"$0\" && "
             "cd \"$0\" && "
             "export CPATH=\"$h\" PKG_CONFIG_PATH=\"$0/prefix/lib/pkgconfig\" && %.*s && "
             "LD_LIBRARY_PATH=\"$0/prefix/lib\" ./range_stats",
             headers, (int)strcspn(command + 2, "\n"), command + 2);
    expect(line, "work: 100 times, ");
    free(document);
    free(headers);
}

/* The module of Python finds the library and the program that it was installed with. */
static void python_takes_it(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* Python has no sanitizer's runtime */
#endif
    expect("PYTHONPATH=\"$0/prefix/lib/python3/dist-packages\" PYTHONDONTWRITEBYTECODE=1 python3 "
           "-c 'import nvtally; print(nvtally.version())'",
           NVT_VERSION "\n");
    expect("PYTHONPATH=\"$0/prefix/lib/python3/dist-packages\" PYTHONDONTWRITEBYTECODE=1 python3 "
           "-c 'from nvtally._library import program; print(program())'",
           "/prefix/bin/nvtally\n");
    expect("PKG_CONFIG_PATH=\"$0/prefix/lib/pkgconfig\" pkg-config --libs nvtally-trace",
           "-lnvtally-trace");
}

/* lib/version.h is the one place. */
static void has_one_version(void **state)
{
    (void)state;
    char *changes = cli_read_file("CHANGELOG.md", NULL), newest[32];
    const char *heading = strstr(changes, "\n## ");
    assert_non_null(heading);
    assert_int_equal(sscanf(heading, " ## %31[0-9.]", newest), 1);
    assert_string_equal(newest, NVT_VERSION);
    free(changes);
    expect("\"$0/prefix/bin/nvtally\" --version", "nvtally " NVT_VERSION "\n");
    expect("cat \"$0/prefix/lib/pkgconfig/nvtally.pc\"", "\nVersion: " NVT_VERSION "\n");
    expect("grep -aoFm1 " NVT_VERSION " \"$0/prefix/lib/libnvtally.so.0\"", NVT_VERSION);
    expect("make -s \"$1\" -o all -n deb", "packaging/deb " NVT_VERSION " ");
    /* Nobody else has it written down. */
    run("! git -C . grep -lF 'nvtally " NVT_VERSION
        "' -- '*.c' '*.h' '*.mk' Makefile packaging setup "
        "docs/man completion 2>/dev/null | grep .");
}

static void is_removed_again(void **state)
{
    (void)state;
    run("make -s \"$1\" -o all uninstall DESTDIR=\"$0/root\" PREFIX=/opt/nvtally");
    expect("find \"$0/root\" ! -type d | wc -l", "0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_where_it_is_moved),  cmocka_unit_test(has_manual_pages),
        cmocka_unit_test(completes_in_every_shell), cmocka_unit_test(documents_are_together),
        cmocka_unit_test(others_build_with_it),     cmocka_unit_test(python_takes_it),
        cmocka_unit_test(has_one_version),          cmocka_unit_test(is_removed_again),
    };
    return cmocka_run_group_tests(tests, install, remove_all);
}
