/*
 * Buffers of CUPTI that are kept as files: those of a run on a made-up device come back as they were, and so do those that a
 * device has filled (tests/cupti/recorded), as far as there are any.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#ifndef HAVE_CUPTI

int main(void)
{
    puts("built without CUPTI's headers: there are no buffers to be kept");
    return 0;
}

#else

#include "../collectors/cupti_keep.h"
#include "cupti_kit.h"
#include "record_kit.h"

enum { KINDS = 64 };

#define RECORDED "tests/cupti/recorded/*.buffer"

/* Rows by kind of a kept buffer, with the decoder that the kit has by now. */
static uint64_t decode_file(const char *path, uint64_t counts[KINDS])
{
    struct nvt_cupti_kept kept;
    uint8_t *data = nvt_cupti_kept_read(path, cupti.decoder.next, &kept);
    if (!data) {
        fail_msg("%s: %s", path, strerror(errno));
        return 0;
    }
    const uint64_t unknown = cupti_decode(data + sizeof(kept), (size_t)kept.size, 1 << 20);
    for (size_t i = 0; i < cupti.count; i++) {
        assert_true(cupti.rows[i].kind < KINDS);
        counts[cupti.rows[i].kind]++;
    }
    free(data);
    return unknown;
}

/* The walk of the stand-in, which has filled them. */
static void use_stand_in(void)
{
    static void *library;
    library = library ? library : dlopen(cli_built("tests/libcupti-stand-in.so"), RTLD_NOW);
    assert_non_null(library);
    *(void **)&cupti.decoder.next = dlsym(library, "cuptiActivityGetNextRecord");
    *(void **)&cupti.decoder.callback_name = dlsym(library, "cuptiGetCallbackName");
    assert_non_null(cupti.decoder.next);
}

/* `record` of a program on the made-up device, which leaves its buffers in `folder`. */
static struct nvt_trace *record_keeping(const char *folder, char **messages)
{
    char stand_in[600], keep[600];
    const char *path = cli_in(cli_folder, "kept.nvt");
    snprintf(stand_in, sizeof(stand_in), "NVTALLY_CUPTI=%s",
             cli_built("tests/libcupti-stand-in.so"));
    snprintf(keep, sizeof(keep), "NVTALLY_KEEP_BUFFERS=%s", folder);
    const char *environment[] = {stand_in, keep, "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                 NULL};
    const struct cli_options options = {.environment = environment};
    struct cli_result result = cli_run_with(
        &options, (const char *const[]){"nvtally", "record", "--trace", "full", "-o", path, "--",
                                        cli_client("device"), "plain", NULL});
    cli_expect_status(&result, 0);
    if (messages)
        *messages = strdup(result.err);
    cli_result_free(&result);
    return recorded_trace_at(path);
}

/* What is in the files is what is in the trace. */
static void buffers_come_back_as_they_were(void **state)
{
    (void)state;
    uint64_t counts[KINDS] = {0}, unknown = 0;
    const char *folder = strdup(cli_in(cli_folder, "kept"));
    glob_t files;
    assert_int_equal(mkdir(folder, 0700), 0);
    struct nvt_trace *trace = record_keeping(folder, NULL);
    use_stand_in();
    char *pattern = strdup(cli_in(folder, "cupti-*.buffer"));
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    int is_named = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        unknown += decode_file(files.gl_pathv[i], counts);
        for (size_t row = 0; row < cupti.count; row++)
            for (int name = 0; name < CUPTI_NAMES; name++)
                is_named |= cupti.names[row][name] &&
                            !strcmp(cupti.names[row][name], "_ZN3lib6kernelIfEEvPT_i");
    }
    print_message("%zu buffers, %llu kernels\n", files.gl_pathc,
                  (unsigned long long)counts[NVT_DEVICE_KERNEL]);
    assert_int_equal(unknown, 0);
    uint64_t kernels = 0;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        kernels += trace->ops.kind[i] == NVT_OP_KERNEL;
    assert_true(kernels > 0);
    assert_int_equal(counts[NVT_DEVICE_KERNEL], kernels);
    assert_int_equal(counts[NVT_DEVICE_API], trace->apis.count);
    assert_int_equal(counts[NVT_DEVICE_OVERHEAD], trace->overheads.count);
    assert_true(is_named);
    struct cli_result result =
        cli_run((const char *const[]){"nvtally", "stats", "-r", "profiler_overhead_sum", "-f",
                                      "csv", cli_in(cli_folder, "kept.nvt"), NULL});
    cli_expect_status(&result, 0);
    if (!strstr(result.out, "100.0,40,1,40.0,40.0,40,40,0.0,Resource creation/destruction"))
        fail_msg("%s", result.out);
    cli_result_free(&result);
    globfree(&files);
    free(pattern);
    free((void *)folder);
    nvt_trace_free(trace);
}

/* A folder that is not there is said once, and the trace is what it would be. */
static void what_cannot_be_kept_is_said(void **state)
{
    (void)state;
    char *messages;
    struct nvt_trace *trace = record_keeping("/nowhere/at/all", &messages);
    const char *said = strstr(trace->notes ? trace->notes : "", "NVTALLY_KEEP_BUFFERS");
    assert_non_null(said);
    assert_null(strstr(said + 1, "NVTALLY_KEEP_BUFFERS"));
    assert_true(trace->ops.count > 0);
    nvt_trace_free(trace);
    free(messages);
    /* Where the program goes, nobody knows. */
    trace = record_keeping("relative", NULL);
    assert_true(trace->ops.count > 0);
    nvt_trace_free(trace);
}

/* Every beginning of a file is refused, and nothing behind it is read. */
static void what_is_cut_is_refused(void **state)
{
    (void)state;
    CUpti_ActivityDevice5 device = {
        .kind = CUPTI_ACTIVITY_KIND_DEVICE, .name = "device", .isCudaVisible = 1};
    CUpti_ActivityName unnamed = {.kind = CUPTI_ACTIVITY_KIND_NAME,
                                  .objectKind = CUPTI_ACTIVITY_OBJECT_STREAM};
    use_stand_in();
    cupti_empty(state);
    CUPTI_PUT(device);
    CUPTI_PUT(unnamed);
    char *path = strdup(cli_in(cli_folder, "one.buffer"));
    char *cut = strdup(cli_in(cli_folder, "cut.buffer"));
    char data[4096];
    struct nvt_cupti_kept kept;
    assert_int_equal(nvt_cupti_keep(path, 1, cupti.decoder.next, cupti.buffer, cupti.used), 0);
    errno = 0;
    assert_int_equal(nvt_cupti_keep(path, 1, cupti.decoder.next, cupti.buffer, cupti.used), -1);
    assert_int_equal(errno, EEXIST);
    FILE *file = fopen(path, "rb");
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    assert_in_range(size, cupti.used + 1, sizeof(data) - 1);
    for (size_t length = 0; length < size; length++) {
        file = fopen(cut, "wb");
        assert_int_equal(fwrite(data, 1, length, file), length);
        fclose(file);
        errno = 0;
        if (nvt_cupti_kept_read(cut, cupti.decoder.next, &kept))
            fail_msg("%zu of %zu bytes", length, size);
        assert_int_equal(errno, EINVAL);
    }
    /* A text belongs where a record points at one, and nowhere else: the pointer would go across others. */
    struct nvt_cupti_kept_text head;
    memcpy(&head, data + sizeof(kept) + cupti.used, sizeof(head));
    head.offset += 4;
    memcpy(data + sizeof(kept) + cupti.used, &head, sizeof(head));
    file = fopen(cut, "wb");
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    assert_null(nvt_cupti_kept_read(cut, cupti.decoder.next, &kept));
    assert_int_equal(errno, EINVAL);
    uint8_t *whole = nvt_cupti_kept_read(path, cupti.decoder.next, &kept);
    assert_non_null(whole);
    assert_int_equal(kept.texts, 1);
    assert_int_equal(kept.size, cupti.used);
    const CUpti_ActivityDevice5 *read_device = (void *)(whole + sizeof(kept));
    assert_string_equal(read_device->name, "device");
    free(whole);
    free(path);
    free(cut);
}

/* Those of devices, with the libcupti of the system: each record has a row, and each operation a call that launched it. */
static void what_devices_have_filled_is_decoded(void **state)
{
    (void)state;
    glob_t files;
    if (glob(RECORDED, 0, NULL, &files)) {
        print_message("no buffer of a device is kept yet (%s)\n", RECORDED);
        skip();
    }
    cupti_load(state);
    for (size_t i = 0; cupti.decoder.next && i < files.gl_pathc; i++) {
        uint64_t counts[KINDS] = {0};
        assert_int_equal(decode_file(files.gl_pathv[i], counts), 0);
        assert_true(cupti.count > 0);
        for (size_t row = 0; row < cupti.count; row++)
            if (cupti.rows[row].kind == NVT_DEVICE_KERNEL) {
                assert_true(cupti.rows[row].fields[NVT_ROW_END] >=
                            cupti.rows[row].fields[NVT_ROW_START]);
                assert_true(cupti.rows[row].fields[NVT_ROW_CORRELATION] > 0);
            }
        print_message("%s: %zu rows, %llu kernels\n", files.gl_pathv[i], cupti.count,
                      (unsigned long long)counts[NVT_DEVICE_KERNEL]);
    }
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_come_back_as_they_were),
        cmocka_unit_test(what_cannot_be_kept_is_said),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(what_devices_have_filled_is_decoded),
    };
    return cmocka_run_group_tests(tests, cli_folder_set_up, cli_folder_tear_down);
}

#endif
