/*
 * Registered strings and domains of this process: added once by content, never removed, found and
 * added without a lock (by compare-and-swap), so that fork is harmless.
 */
#ifndef NVT_INJECT_REGISTRY_H
#define NVT_INJECT_REGISTRY_H

#include "events.h"

/* The registration of this text, NULL: it has none. */
const struct nvtxStringRegistration *nvt_registry_known(const char *text);

/* The registration of this text; NULL when out of memory. */
struct nvtxStringRegistration *nvt_registry_string(const char *text);

/* The domain of this name; NULL (the default domain) for "", when out of memory, or past 65535. */
nvtxDomainHandle_t nvt_registry_domain(const char *name);

#endif
