#include "kernel_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '~' || c == '$';
}

/* "(anonymous namespace)" is part of a scope, not a list of parameters. */
static int is_anonymous(const char *name, size_t size, size_t at)
{
    static const char text[] = "(anonymous namespace)";
    return size - at >= sizeof(text) - 1 && !memcmp(name + at, text, sizeof(text) - 1);
}

/* A length as mangled names have it in front of a word; 0 where there is none that fits. */
static size_t word_length(const char *name, size_t size, size_t *at)
{
    size_t length = 0;
    while (*at < size && isdigit((unsigned char)name[*at]) && length <= size)
        length = length * 10 + (size_t)(name[(*at)++] - '0');
    return length <= size - *at ? length : 0;
}

/* The last word of a mangled function's scopes and name, of _ZN5aiter11rmsnorm_fwdIDF16b…; 0: it is none.
 * Scopes of kernels are namespaces, so what templates take stands behind it. */
static size_t mangled_word(const char *name, size_t size, size_t *length)
{
    size_t at = 2, start = 0;
    if (size < 4 || memcmp(name, "_Z", 2) != 0)
        return 0;
    int nested = name[at] == 'N';
    at += (size_t)nested;
    do {
        at += at + 1 < size && name[at] == 'L' && isdigit((unsigned char)name[at + 1]);
        size_t part = at < size ? word_length(name, size, &at) : 0;
        if (!part)
            break;
        start = at;
        *length = part;
        at += part;
    } while (nested);
    return start;
}

const char *nvt_short_name(const char *name, size_t size, size_t *length)
{
    size_t mangled = mangled_word(name, size, length);
    if (mangled)
        return name + mangled;
    size_t start = 0, end = 0;
    int depth = 0;
    /* The last word outside of any bracket before the parameters. */
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (c == '(' && !depth && end && !is_anonymous(name, size, i))
            break;
        if (c == '<' || c == '(' || c == '{' || c == '[')
            depth++;
        else if ((c == '>' && (!i || name[i - 1] != '-')) || c == ')' || c == '}' || c == ']')
            depth -= depth > 0;
        else if (!depth && is_word(c)) {
            if (end != i)
                start = i;
            end = i + 1;
        }
    }
    *length = end ? end - start : size;
    return end ? name + start : name;
}

/* --- names that tell one kernel from another --- */

/* A function or a type, in parts of its name. */
struct called {
    const char *scoped, *word;
    const char *argument; /* of a template, the first; NULL: none, or no type */
    size_t scoped_size, word_size, argument_size;
    int is_mangled; /* so is the argument */
};

/* A reference to what the mangled name had before: S_, S1a_, or St and the like. 0: there is none. */
static size_t reference_length(const char *name, size_t size)
{
    size_t at = 1;
    if (size < 2 || name[0] != 'S')
        return 0;
    if (islower((unsigned char)name[1]))
        return 2;
    while (at < size && (isdigit((unsigned char)name[at]) || isupper((unsigned char)name[at])))
        at++;
    return at < size && name[at] == '_' ? at + 1 : 0;
}

/* The parts of a mangled name, given without its _Z: 0, or -1 where it begins with none. */
static int mangled_parts(const char *name, size_t size, struct called *called)
{
    const int nested = size && name[0] == 'N';
    size_t at = (size_t)nested, part;
    *called = (struct called){.scoped = name + at, .is_mangled = 1};
    at += reference_length(name + at, size - at);
    do {
        at += at + 1 < size && name[at] == 'L' && isdigit((unsigned char)name[at + 1]);
        part = word_length(name, size, &at);
        if (part) {
            called->word = name + at;
            called->word_size = part;
            at += part;
        }
    } while (part && nested);
    if (!called->word)
        return -1;
    called->scoped_size = (size_t)(called->word + called->word_size - called->scoped);
    if (at + 1 < size && name[at] == 'I') {
        called->argument = name + at + 1;
        called->argument_size = size - at - 1;
    }
    return 0;
}

/* A letter of a word outside of any bracket, which begins a word or continues one. `scoped` is where its scopes begin. */
static void take_letter(struct called *called, const char *scoped, const char *letter)
{
    if (called->word && called->word + called->word_size == letter)
        called->word_size++;
    else
        *called = (struct called){.scoped = scoped, .word = letter, .word_size = 1};
}

/* The parts of a name as people write it, which nvt_short_name goes through in the same order. */
static int plain_parts(const char *name, size_t size, struct called *called)
{
    const char *scoped = NULL; /* since the last space outside of brackets */
    int depth = 0, in_argument = 0;
    *called = (struct called){.word = NULL};
    for (size_t i = 0; i < size; i++) {
        const char c = name[i];
        if (c == '(' && !depth && called->word && !is_anonymous(name, size, i))
            break;
        if (!depth)
            scoped = c == ' ' ? NULL : scoped ? scoped : name + i;
        if (c == '<' && !depth && called->word && !called->argument) {
            called->argument = name + i + 1;
            in_argument = 1;
        }
        const int closes =
            (c == '>' && (!i || name[i - 1] != '-')) || c == ')' || c == '}' || c == ']';
        if (in_argument && depth == 1 && (c == ',' || closes)) {
            called->argument_size = (size_t)(name + i - called->argument);
            in_argument = 0;
        }
        if (c == '<' || c == '(' || c == '{' || c == '[')
            depth++;
        else if (closes)
            depth -= depth > 0;
        else if (!depth && is_word(c))
            take_letter(called, scoped, name + i);
    }
    if (!called->word)
        return -1;
    called->scoped_size = (size_t)(called->word + called->word_size - called->scoped);
    return 0;
}

/* Whether one of the words, which end with NULL, is this text, but for case. */
static int is_among(const char *const *words, const char *text, size_t size)
{
    for (; *words; words++)
        if (strlen(*words) == size && !strncasecmp(*words, text, size))
            return 1;
    return 0;
}

/* Kernel, Kernel2, _kernel_agent and the like, and the wrappers that CUTLASS's users have within device_kernel<>. */
static int says_nothing(const char *word, size_t size)
{
    static const char *const words[] = {"kernel",
                                        "device_kernel",
                                        "global_kernel",
                                        "globalkernel",
                                        "static_kernel",
                                        "kernel_agent",
                                        "generickernel",
                                        "parallelfor",
                                        "parallelreduce",
                                        "parallelscan",
                                        NULL};
    if (size > 7 && !memcmp(word, "enable_", 7))
        return 1;
    /* Kokkos: cuda_parallel_launch_local_memory<ParallelFor<…>> */
    if (size > 21 && !memcmp(word, "cuda_parallel_launch_", 21))
        return 1;
    while (size && *word == '_') {
        word++;
        size--;
    }
    while (size && isdigit((unsigned char)word[size - 1]))
        size--;
    return is_among(words, word, size);
}

/* Whether it is a type of numbers, or no type: it tells what a kernel works on, not what it does. */
static int is_number(const char *word, size_t size)
{
    static const char *const words[] = {"void",       "bool",    "char",   "signed",    "unsigned",
                                        "short",      "int",     "long",   "float",     "half",
                                        "const",      "double",  "half_t", "nv_bfloat", "bfloat",
                                        "bfloat16_t", "complex", NULL};
    if (size > 2 && !memcmp(word, "__", 2))
        return 1;
    while (size && isdigit((unsigned char)word[size - 1]))
        size--;
    return !size || is_among(words, word, size);
}

/* The parts of what a template takes. */
static int argument_parts(const struct called *called, struct called *argument)
{
    if (!called->argument)
        return -1;
    if (called->is_mangled)
        return mangled_parts(called->argument, called->argument_size, argument);
    return plain_parts(called->argument, called->argument_size, argument);
}

/* Appends a text, cut to what there is room for. */
static void put(char out[NVT_TELLING_NAME_MAX], size_t *used, const char *text, size_t size)
{
    const size_t room = NVT_TELLING_NAME_MAX - 1 - *used, fits = size < room ? size : room;
    memcpy(out + *used, text, fits);
    *used += fits;
    out[*used] = 0;
}

/* A name with its scopes; a mangled one as people write it. */
static void put_scoped(const struct called *called, char out[NVT_TELLING_NAME_MAX])
{
    const char *from = called->scoped;
    size_t size = called->scoped_size, at = 0, used = 0, part;
    if (!called->is_mangled) {
        put(out, &used, from, size);
        return;
    }
    at = reference_length(from, size);
    while (at < size) {
        at += from[at] == 'L';
        part = word_length(from, size, &at);
        if (!part)
            break;
        put(out, &used, "::", used ? 2 : 0);
        put(out, &used, from + at, part);
        at += part;
    }
}

/* Whether it is such a name already, "vectorized_elementwise_kernel add": words, with nothing that C++ has. */
static int is_telling(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (strchr("<({:[", name[i]))
            return 0;
    return memchr(name, ' ', size) != NULL;
}

const char *nvt_kernel_function(const char *name, size_t size, char out[NVT_TELLING_NAME_MAX])
{
    struct called called, argument;
    size_t length, used = 0;
    const char *word = nvt_short_name(name, size, &length);
    const int is_mangled = size > 2 && !memcmp(name, "_Z", 2);
    out[0] = 0;
    if (!says_nothing(word, length) || (is_mangled ? mangled_parts(name + 2, size - 2, &called)
                                                   : plain_parts(name, size, &called))) {
        put(out, &used, word, length);
        return out;
    }
    while (says_nothing(called.word, called.word_size) && !argument_parts(&called, &argument) &&
           !is_number(argument.word, argument.word_size))
        called = argument;
    if (says_nothing(called.word, called.word_size))
        put_scoped(&called, out);
    else
        put(out, &used, called.word, called.word_size);
    return out;
}

const char *nvt_telling_name(const char *name, size_t size, char out[NVT_TELLING_NAME_MAX])
{
    char operation[NVT_OPERATION_MAX];
    size_t used = 0;
    if (is_telling(name, size)) {
        put(out, &used, name, size);
        return out;
    }
    nvt_kernel_function(name, size, out);
    used = strlen(out);
    if (nvt_kernel_operation(out, name, size, operation)) {
        put(out, &used, " ", 1);
        put(out, &used, operation, strlen(operation));
    }
    return out;
}
