#include "rule_page.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Half a sentence as a whole one: with a capital, unless it begins with a name, and a full stop. */
static void put_sentence(const char *text, char *out, size_t size)
{
    const size_t word = strcspn(text, " ,:;()");
    int is_name = 0;
    for (size_t i = 0; i < word; i++)
        is_name |= isupper((unsigned char)text[i]) || isdigit((unsigned char)text[i]) ||
                   strchr("_.=-", text[i]) != NULL;
    snprintf(out, size, "%s", text);
    if (!is_name)
        out[0] = (char)toupper((unsigned char)out[0]);
    const size_t length = strlen(out);
    if (length && length + 1 < size && !strchr(".!?", out[length - 1]))
        memcpy(out + length, ".", 2);
}

static void add_part(struct nvt_rule_part *parts, size_t *count, const char *title,
                     const char *text)
{
    if (!text)
        return;
    parts[*count].title = title;
    put_sentence(text, parts[*count].text, sizeof(parts->text));
    ++*count;
}

size_t nvt_rule_page(const struct nvt_rule *rule, struct nvt_rule_part parts[NVT_RULE_PARTS])
{
    const char *const sure = nvt_confidence_meaning(rule->confidence);
    char remedy[1024], confidence[256];
    size_t count = 0;
    snprintf(remedy, sizeof(remedy), "%s%s%s", rule->remedy,
             rule->in_pytorch ? ". In PyTorch: " : "", rule->in_pytorch ? rule->in_pytorch : "");
    snprintf(confidence, sizeof(confidence), "%s: %s", nvt_confidence_name(rule->confidence), sure);
    add_part(parts, &count, "What it finds", rule->about);
    add_part(parts, &count, "What it means", rule->means);
    add_part(parts, &count, "How it is found", rule->found);
    add_part(parts, &count, "Threshold", rule->threshold);
    add_part(parts, &count, "Remedy", remedy);
    add_part(parts, &count, "What helped others", rule->helped);
    add_part(parts, &count, "Confused with", rule->confused);
    add_part(parts, &count, "Confidence", confidence);
    return count;
}

static int is_called(const char *cause, const char *name)
{
    for (; *cause && *name; cause++, name++) {
        const char given = strchr("-_", *name) ? ' ' : *name;
        const char own = strchr("-_", *cause) ? ' ' : *cause;
        if (tolower((unsigned char)given) != tolower((unsigned char)own))
            return 0;
    }
    return *cause == *name;
}

const struct nvt_rule *nvt_rule_named(const char *name)
{
    size_t count;
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < count; i++)
        if (is_called(rules[i]->cause, name))
            return rules[i];
    return NULL;
}
