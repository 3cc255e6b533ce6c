#include "refused_option.h"

int nvt_refused_option(int option, const char *typed, const char *command, struct nvt_error *err)
{
    return nvt_fail(err,
                    option == ':' ? "%s needs a value; see nvtally %s --help"
                                  : "unknown option %s; see nvtally %s --help",
                    typed, command);
}
