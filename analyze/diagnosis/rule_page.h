/*
 * The page of a rule: what its findings mean, made of the rule's own fields. What `diagnose --explain`, the manual page
 * nvtally-findings(7) and reports print.
 */
#ifndef NVT_RULE_PAGE_H
#define NVT_RULE_PAGE_H

#include "diagnose.h"

/* A part: a title, and a text in whole sentences. */
struct nvt_rule_part {
    const char *title; /* static text */
    char text[2048];
};

#define NVT_RULE_PARTS 8

/* Fill the parts of a page in their order. How many there are, at most NVT_RULE_PARTS; the first says what is found. */
size_t nvt_rule_page(const struct nvt_rule *rule, struct nvt_rule_part parts[NVT_RULE_PARTS]);

/* The rule whose cause is called so, whatever its case, with "-" or "_" for blanks ("gpu-idle"); NULL: there is none. */
const struct nvt_rule *nvt_rule_named(const char *name);

/* Append what a rule needs and no trace has, of `has` (nvt_diagnose_has), in the words of nvt_diagnose_lack; nothing where nothing is
 * missing. 0, or -1 when out of memory. */
int nvt_rule_put_lack(const struct nvt_input *input, const struct nvt_rule *rule, unsigned has,
                      struct nvt_buffer *text);

#endif
