#include "demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "count_of.h"

#define NAME_MOST 65536

/* The Itanium C++ ABI's, section 3.4: memory from malloc, NULL and a status where it fails. */
typedef char *(*demangle_function)(const char *name, char *buffer, size_t *size, int *status);

struct nvt_demangler {
    void *library;
    demangle_function demangle;
};

struct nvt_demangler *nvt_demangler_new(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    struct nvt_demangler *demangler = calloc(1, sizeof(*demangler));
    for (size_t i = 0; demangler && !demangler->demangle; i++) {
        if (i == NVT_COUNT_OF(libraries)) {
            free(demangler);
            return NULL;
        }
        /* It stays: its memory for exceptions would be lost with it, and made again with the next. */
        demangler->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!demangler->library)
            continue;
        *(void **)&demangler->demangle = dlsym(demangler->library, "__cxa_demangle");
        if (!demangler->demangle)
            dlclose(demangler->library);
    }
    return demangler;
}

void nvt_demangler_free(struct nvt_demangler *demangler)
{
    if (!demangler)
        return;
    dlclose(demangler->library);
    free(demangler);
}

char *nvt_demangle(const struct nvt_demangler *demangler, const char *name)
{
    if (!demangler || strncmp(name, "_Z", 2) || strnlen(name, NAME_MOST) == NAME_MOST)
        return NULL;
    return demangler->demangle(name, NULL, NULL, NULL);
}
