/* Texts of a pickle, which are not terminated, for the readers that look into them. */
#ifndef NVT_PICKLE_TEXT_H
#define NVT_PICKLE_TEXT_H

#include <string.h>

#include "pickle.h"

struct nvt_pickle_text {
    const char *at;
    size_t size;
};

/* Empty where a value is no text. */
static inline struct nvt_pickle_text nvt_pickle_text(const struct nvt_pickle *pickle,
                                                     uint32_t value)
{
    if (nvt_pickle_kind(pickle, value) != NVT_PICKLE_TEXT)
        return (struct nvt_pickle_text){"", 0};
    return (struct nvt_pickle_text){pickle->values[value].is.text, pickle->values[value].size};
}

/* What a dict has under a key. */
static inline struct nvt_pickle_text nvt_pickle_member(const struct nvt_pickle *pickle,
                                                       uint32_t dict, const char *key)
{
    return nvt_pickle_text(pickle, nvt_pickle_find(pickle, dict, key));
}

static inline int nvt_pickle_text_has(struct nvt_pickle_text text, const char *part)
{
    return memmem(text.at, text.size, part, strlen(part)) != NULL;
}

static inline int nvt_pickle_text_begins(struct nvt_pickle_text text, const char *part)
{
    return text.size >= strlen(part) && !memcmp(text.at, part, strlen(part));
}

static inline int nvt_pickle_text_ends(struct nvt_pickle_text text, const char *part)
{
    const size_t size = strlen(part);
    return text.size >= size && !memcmp(text.at + text.size - size, part, size);
}

/* Whether a function of that file is one of Python. "<string>", "<frozen importlib>" and "<eval_with_key>.3" are, too. */
static inline int nvt_pickle_is_python(struct nvt_pickle_text file)
{
    return nvt_pickle_text_ends(file, ".py") || nvt_pickle_text_begins(file, "<");
}

/* The name of a file without its folder. */
static inline struct nvt_pickle_text nvt_pickle_base(struct nvt_pickle_text path)
{
    const char *slash = memrchr(path.at, '/', path.size);
    if (slash) {
        path.size -= (size_t)(slash + 1 - path.at);
        path.at = slash + 1;
    }
    return path;
}

#endif
