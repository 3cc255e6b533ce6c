#include "ctl_file_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "record_kit.h"

const char *ctl_file_fresh(void)
{
    static int number;
    char name[40];
    snprintf(name, sizeof(name), "commands%d", number++);
    return recorded_in(name);
}
