#include "program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/program.h"

/* The beginning of a file: its headers, as a rule. Bytes read. */
static size_t read_start(const char *path, uint8_t *start, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, start, size);
    if (file >= 0)
        close(file);
    return got > 0 ? (size_t)got : 0;
}

/* The program that runs a script: "#!/bin/sh", "#!/usr/bin/env python3". Whether there is one. */
static int read_script(const uint8_t *start, size_t size, char *program, size_t most)
{
    char line[256], *rest = line;
    if (size < 3 || memcmp(start, "#!", 2) != 0)
        return 0;
    snprintf(line, sizeof(line), "%.*s", (int)(size - 2 < 250 ? size - 2 : 250), start + 2);
    line[strcspn(line, "\n")] = 0;
    const char *first = strtok_r(rest, " \t", &rest);
    const char *second = first ? strtok_r(rest, " \t", &rest) : NULL;
    const char *slash = first ? strrchr(first, '/') : NULL;
    const char *runs = slash && !strcmp(slash, "/env") && second ? second : first;
    return runs && !nvt_command_find(runs, program, most);
}

/* The loader that the program names, "" for none. 0, or -1: it is not in what was read. */
static int find_loader(const uint8_t *start, size_t size, char *loader, size_t most)
{
    Elf64_Ehdr header;
    *loader = 0;
    memcpy(&header, start, sizeof(header));
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        const uint64_t at = header.e_phoff + i * sizeof(part);
        if (header.e_phoff > size || at + sizeof(part) > size)
            return -1;
        memcpy(&part, start + at, sizeof(part));
        if (part.p_type != PT_INTERP)
            continue;
        if (part.p_offset >= size || part.p_filesz >= size - part.p_offset)
            return -1;
        snprintf(loader, most, "%.*s", (int)part.p_filesz, (const char *)start + part.p_offset);
        return 0;
    }
    return 0;
}

static int is_foreign(const char *loader)
{
    static const char glibc[] = "ld-linux";
    const char *slash = strrchr(loader, '/');
    return *loader && strncmp(slash ? slash + 1 : loader, glibc, strlen(glibc)) != 0;
}

/* What the kernel runs a script with: the first word of its first line, behind "#!". Whether there is one. */
static int read_interpreter(const uint8_t *start, size_t size, char *name, size_t most)
{
    static const char blanks[] = " \t";
    const char *text = (const char *)start;
    size_t at = 2;
    if (size < 3 || memcmp(start, "#!", 2) != 0)
        return 0;
    while (at < size && strchr(blanks, text[at]) && text[at])
        at++;
    size_t end = at;
    while (end < size && text[end] && text[end] != '\n' && !strchr(blanks, text[end]))
        end++;
    snprintf(name, most, "%.*s", (int)(end - at), text + at);
    return *name != 0;
}

const char *nvt_program_lacks(const char *command, char *text, size_t size)
{
    char path[PATH_MAX], runs[256];
    uint8_t start[2048];
    if (nvt_command_find(command, path, sizeof(path)))
        return NULL;
    const size_t got = read_start(path, start, sizeof(start));
    if (read_interpreter(start, got, runs, sizeof(runs))) {
        const size_t length = strlen(runs);
        const int is_dos = runs[length - 1] == '\r';
        if (!access(runs, X_OK))
            return NULL;
        snprintf(text, size, "its first line names the interpreter %.*s%s, which %s",
                 (int)(length - (size_t)is_dos), runs,
                 is_dos ? " with a carriage return behind it (a file of Windows)" : "",
                 access(runs, F_OK) ? "is not there" : "cannot be executed");
        return text;
    }
    if (got < sizeof(Elf64_Ehdr) || memcmp(start, ELFMAG, SELFMAG) != 0 ||
        start[EI_CLASS] != ELFCLASS64 || find_loader(start, got, runs, sizeof(runs)) || !*runs ||
        !access(runs, F_OK))
        return NULL;
    snprintf(text, size, "its loader %s is not there (a program of another libc or machine?)",
             runs);
    return text;
}

int nvt_program_is_foreign(const char *path, char *loader, size_t size)
{
    uint8_t start[8192];
    const size_t got = read_start(path, start, sizeof(start));
    return got >= sizeof(Elf64_Ehdr) && !memcmp(start, ELFMAG, SELFMAG) &&
           start[EI_CLASS] == ELFCLASS64 && !find_loader(start, got, loader, size) &&
           is_foreign(loader);
}

const char *nvt_program_obstacle(const char *command, char *text, size_t size)
{
    char path[PATH_MAX], program[PATH_MAX], loader[PATH_MAX];
    uint8_t start[8192];
    if (nvt_command_find(command, path, sizeof(path)))
        return NULL;
    size_t got = read_start(path, start, sizeof(start));
    if (read_script(start, got, program, sizeof(program))) {
        snprintf(path, sizeof(path), "%s", program);
        got = read_start(path, start, sizeof(start));
    }
    if (got < sizeof(Elf64_Ehdr) || memcmp(start, ELFMAG, SELFMAG) != 0)
        return NULL;
    struct stat status;
    const int is_64 = start[EI_CLASS] == ELFCLASS64;
    const int is_read = is_64 && !find_loader(start, got, loader, sizeof(loader));
    if (!is_64)
        snprintf(text, size, "%s is a 32-bit program", path);
    else if (is_read && !*loader)
        snprintf(text, size, "%s is statically linked", path);
    else if (is_read && is_foreign(loader))
        snprintf(text, size, "%s is a program of another libc (%s)", path, loader);
    else if (is_read && geteuid() && !stat(path, &status) && status.st_mode & (S_ISUID | S_ISGID))
        snprintf(text, size, "%s is setuid", path);
    else
        return NULL;
    return text;
}

/* What NVTX's headers look for, and so have in them. */
static int has_nvtx(const char *path)
{
    static const char variable[] = "NVTX_INJECTION64_PATH";
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    const size_t size = fstat(file, &status) || status.st_size <= 0 ? 0 : (size_t)status.st_size;
    void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return 0;
    const int is_there = memmem(bytes, size, variable, sizeof(variable)) != NULL;
    munmap(bytes, size);
    return is_there;
}

int nvt_program_is_static_nvtx(const char *command)
{
    char path[PATH_MAX], loader[PATH_MAX];
    uint8_t start[8192];
    if (nvt_command_find(command, path, sizeof(path)))
        return 0;
    const size_t got = read_start(path, start, sizeof(start));
    return got >= sizeof(Elf64_Ehdr) && !memcmp(start, ELFMAG, SELFMAG) &&
           start[EI_CLASS] == ELFCLASS64 && !find_loader(start, got, loader, sizeof(loader)) &&
           !*loader && has_nvtx(path);
}
