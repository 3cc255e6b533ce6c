#include "cpu_unwind.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "cpu_dwarf.h"
#include "find_object.h"

#if defined(__x86_64__)
#define STACK_POINTER 7
#elif defined(__aarch64__)
#define STACK_POINTER 31
#else
#define STACK_POINTER 0
#endif

void nvt_unwind_begin(struct nvt_unwind *unwind, const void *context)
{
    const ucontext_t *user = context;
    memset(unwind, 0, sizeof(*unwind));
    unwind->is_exact = 1;
#if defined(__x86_64__)
    static const uint8_t order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < sizeof(order); i++)
        unwind->registers[i] = (uintptr_t)user->uc_mcontext.gregs[order[i]];
    unwind->ip = (uintptr_t)user->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++)
        unwind->registers[i] = user->uc_mcontext.regs[i];
    unwind->registers[31] = user->uc_mcontext.sp;
    unwind->ip = user->uc_mcontext.pc;
#else
    (void)user;
#endif
}

void nvt_unwind_return(const struct nvt_unwind *unwind, void *context)
{
    ucontext_t *user = context;
#if defined(__x86_64__)
    /* What functions leave as it was, by the system's numbers and DWARF's. */
    static const uint8_t kept[][2] = {{REG_RBX, 3},  {REG_RBP, 6},  {REG_RSP, 7}, {REG_R12, 12},
                                      {REG_R13, 13}, {REG_R14, 14}, {REG_R15, 15}};
    for (unsigned i = 0; i < NVT_COUNT_OF(kept); i++)
        user->uc_mcontext.gregs[kept[i][0]] = (greg_t)unwind->registers[kept[i][1]];
    user->uc_mcontext.gregs[REG_RAX] = 0;
    user->uc_mcontext.gregs[REG_RIP] = (greg_t)unwind->ip;
#elif defined(__aarch64__)
    for (unsigned i = 19; i < 31; i++)
        user->uc_mcontext.regs[i] = unwind->registers[i];
    user->uc_mcontext.regs[0] = 0;
    user->uc_mcontext.sp = unwind->registers[31];
    user->uc_mcontext.pc = unwind->ip;
#else
    (void)unwind;
    (void)user;
#endif
}

/* --- reading ---------------------------------------------------------------------------------------- */

#define PAGE 4096u /* no page is smaller */

/* Whether a page can be read: the system reads a set of signals there, and then finds that it is asked for nothing. */
static int can_read(struct nvt_unwind *unwind, uintptr_t page)
{
    for (unsigned i = 0; i < NVT_COUNT_OF(unwind->pages); i++)
        if (unwind->pages[i] == page)
            return 1;
    if (syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) != -1 || errno != EINVAL)
        return 0;
    unwind->pages[unwind->next_page++ % 4] = page;
    return 1;
}

int nvt_dwarf_read(void *given, uintptr_t address, uintptr_t *value)
{
    uintptr_t page = address & ~(uintptr_t)(PAGE - 1);
    if (address % sizeof(*value) || !page || !can_read(given, page))
        return -1;
    *value = *(const uintptr_t *)address; // NOLINT(performance-no-int-to-ptr): a place on a stack
    return 0;
}

/* --- a step ------------------------------------------------------------------------------------------ */

static int find_rules(const struct nvt_unwind *unwind, struct nvt_dwarf_rules *rules)
{
    struct nvt_object found;
    uintptr_t address = unwind->ip - !unwind->is_exact;
    if (!unwind->ip || nvt_find_object(address, &found) || !found.eh_frame)
        return -1;
    const struct nvt_dwarf_tables tables = {
        .header = found.eh_frame, .from = found.from, .to = found.to};
    return nvt_dwarf_find(&tables, address, rules);
}

/* The column as the caller had it. */
static int restore(struct nvt_unwind *unwind, const struct nvt_dwarf_rule *rule, unsigned column,
                   uintptr_t cfa, uintptr_t *value)
{
    uintptr_t at = 0;
    switch (rule->kind) {
    case NVT_RULE_OFFSET:
        return nvt_dwarf_read(unwind, cfa + (uintptr_t)rule->offset, value);
    case NVT_RULE_VALUE:
        *value = cfa + (uintptr_t)rule->offset;
        return 0;
    case NVT_RULE_REGISTER:
        *value = unwind->registers[(uintptr_t)rule->offset % NVT_REGISTERS];
        return 0;
    case NVT_RULE_EXPRESSION:
    case NVT_RULE_VALUE_EXPRESSION:
        if (nvt_dwarf_evaluate(rule->expression, rule->size, unwind->registers, &cfa, &at, unwind))
            return -1;
        if (rule->kind == NVT_RULE_EXPRESSION)
            return nvt_dwarf_read(unwind, at, value);
        *value = at;
        return 0;
    case NVT_RULE_UNDEFINED:
        *value = 0;
        return 0;
    default:
        *value = unwind->registers[column];
        return 0;
    }
}

static int find_cfa(struct nvt_unwind *unwind, const struct nvt_dwarf_rules *rules, uintptr_t *cfa)
{
    if (rules->cfa.kind == NVT_RULE_EXPRESSION)
        return nvt_dwarf_evaluate(rules->cfa.expression, rules->cfa.size, unwind->registers, NULL,
                                  cfa, unwind);
    if (rules->cfa_register >= NVT_REGISTERS)
        return -1;
    *cfa = unwind->registers[rules->cfa_register] + (uintptr_t)rules->cfa.offset;
    return 0;
}

int nvt_unwind_step(struct nvt_unwind *unwind)
{
    struct nvt_dwarf_rules rules;
    uintptr_t cfa = 0, before[NVT_REGISTERS], found[NVT_REGISTERS];
    if (find_rules(unwind, &rules) || find_cfa(unwind, &rules, &cfa) || !cfa ||
        rules.columns[rules.return_column].kind == NVT_RULE_UNDEFINED)
        return -1;
    memcpy(before, unwind->registers, sizeof(before));
    for (unsigned i = 0; i < NVT_REGISTERS; i++)
        if (restore(unwind, &rules.columns[i], i, cfa, &found[i]))
            return -1;
    if (rules.columns[STACK_POINTER].kind == NVT_RULE_SAME)
        found[STACK_POINTER] = cfa;
    uintptr_t ip = found[rules.return_column];
#if defined(__aarch64__)
    ip &= UINT64_C(0xffffffffffff); /* without its signature */
#endif
    /* Of two frames of one function the stack differs, unless it is none. */
    if (ip == unwind->ip && found[STACK_POINTER] == before[STACK_POINTER])
        return -1;
    memcpy(unwind->registers, found, sizeof(found));
    unwind->ip = ip;
    unwind->is_exact = rules.is_signal;
    unwind->cfa = cfa;
    return ip ? 0 : -1;
}
