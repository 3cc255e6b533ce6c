/*
 * Where a thread is, and who called that, as addresses; and the files that these are in, as the linker knows them.
 */
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../lib/pages.h"
#include "cpu_sampler.h"
#include "cpu_unwind.h"
#include "find_object.h"
#include "os.h"

/* --- the stack ------------------------------------------------------------------------------------- */

struct nvt_sampler *nvt_sampler_new(void)
{
    struct nvt_sampler *sampler = nvt_pages_new(sizeof(*sampler));
    if (sampler && mprotect(sampler, sizeof(sampler->guard), PROT_NONE)) {
        munmap(sampler, sizeof(*sampler));
        return NULL;
    }
    return sampler;
}

void nvt_sampler_free(struct nvt_sampler *sampler)
{
    munmap(sampler, sizeof(*sampler));
}

int nvt_sampler_holds(const struct nvt_sampler *sampler, uintptr_t place)
{
    return place - (uintptr_t)sampler->stack <= sizeof(sampler->stack);
}

/* void switch_stack(void *top, void (*function)(void *), void *argument). Unwinders come through, as the caller's stack is
 * found by the frame pointer. */
#if defined(__x86_64__)
#define CAN_SWITCH 1
__asm__(".text\n"
        ".type switch_stack, @function\n"
        "switch_stack:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "movq %rdi, %rsp\n"
        "movq %rdx, %rdi\n"
        "callq *%rsi\n"
        "movq %rbp, %rsp\n"
        "popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size switch_stack, . - switch_stack\n");
#elif defined(__aarch64__)
#define CAN_SWITCH 1
__asm__(".text\n"
        ".type switch_stack, %function\n"
        "switch_stack:\n"
        ".cfi_startproc\n"
        "hint #34\n" /* bti c */
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 29, -16\n"
        ".cfi_offset 30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register 29\n"
        "mov sp, x0\n"
        "mov x0, x2\n"
        "blr x1\n"
        "mov sp, x29\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa 31, 0\n"
        ".cfi_restore 29\n"
        ".cfi_restore 30\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size switch_stack, . - switch_stack\n");
#else
#define CAN_SWITCH 0
#endif

void nvt_sampler_run(struct nvt_sampler *sampler, void (*function)(void *), void *argument)
{
#if CAN_SWITCH
    extern void switch_stack(void *top, void (*function)(void *), void *argument);
    switch_stack(sampler->stack + sizeof(sampler->stack), function, argument);
#else
    (void)sampler;
    function(argument);
#endif
}

static uintptr_t own_from, own_to; /* this library */

/* --- what was interrupted --------------------------------------------------------------------------- */

uintptr_t nvt_frames_stack_pointer(const void *context)
{
    const ucontext_t *user = context;
#if defined(__x86_64__)
    return (uintptr_t)user->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)user->uc_mcontext.sp;
#else
    (void)user;
    return 0;
#endif
}

void nvt_frames_find(struct nvt_sampler *sampler, const void *context)
{
    struct nvt_unwind unwind;
    nvt_unwind_begin(&unwind, context);
    sampler->frames[0] = unwind.ip;
    sampler->count = 1;
    while (sampler->count < NVT_CPU_FRAMES && !nvt_unwind_step(&unwind))
        /* A call may be the last instruction of who calls. */
        sampler->frames[sampler->count++] = unwind.ip - !unwind.is_exact;
}

int nvt_frames_have_left(const void *context, uintptr_t busy)
{
    const ucontext_t *user = context;
    uintptr_t stack = nvt_frames_stack_pointer(context), place;
    struct nvt_unwind unwind;
    /* An alternate stack may lie anywhere. */
    if (stack - (uintptr_t)user->uc_stack.ss_sp < user->uc_stack.ss_size)
        return 0;
    /* The function that wrote its stack pointer is the first whose caller's lies above. */
    nvt_unwind_begin(&unwind, context);
    do
        place = unwind.ip - !unwind.is_exact;
    while (!nvt_unwind_step(&unwind) && unwind.cfa <= busy);
    return unwind.cfa > busy && !(place >= own_from && place < own_to);
}

/* --- whose code it is -------------------------------------------------------------------------------- */

/* The program's own path, which the linker does not know. */
static char program[NVT_CPU_PATH];

/* In the thread's ring, where there is room for it at once; else 0. */
static uint32_t define(struct nvt_thread *thread, const char *path)
{
    if (strnlen(path, NVT_CPU_PATH) == NVT_CPU_PATH)
        return 0;
    nvt_thread_enter(thread);
    int has_room = nvt_thread_offers(thread, NVT_CPU_SLOTS);
    nvt_thread_leave(thread);
    return has_room ? nvt_os_path(thread, path) : 0;
}

/* What is loaded there. It may have made way for something else since an earlier sample, and the ring may be a new one. */
static const struct nvt_cpu_object *object_of(struct nvt_sampler *sampler,
                                              struct nvt_thread *thread, uintptr_t address)
{
    struct nvt_cpu_object *known = &sampler->objects[address >> 16 & (NVT_CPU_OBJECTS - 1)];
    struct nvt_object found;
    if (known->sample == sampler->number && address >= known->from && address < known->to)
        return known;
    if (nvt_find_object(address, &found))
        return NULL;
    *known = (struct nvt_cpu_object){.from = (uintptr_t)found.from,
                                     .to = (uintptr_t)found.to,
                                     .base = found.base,
                                     .file = define(thread, *found.path ? found.path : program),
                                     .sample = sampler->number};
    return known;
}

/* The file, and the place in it; of no file, the address. */
static uint64_t frame_of(struct nvt_sampler *sampler, struct nvt_thread *thread, uintptr_t address)
{
    const struct nvt_cpu_object *object = object_of(sampler, thread, address);
    if (object && object->file)
        return NVT_CPU_FRAME(object->file, address - object->base);
    return NVT_CPU_FRAME(0, address);
}

void nvt_frames_name(struct nvt_sampler *sampler, struct nvt_thread *thread)
{
    sampler->number++;
    for (uint32_t i = 0; i < sampler->count; i++)
        sampler->frames[i] = frame_of(sampler, thread, (uintptr_t)sampler->frames[i]);
}

void nvt_frames_prepare(void)
{
    struct nvt_object found;
    if (!nvt_find_object((uintptr_t)nvt_frames_prepare, &found)) {
        own_from = (uintptr_t)found.from;
        own_to = (uintptr_t)found.to;
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = 0;
}
