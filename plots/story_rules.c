/*
 * The last part of a report: what the rules of its findings mean.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "../analyze/diagnosis/rule_page.h"
#include "story_sections.h"

const char *nvt_story_anchor(const struct nvt_rule *rule, char out[NVT_ANCHOR_MAX])
{
    snprintf(out, NVT_ANCHOR_MAX, "rule-%s", rule->cause);
    for (char *at = out; *at; at++)
        *at = (char)(isalnum((unsigned char)*at) ? tolower((unsigned char)*at) : '-');
    return out;
}

static void put_page(const struct nvt_rule *rule, const char *anchor, struct nvt_document *document)
{
    struct nvt_rule_part parts[NVT_RULE_PARTS];
    const size_t count = nvt_rule_page(rule, parts);
    struct nvt_buffer text = {0};
    int failed = 0;
    for (size_t i = 0; i < count; i++)
        failed |=
            nvt_buffer_printf(&text, "%s%s: %s", i ? "\n" : "", parts[i].title, parts[i].text);
    if (failed || nvt_buffer_append(&text, "", 1))
        document->failed = 1;
    else
        nvt_document_page(document, rule->cause, anchor, (const char *)text.data);
    nvt_buffer_free(&text);
}

/* Whether a finding among the first `count` blocks links to it. */
static int is_linked(const struct nvt_document *document, size_t count, const char *anchor)
{
    for (size_t i = 0; i < count; i++) {
        const struct nvt_block *block = &document->blocks[i];
        if (block->kind == NVT_BLOCK_FINDING && block->anchor && !strcmp(block->anchor, anchor))
            return 1;
    }
    return 0;
}

/* The page that a block links to, unless one before it does. */
static void put_page_of(size_t block, struct nvt_document *document)
{
    size_t count;
    char anchor[NVT_ANCHOR_MAX];
    const struct nvt_rule *const *rules = nvt_rules(&count);
    for (size_t i = 0; i < count; i++) {
        nvt_story_anchor(rules[i], anchor);
        if (is_linked(document, block + 1, anchor) && !is_linked(document, block, anchor))
            put_page(rules[i], anchor, document);
    }
}

void nvt_story_rules(struct nvt_document *document)
{
    const size_t count = document->count;
    int has_heading = 0;
    for (size_t i = 0; i < count && !document->failed; i++) {
        if (document->blocks[i].kind != NVT_BLOCK_FINDING)
            continue;
        if (!has_heading++)
            nvt_document_heading(document, "What the findings mean");
        put_page_of(i, document);
    }
}
