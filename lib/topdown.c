#include "topdown.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "count_of.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Raw events: the event's number, its mask above that, the number's upper digit of AMD from bit 32 on. */
#define INTEL(event, mask) ((event) | (mask) << 8)
#define AMD(event, mask)   (((event)&0xffu) | (mask) << 8 | (uint64_t)((event) >> 8) << 32)

enum intel { SLOTS, INTEL_FRONTEND, INTEL_BACKEND, INTEL_RETIRED };
enum amd { AMD_FRONTEND, AMD_BACKEND, DISPATCHED, AMD_RETIRED };

/* Of one PMU of libpfm4 for each generation: the codes are those of its successors. */
#define AMD_EVENTS(pmu)                                                                            \
    {                                                                                              \
        {"frontend-slots", pmu "::DISPATCH_STALLS_1:FE_NO_OPS", AMD(0x1a0u, 0x01u)},               \
            {"backend-slots", pmu "::DISPATCH_STALLS_1:BE_STALLS", AMD(0x1a0u, 0x1eu)},            \
            {"dispatched-ops", NULL, AMD(0xaau, 0x07u)},                                           \
        {                                                                                          \
            "retired-ops", pmu "::RETIRED_OPS", AMD(0xc1u, 0u)                                     \
        }                                                                                          \
    }

static const struct nvt_topdown_set sets[] = {
    {"intel-icelake",
     0,
     {{"slots", "icx::TOPDOWN:SLOTS_P", INTEL(0xa4, 0x01)},
      {"frontend-slots", "icx::IDQ_UOPS_NOT_DELIVERED:CORE", INTEL(0x9c, 0x01)},
      {"backend-slots", NULL, INTEL(0xa4, 0x02)},
      {"retired-slots", "icx::UOPS_RETIRED:SLOTS", INTEL(0xc2, 0x02)}}},
    {"intel-sapphire-rapids",
     0,
     {{"slots", "spr::TOPDOWN:SLOTS_P", INTEL(0xa4, 0x01)},
      {"frontend-slots", "spr::IDQ_UOPS_NOT_DELIVERED:CORE", INTEL(0x9c, 0x01)},
      {"backend-slots", NULL, INTEL(0xa4, 0x02)},
      {"retired-slots", "spr::UOPS_RETIRED:SLOTS", INTEL(0xc2, 0x02)}}},
    {"amd-zen4", 6, AMD_EVENTS("amd64_fam19h_zen4")},
    {"amd-zen5", 8, AMD_EVENTS("amd64_fam1ah_zen5")},
};

/* By vendor, family and model, as Linux has them (arch/x86/include/asm/intel-family.h; AMD: arch/x86/kernel/cpu/amd.c). */
static const struct {
    const char *vendor;
    unsigned family, from, to;
    unsigned set;
} processors[] = {
    {"GenuineIntel", 6, 0x6a, 0x6a, 0}, /* Ice Lake servers */
    {"GenuineIntel", 6, 0x6c, 0x6c, 0},    {"GenuineIntel", 6, 0x7d, 0x7e, 0}, /* Ice Lake */
    {"GenuineIntel", 6, 0x8c, 0x8d, 0},                                        /* Tiger Lake */
    {"GenuineIntel", 6, 0xa7, 0xa7, 0},                                        /* Rocket Lake */
    {"GenuineIntel", 6, 0x8f, 0x8f, 1},                                        /* Sapphire Rapids */
    {"GenuineIntel", 6, 0xcf, 0xcf, 1},                                        /* Emerald Rapids */
    {"AuthenticAMD", 0x19, 0x10, 0x1f, 2}, {"AuthenticAMD", 0x19, 0x60, 0x7f, 2},
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, 2}, {"AuthenticAMD", 0x1a, 0x00, 0x4f, 3},
    {"AuthenticAMD", 0x1a, 0x60, 0x7f, 3},
};

const struct nvt_topdown_set *nvt_topdown_set(unsigned i)
{
    return i < NVT_COUNT_OF(sets) ? &sets[i] : NULL;
}

const struct nvt_topdown_set *nvt_topdown_of(const char *vendor, unsigned family, unsigned model,
                                             int is_hybrid)
{
    for (size_t i = 0; i < NVT_COUNT_OF(processors) && !is_hybrid; i++)
        if (!strcmp(vendor, processors[i].vendor) && family == processors[i].family &&
            model >= processors[i].from && model <= processors[i].to)
            return &sets[processors[i].set];
    return NULL;
}

const struct nvt_topdown_set *nvt_topdown_named(const char *name)
{
    for (size_t i = 0; i < NVT_COUNT_OF(sets); i++)
        if (!strcmp(name, sets[i].name))
            return &sets[i];
    return NULL;
}

#if defined(__x86_64__)

const struct nvt_topdown_set *nvt_topdown_here(void)
{
    unsigned eax, ebx, ecx, edx, extended_ebx, extended_ecx, extended_edx;
    char vendor[13] = "";
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx))
        return NULL;
    memcpy(vendor, &ebx, 4);
    memcpy(vendor + 4, &edx, 4);
    memcpy(vendor + 8, &ecx, 4);
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return NULL;
    const unsigned base = eax >> 8 & 15, family = base + (base == 15 ? eax >> 20 & 255 : 0),
                   model = (eax >> 4 & 15) | (eax >> 16 & 15) << 4;
    /* Bit 15 of EDX: a hybrid part. */
    const int is_hybrid =
        __get_cpuid_count(7, 0, &eax, &extended_ebx, &extended_ecx, &extended_edx) &&
        extended_edx >> 15 & 1;
    return nvt_topdown_of(vendor, family, model, is_hybrid);
}

#else

const struct nvt_topdown_set *nvt_topdown_here(void)
{
    return NULL;
}

#endif

int nvt_topdown(const struct nvt_topdown_set *set, int64_t cycles,
                const int64_t events[NVT_CHOSEN_MOST], struct nvt_topdown *out)
{
    int is_known = set->width == 0 || cycles >= 0;
    for (unsigned i = 0; i < NVT_CHOSEN_MOST; i++)
        is_known = is_known && events[i] >= 0;
    *out = (struct nvt_topdown){.slots = set->width ? (double)cycles * set->width
                                                    : (double)events[SLOTS]};
    if (!is_known || !(out->slots > 0))
        return 0;
    const int is_intel = !set->width;
    out->frontend =
        fmin(1, (double)events[is_intel ? (unsigned)INTEL_FRONTEND : AMD_FRONTEND] / out->slots);
    out->backend =
        fmin(1, (double)events[is_intel ? (unsigned)INTEL_BACKEND : AMD_BACKEND] / out->slots);
    out->retiring =
        fmin(1, (double)events[is_intel ? (unsigned)INTEL_RETIRED : AMD_RETIRED] / out->slots);
    const double rest = fmax(0, 1 - out->frontend - out->backend - out->retiring);
    out->bad_speculation =
        is_intel
            ? rest
            : fmin(rest, fmax(0, (double)(events[DISPATCHED] - events[AMD_RETIRED]) / out->slots));
    out->other = rest - out->bad_speculation;
    return 1;
}
