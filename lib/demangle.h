/*
 * C++ names as people write them. The C++ runtime's own demangler is used where the machine has
 * one; this program does not link it.
 */
#ifndef NVT_DEMANGLE_H
#define NVT_DEMANGLE_H

struct nvt_demangler;

/* Look for the C++ runtime. NULL when there is none, or no memory. */
struct nvt_demangler *nvt_demangler_new(void);
void nvt_demangler_free(struct nvt_demangler *demangler);

/*
 * The name behind a mangled one ("_Z…"), in memory that the caller frees; NULL for a name that is not mangled, that
 * cannot be demangled, or longer than 64 KiB, and where `demangler` is NULL.
 */
char *nvt_demangle(const struct nvt_demangler *demangler, const char *name);

#endif
