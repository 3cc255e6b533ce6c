/* The name of a processor, out of what Linux says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../lib/processor.h"

static void is_read_from_cpuinfo(void **state)
{
    (void)state;
    static const char *const known[][2] = {
        {"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n",
         "AMD EPYC"},
        {"model name\t: \nmodel name : Second\n", "Second"},
        {"processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
         "CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n\nprocessor\t: 1\n"
         "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n",
         "Arm Neoverse V2"},
        {"CPU implementer\t: 0x4e\nCPU part\t: 0x004\n", "NVIDIA Carmel"},
        {"CPU implementer\t: 0x48\nCPU part\t: 0xd01", "Arm processor 0x48 part 0xd01"},
        {"CPU part\t: 0xd4f\n", NULL},
        {"model names\t: none\nmodel name\n", NULL},
        {"\n", NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(known); i++) {
        char text[400], name[64] = "nothing";
        size_t size = (size_t)snprintf(text, sizeof(text), "%s", known[i][0]);
        FILE *file = fmemopen(text, size, "r");
        assert_non_null(file);
        assert_int_equal(nvt_processor_of(file, name, sizeof(name)), known[i][1] != NULL);
        assert_string_equal(name, known[i][1] ? known[i][1] : "nothing");
        fclose(file);
    }
}

static void this_one_has_a_name(void **state)
{
    (void)state;
    char name[256] = "";
    nvt_processor_name(name, sizeof(name));
    assert_true(strlen(name) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_read_from_cpuinfo),
                                       cmocka_unit_test(this_one_has_a_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
