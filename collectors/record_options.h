/*
 * The command line of `record`.
 */
#ifndef NVT_RECORD_OPTIONS_H
#define NVT_RECORD_OPTIONS_H

#include "session.h"

struct nvt_record_request {
    struct nvt_record_options options; /* output: as it was given, with its placeholders */
    /* levels of --trace that were named one by one: where nothing of them comes, that is said */
    uint64_t asked;
    int wants_pytorch; /* --pytorch was given; a preset adds it where there is PyTorch */
    int is_none;       /* --trace none: what else was named, and nothing by default */
    int is_python;     /* a preset: the command may be a Python script */
    char **command;    /* behind the options; NULL-terminated, of argv */
    /* what was asked for in nsys's words and is not done: whole lines for stderr */
    char notes[1024];
};

/* What --help prints. */
extern const char nvt_record_usage[];

/* 0 to go on, 1 when --help was answered on stdout, -1 with err. What was not given has its default. */
int nvt_record_options_parse(int argc, char **argv, struct nvt_record_request *request,
                             struct nvt_error *err);

#endif
