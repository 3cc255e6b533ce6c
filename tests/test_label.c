/* Names as labels of charts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/text.h"
#include "../plots/label_placement.h"
#include "../plots/flame_label.h"
#include "../plots/frame.h"
#include "../plots/label.h"
#include "../plots/short_words.h"

static const char *label(const struct nvt_label *items, size_t count, size_t which, size_t most)
{
    static char out[1000];
    struct nvt_labels labels = {items, count};
    nvt_label_write(&labels, which, most, out, sizeof(out));
    return out;
}

static void what_has_room_is_whole(void **state)
{
    (void)state;
    const struct nvt_label items[] = {{"forward", 0}, {"forward and backward", 0}, {"", 0}};
    assert_string_equal(label(items, 3, 0, 20), "forward");
    assert_string_equal(label(items, 3, 1, 20), "forward and backward");
    assert_string_equal(label(items, 3, 2, 20), "");
    assert_string_equal(label(items, 3, 1, 10), "forward an…");
}

/* What gnuplot would take for itself looks as it is, and two names that differ in it differ. */
static void quotes_and_backslashes_look_like_themselves(void **state)
{
    (void)state;
    char text[100] = "";
    FILE *out = fmemopen(text, sizeof(text) - 1, "w");
    assert_non_null(out);
    nvt_label_text("a\\b a/b \"q\" it's\t.", out);
    fclose(out);
    assert_string_equal(text, "a∖b a/b ”q” it’s .");
}

/* Alike at the beginning: the place where they differ is shown, from the beginning of its word. */
static void what_would_look_alike_is_cut_in_the_middle(void **state)
{
    (void)state;
    const struct nvt_label items[] = {
        {"gemm_f32_tn_tile64_stage3_execute_kernel__cublas", 0},
        {"gemm_f32_tn_tile64_stage3_execute_split_k_kernel__cublas", 0},
        {"gemm_f32_nn_tile64_stage3_execute_kernel__cublas", 0},
        {"gemm_f32_tn_tile64_stage3_execute_kernel__cublas", 0}};
    assert_string_equal(label(items, 4, 0, 30), "gemm_f32_tn_…te_kernel__cublas");
    assert_string_equal(label(items, 4, 1, 30), "gemm_f32_tn_…split_k_kernel__c…");
    assert_string_equal(label(items, 4, 2, 30), "gemm_f32_nn_tile64_stage3_exec…");
    /* The same name twice is no reason. */
    const struct nvt_label same[] = {items[0], items[0]};
    assert_string_equal(label(same, 2, 0, 30), "gemm_f32_tn_tile64_stage3_exec…");
}

static void kernels_are_compared_as_they_are_shown(void **state)
{
    (void)state;
    const struct nvt_label items[] = {
        {"void at::native::vectorized_elementwise_kernel<(int)4, at::native::Add>(int)", 1},
        {"void at::native::vectorized_elementwise_kernel<(int)4, at::native::Mul>(int)", 1}};
    assert_string_equal(label(items, 2, 0, 62), "vectorized_elementwise_kernel …Add");
    assert_string_equal(label(items, 2, 0, 28), "vectorized_…wise_kernel …Add");
    assert_string_equal(label(items, 2, 1, 28), "vectorized_…wise_kernel …Mul");
}

/* Characters stay whole, there are never more of them than have room, and what differs does so as labels. */
static void labels_are_whole_characters(void **state)
{
    (void)state;
    enum { NAMES = 20 };
    char names[NAMES][400];
    struct nvt_label items[NAMES];
    for (int i = 0; i < NAMES; i++) {
        int size = 0;
        for (int k = 0; k < 100; k++)
            size += snprintf(names[i] + size, sizeof(names[i]) - (size_t)size, "%s",
                             k == 40 + i ? "xy"
                             : k % 7     ? "ä"
                                         : "_");
        items[i] = (struct nvt_label){names[i], 0};
    }
    for (size_t most = 8; most < 110; most += 3)
        for (size_t i = 0; i < NAMES; i++) {
            const char *text = label(items, NAMES, i, most);
            size_t length = 0;
            for (uint32_t character; (character = nvt_utf8_next(&text)) != 0; length++)
                assert_true(character != NVT_REPLACEMENT);
            assert_true(length <= most + 1);
            char other[1000];
            snprintf(other, sizeof(other), "%s", label(items, NAMES, (i + 1) % NAMES, most));
            if (most > 20 && !strcmp(label(items, NAMES, i, most), other))
                fail_msg("at %zu: %s", most, other);
        }
}

/* Wide characters take two columns, marks none: a legend has room for columns. */
static void labels_are_cut_by_columns(void **state)
{
    (void)state;
    const struct nvt_label items[] = {{"行列の積をとる関数", 0}, {"ééééééééé", 0}};
    assert_string_equal(label(items, 1, 0, 18), items[0].name);
    assert_string_equal(label(items, 1, 0, 17), "行列の積をとる関…");
    assert_string_equal(label(items, 1, 0, 9), "行列の積…");
    assert_string_equal(label(items, 2, 1, 9), items[1].name);
    assert_string_equal(label(items, 2, 1, 8), "éééééééé…");
}

/* Files differ at either end: a title has room for sixty characters of a name. */
/* Keys as short as they can be told apart; words that say themselves have none. */
static void keys_are_cut_where_they_differ(void **state)
{
    (void)state;
    struct nvt_short_words words = {.count = 0};
    char out[200];
    static const char *const texts[][2] = {
        {"batch=8 mode=inference fragments=128 variant=looped", "b=8 inference f=128 looped"},
        {"batch=1 mode=train  sequence=4 size=2", "b=1 train se=4 si=2"},
        {"checkpoint=on schedule=1f1b plain =x key=", "ch=on sc=1f1b plain =x k="},
        {"öl=3 long_name=4", "öl=3 long_name=4"}};
    for (int i = 0; i < 4; i++)
        nvt_short_words_add(&words, texts[i][0]);
    for (int i = 0; i < 4; i++) {
        nvt_short_words_write(&words, texts[i][0], out, sizeof(out));
        if (i != 2)
            assert_string_equal(out, texts[i][1]);
    }
    assert_int_equal(words.count, 8);
    nvt_short_words_tell(&words, out, sizeof(out));
    assert_string_equal(out, "b: batch, f: fragments, se: sequence, si: size, c: checkpoint, "
                             "sc: schedule, k: key");
    nvt_short_words_write(&words, texts[2][0], out, sizeof(out));
    assert_string_equal(out, "c=on sc=1f1b plain =x k=");
    nvt_short_words_write(&words, texts[0][0], out, 8);
    assert_string_equal(out, "b=8 inf");
    /* One key begins as another one ends: it is whole. */
    struct nvt_short_words alike = {.count = 0};
    nvt_short_words_add(&alike, "d=1 d_model=2");
    nvt_short_words_write(&alike, "d=1 d_model=2", out, sizeof(out));
    assert_string_equal(out, "d=1 d_model=2");
}

/* A name gives way to a line, and has no place where lines are everywhere. */
static void no_name_lies_on_a_line(void **state)
{
    (void)state;
    enum { WIDTH = 300, HEIGHT = 200, PLACES = WIDTH * HEIGHT / 25 };
    static struct nvt_line_point places[PLACES];
    size_t count = 0;
    for (int x = 0; x < WIDTH; x++)
        places[count++] = (struct nvt_line_point){x, 100};
    struct nvt_point_label point = {
        .x = 150, .y = 102, .radius = 3, .weight = 1, .text = "size=512"};
    assert_int_equal(nvt_place_labels(&point, 1, places, count, WIDTH, HEIGHT), 0);
    assert_true(point.is_placed);
    assert_true(point.middle < 94 || point.middle > 106);
    count = 0;
    for (int i = 0; i < PLACES; i++) {
        const int row = i / 60;
        places[count++] = (struct nvt_line_point){i % 60 * 5 + 2, row * 5.0 + 2};
    }
    assert_int_equal(nvt_place_labels(&point, 1, places, count, WIDTH, HEIGHT), 1);
    assert_false(point.is_placed);
}

/* Capitals are wider than other letters: fewer of them have room, in bars as in boxes. */
static void wide_letters_have_room(void **state)
{
    (void)state;
    static const char *const names[] = {
        ":GRADIENT_ALLREDUCE_SYNCHRONOUS_WITH_MEMORY_COMPRESSION_WINDOW_A",
        ":GRADIENT_ALLREDUCE_SYNCHRONOUS_WITH_MEMORY_COMPRESSION_WINDOW_B",
        "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
        "a name in small letters that has fifty-two of them, and is cut there"};
    static const char *const ends[] = {"WINDOW_A", "WINDOW_B", "WWW…", " of them, …"};
    struct nvt_label items[4];
    for (int i = 0; i < 4; i++)
        items[i] = (struct nvt_label){names[i], 0};
    for (size_t i = 0; i < 4; i++) {
        char *text = NULL, box[300];
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        nvt_label_put(&(struct nvt_labels){items, 4}, i, out);
        fclose(out);
        /* From the left margin to the picture's edge. */
        assert_true(nvt_label_pixels(text) <= NVT_FRAME_WIDTH - 16);
        assert_string_equal(text + size - strlen(ends[i]), ends[i]);
        free(text);
        for (int pixels = 10; pixels < 500; pixels += 7) {
            nvt_flame_label_write(&(const struct nvt_flame_label){.name = names[i], .after = ""},
                                  pixels, box, sizeof(box));
            assert_true(!*box || nvt_label_pixels(box) <= pixels - 6);
        }
    }
    assert_true(fabs(nvt_label_pixels("AI… é漢") - 0.012 * (684 + 295 + 1000 + 318 + 700 + 1000)) <
                1e-9);
}

/* Of a product of a library what tells it apart; where two would look alike, their names. */
static void products_are_named_briefly(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(cutlass_80::Params)",
         "cutlass sgemm 128x256 nt"},
        {"cutlass_80_tensorop_s1688gemm_256x128_16x3_tn_align4", "cutlass s1688gemm 256x128 tn"},
        {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_"
         "alignc4_execute_kernel__5x_cublas",
         "xmma gemm f32 tn 64x64x8"},
        {"sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize64x64x64_execute_split_k_kernel__5x",
         "xmma gemm bf16 nn 64x64x64 split k"},
        {"nvjet_sm90_tss_192x96_64x5_1x2_h_bz_NTT", "nvjet tss 192x96 NTT"},
        {"ampere_sgemm_128x64_tn", "ampere sgemm 128x64 tn"},
        {"volta_scudnn_128x128_stridedB_splitK_small_nn_v1",
         "volta scudnn 128x128 stridedB splitK small nn"},
        {"my_gemm_kernel", "my_gemm_kernel"},
        {"void gemmSN_TN_kernel<float, 128, 16>(int)", "gemmSN_TN_kernel"},
        {"softmax", "softmax"}};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        const struct nvt_label item = {known[i][0], 1}, range = {known[i][0], 0};
        assert_string_equal(label(&item, 1, 0, 60), known[i][1]);
        assert_memory_equal(label(&range, 1, 0, 200), known[i][0], strlen(known[i][0]));
    }
    const struct nvt_label alike[] = {{"cutlass_80_simt_sgemm_64x64_8x5_nn_align1", 1},
                                      {"cutlass_80_simt_sgemm_64x64_8x4_nn_align1", 1},
                                      {"cutlass_80_simt_sgemm_64x64_8x4_tn_align1", 1}};
    assert_string_equal(label(alike, 3, 0, 60), alike[0].name);
    assert_string_equal(label(alike, 3, 1, 60), alike[1].name);
    assert_string_equal(label(alike, 3, 2, 60), "cutlass sgemm 64x64 tn");
}

/* Of a configuration both ends are seen, in no more room than there is. */
static void ends_are_seen(void **state)
{
    (void)state;
    static const char *const texts[] = {"forward",
                                        "fragmented mode=inference fragments=32 "
                                        "variant=grouped forward",
                                        "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"};
    char out[200];
    for (size_t i = 0; i < 3; i++) {
        nvt_label_ends(texts[i], 40, out, sizeof(out));
        assert_true(nvt_label_pixels(out) <= 40 * NVT_LABEL_LETTER);
        assert_int_equal(strstr(out, "…") != NULL, i > 0);
        assert_string_equal(out + strlen(out) - 7, texts[i] + strlen(texts[i]) - 7);
    }
}

/* Boxes within the same one, whose names end differently, do so where they have room. */
static void boxes_are_told_apart(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce_of_gradients_of_layer_one",
                                        "allreduce_of_gradients_of_layer_two", "step"};
    static const struct {
        double pixels;
        size_t other;
        const char *label;
    } boxes[] = {{400, 1, "allreduce_of_gradients_of_layer_one 40 %"},
                 {200, 1, "allreduce…s_of_layer_one 40 %"},
                 {200, 2, "allreduce_of_gradients_… 40 %"},
                 {80, 1, "allr…er_one"},
                 {50, 1, "allre…"}};
    for (size_t i = 0; i < NVT_COUNT_OF(boxes); i++) {
        char out[100];
        const struct nvt_flame_label label = {.name = names[0],
                                              .brothers = &names[boxes[i].other],
                                              .brother_count = 1,
                                              .after = " 40 %",
                                              .after_room = 6};
        nvt_flame_label_write(&label, boxes[i].pixels, out, sizeof(out));
        assert_string_equal(out, boxes[i].label);
    }
}

static void names_of_files_are_cut_in_the_middle(void **state)
{
    (void)state;
    char out[NVT_LABEL_FILE], path[400] = "/some/where/", expected[400] = "";
    assert_string_equal(nvt_label_file("/some/where/t.nvt", out), "t.nvt");
    assert_string_equal(nvt_label_file("t.nvt", out), "t.nvt");
    size_t size = strlen(path), used = 0;
    for (int i = 0; i < 61; i++) {
        const char *next = i < 35 ? "ä" : "√";
        size += (size_t)snprintf(path + size, sizeof(path) - size, "%s", next);
        if (i != 30)
            used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s",
                                     i == 29 ? "…" : next);
    }
    assert_string_equal(nvt_label_file(path, out), expected);
    path[strlen(path) - strlen("√")] = 0;
    assert_string_equal(nvt_label_file(path, out), path + strlen("/some/where/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_room_is_whole),
        cmocka_unit_test(quotes_and_backslashes_look_like_themselves),
        cmocka_unit_test(what_would_look_alike_is_cut_in_the_middle),
        cmocka_unit_test(kernels_are_compared_as_they_are_shown),
        cmocka_unit_test(names_of_files_are_cut_in_the_middle),
        cmocka_unit_test(wide_letters_have_room),
        cmocka_unit_test(products_are_named_briefly),
        cmocka_unit_test(ends_are_seen),
        cmocka_unit_test(boxes_are_told_apart),
        cmocka_unit_test(keys_are_cut_where_they_differ),
        cmocka_unit_test(no_name_lies_on_a_line),
        cmocka_unit_test(labels_are_whole_characters),
        cmocka_unit_test(labels_are_cut_by_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
