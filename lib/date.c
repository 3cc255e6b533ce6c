#include "date.h"

void nvt_date(time_t moment, char out[NVT_DATE_SIZE])
{
    struct tm calendar;
    if (!gmtime_r(&moment, &calendar) ||
        !strftime(out, NVT_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &calendar))
        out[0] = 0;
}
