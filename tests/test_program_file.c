/*
 * What a command's name stands for, and what keeps the collector out of it; the words for a command that is not there, that crashed,
 * or that could not be recorded.
 */
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/program_file.h"
#include "../lib/count_of.h"
#include "cli.h"
#include "random_kit.h"

#define GLIBC "/lib64/ld-linux-x86-64.so.2"

/* A program of nothing but its headers; without a loader where that is NULL. */
struct program {
    Elf64_Ehdr header;
    Elf64_Phdr parts[2];
    char loader[64];
};

static struct program program_of(const char *loader)
{
    struct program program = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                   .e_phoff = offsetof(struct program, parts),
                   .e_phnum = 2},
        .parts = {{.p_type = PT_LOAD},
                  {.p_type = loader ? PT_INTERP : PT_NOTE,
                   .p_offset = offsetof(struct program, loader),
                   .p_filesz = loader ? strlen(loader) + 1 : 0}},
    };
    snprintf(program.loader, sizeof(program.loader), "%s", loader ? loader : "");
    return program;
}

static const char *put(const char *name, const void *data, size_t size)
{
    const char *path = cli_in(cli_folder, name);
    cli_write_file(path, data, size);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* NULL: there must be no obstacle. */
static void expect(const char *path, const char *said)
{
    char text[5000];
    const char *why = nvt_program_obstacle(path, text, sizeof(text));
    if (!said != !why || (said && !strstr(why, said)))
        fail_msg("%s: %s, not %s", path, why ? why : "nothing", said ? said : "nothing");
}

static void programs(void **state)
{
    (void)state;
    static const struct {
        const char *loader, *said;
    } cases[] = {{GLIBC, NULL},
                 {"/nix/store/abc-glibc/lib/ld-linux-x86-64.so.2", NULL},
                 {"/lib/ld-linux-aarch64.so.1", NULL},
                 {"/lib/ld-musl-x86_64.so.1", "is a program of another libc (/lib/ld-musl-x86_64"},
                 {"/system/bin/linker64", "another libc (/system/bin/linker64)"},
                 {NULL, "is statically linked"}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct program program = program_of(cases[i].loader);
        const char *path = put("program", &program, sizeof(program));
        expect(path, cases[i].said);
        program.header.e_ident[EI_CLASS] = ELFCLASS32;
        expect(put("program", &program, sizeof(program)), "is a 32-bit program");
    }
    /* Of the real ones. */
    expect("sh", NULL);
    expect(cli_client("life"), NULL);
    expect("/nowhere", NULL);
    expect("/", NULL);
}

/* What keeps the kernel from starting a file that is there; NULL: nothing of the file. */
static void expect_lack(const char *path, const char *said)
{
    char text[512];
    const char *why = nvt_program_lacks(path, text, sizeof(text));
    if (!said != !why || (said && !strstr(why, said)))
        fail_msg("%s: %s, not %s", path, why ? why : "nothing", said ? said : "nothing");
}

static void programs_that_lack_something(void **state)
{
    (void)state;
    struct program program = program_of("/lib/ld-of-nobody.so.1");
    expect_lack(put("program", &program, sizeof(program)),
                "its loader /lib/ld-of-nobody.so.1 is not there");
    program = program_of(NULL);
    expect_lack(put("program", &program, sizeof(program)), NULL);
    static const char *const none[] = {"", "#", "#!", "#!\n", "#!   ", "#!/bin/sh", "echo 1"};
    for (size_t i = 0; i < NVT_COUNT_OF(none); i++)
        expect_lack(put("script", none[i], strlen(none[i])), NULL);
    expect_lack(put("script", "#!/nowhere", 10), "the interpreter /nowhere, which is not there");
    expect_lack("sh", NULL);
    expect_lack("/nowhere", NULL);
}

static void scripts_are_what_runs_them(void **state)
{
    (void)state;
    struct program musl = program_of("/lib/ld-musl-x86_64.so.1");
    char text[600];
    const char *program = put("musl", &musl, sizeof(musl));
    static const char *const ways[] = {"#!%s", "#!%s\n", "#! \t%s -x y\n", "#!/usr/bin/env %s\nx"};
    for (size_t i = 0; i < NVT_COUNT_OF(ways); i++) {
        snprintf(text, sizeof(text), ways[i], program);
        expect(put("script", text, strlen(text)), "musl is a program of another libc");
    }
    static const char *const others[] = {
        "", "#", "#!", "#!\n", "#!   ", "#!/nowhere", "echo 1", "#!/bin/sh", "#!/usr/bin/env sh"};
    for (size_t i = 0; i < NVT_COUNT_OF(others); i++)
        expect(put("script", others[i], strlen(others[i])), NULL);
}

/* Headers that lie are of no program that we know. */
static void broken_programs(void **state)
{
    (void)state;
    char text[5000];
    kit_srand(0);
    for (int i = 0; i < 3000; i++) {
        struct program program = program_of(i % 2 ? GLIBC : NULL);
        unsigned char *bytes = (unsigned char *)&program;
        for (int k = rand() % 8; k > 0; k--)
            bytes[4 + (size_t)rand() % (sizeof(program) - 4)] = (unsigned char)rand();
        size_t size = (size_t)rand() % (sizeof(program) + 1);
        const char *path = put("broken", &program, size);
        const char *why = nvt_program_obstacle(path, text, sizeof(text));
        assert_true(!why || strlen(why) < sizeof(text));
        why = nvt_program_lacks(path, text, sizeof(text));
        assert_true(!why || strlen(why) < sizeof(text));
    }
}

static struct cli_result run(const char *const rest[])
{
    const char *argv[16] = {cli_built("nvtally"), "record"};
    for (size_t count = 2; *rest; count++)
        argv[count] = *rest++;
    return cli_run_with(&(const struct cli_options){.directory = cli_folder}, argv);
}
#define RECORD(...) run((const char *const[]){__VA_ARGS__, NULL})

static void commands_that_are_not_there(void **state)
{
    (void)state;
    static const struct {
        const char *python, *command, *said;
    } cases[] = {{"--python", "nope.py", "nope.py: No such file or directory"},
                 {"--python", "./nope.py", "./nope.py: No such file or directory"},
                 {"--", "nope.py", "nope.py: No such file or directory"},
                 {"--", "nope", "nope: command not found"},
                 {"--python", "nope", "nope: command not found"},
                 {"--", "tool", "tool: command not found, but there is ./tool"},
                 {"--python", "tool", "nvtally record --python -- python3 tool runs it"},
                 {"--", "./orphan",
                  "./orphan: its first line names the interpreter /no/such/sh, which is not there"},
                 {"--python", "./orphan", "the interpreter /no/such/sh, which is not there"},
                 {"--", "./folder", "the interpreter /etc/passwd, which cannot be executed"},
                 {"--", "./dos", "/bin/sh with a carriage return behind it (a file of Windows)"}};
    put("tool", "#!/bin/sh\n", 10);
    put("orphan", "#! /no/such/sh -e\n", 18);
    put("folder", "#!/etc/passwd\n", 14);
    put("dos", "#!/bin/sh\r\n", 11);
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        struct cli_result result = RECORD(cases[i].python, cases[i].command);
        cli_expect_failure(&result, cases[i].said);
        cli_result_free(&result);
    }
}

static void a_crash_is_named(void **state)
{
    (void)state;
    struct cli_result result = RECORD("-f", "--trace", "nvtx", cli_client("life"), "segv");
    assert_int_equal(result.signal, SIGSEGV);
    if (!strstr(result.err, "the command was ended by signal 11 (Segmentation fault)\n"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
    /* What it was asked for through us needs no word. */
    result = RECORD("-f", "--trace", "nvtx", "sh", "-c", "kill -TERM $PPID; sleep 20");
    assert_int_equal(result.signal, SIGTERM);
    assert_null(strstr(result.err, "was ended by signal"));
    cli_result_free(&result);
}

static void a_static_program_is_named(void **state)
{
    (void)state;
    struct cli_result result =
        cli_run_with(&(const struct cli_options){.directory = cli_folder},
                     (const char *const[]){"sh", "-c",
                                           "echo 'int main(void) { return 3; }' >static.c && "
                                           "gcc -static static.c -o static 2>/dev/null || exit 77",
                                           NULL});
    int is_there = result.status == 0;
    cli_result_free(&result);
    if (!is_there) {
        print_message("nothing can be linked statically here: not run\n");
        skip();
    }
    static const char *const levels[] = {"nvtx", "nvtx,osrt,cpu", "cuda"};
    for (size_t i = 0; i < NVT_COUNT_OF(levels); i++) {
        result = RECORD("-f", "--trace", levels[i], "./static");
        cli_expect_status(&result, 3);
        if (!strstr(result.err, "\nnvtally: nothing of the command was recorded: ./static is "
                                "statically linked, and it loaded no collector\n") ||
            strstr(result.err, "drops LD_PRELOAD") || strstr(result.err, "no NVTX calls"))
            fail_msg("%s", result.err);
        cli_result_free(&result);
    }
}

/* It would load the collector with the machine's glibc, and crash where that is of another version than its own. */
static void a_static_program_with_nvtx_runs_as_ever(void **state)
{
    (void)state;
    if (access(cli_client("life-static"), X_OK)) {
        print_message("nothing can be linked statically here: not run\n");
        skip();
    }
    assert_true(nvt_program_is_static_nvtx(cli_client("life-static")));
    assert_false(nvt_program_is_static_nvtx(cli_client("life")));
    struct cli_result result =
        RECORD("-f", "--trace", "nvtx,osrt,cpu", cli_client("life-static"), "plain");
    cli_expect_status(&result, 3);
    if (!strstr(result.err, "life-static is statically linked, and it loaded no collector\n"))
        fail_msg("%s", result.err);
    cli_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_static_program_with_nvtx_runs_as_ever),
        cmocka_unit_test(programs),
        cmocka_unit_test(programs_that_lack_something),
        cmocka_unit_test(scripts_are_what_runs_them),
        cmocka_unit_test(broken_programs),
        cmocka_unit_test(commands_that_are_not_there),
        cmocka_unit_test(a_crash_is_named),
        cmocka_unit_test(a_static_program_is_named),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}
