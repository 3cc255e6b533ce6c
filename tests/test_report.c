/*
 * Documents of the command report: HTML that is well-formed and loads nothing whatever is in a name, Markdown and
 * LaTeX, with and without gnuplot, and in a browser.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/count_of.h"
#include "../plots/story_sections.h"
#include "cli.h"
#include "html_check.h"
#include "report_kit.h"

#define EVIL "</pre><script>alert(1)</script><img src='http://x/y'>\\\"&{}%_$#~^|`"
#define ROW(size, mode, fragments, forward)                                                        \
    "{\"workload\": \"fragmented\", \"size\": " size ", \"batch\": 1, \"mode\": \"" mode           \
    "\", \"fragments\": " fragments ", \"variant\": null, \"backend\": \"host\", \"device\": "     \
    "\"A CPU\", \"iterations\": 5, \"status\": \"ok\", \"forward_ns_mean\": " forward              \
    ", \"forward_ns_std\": 1000, \"backward_ns_mean\": 2e6, \"peak_allocated_bytes\": 1048576, "   \
    "\"parameters\": 4160}\n"

static const char rows[] = ROW("64", "linear", "null", "1234500") ROW("64", "train", "2", "1e6")
    ROW("64", "train", "8", "2e6") ROW("2048", "linear", "null", "240000")
        ROW("2048", "train", "2", "1360000");
static const char env[] =
    "{\"date\": \"2026-11-21\", \"backend\": \"host\", \"device\": \"A CPU\", "
    "\"condition\": \"warm\", \"command\": \"nvtally run " EVIL "\"}\n";

static char *new_directory(void)
{
    char *directory = cli_tempdir();
    cli_write_file(cli_in(directory, "results.jsonl"), rows, strlen(rows));
    cli_write_file(cli_in(directory, "env.json"), env, strlen(env));
    return directory;
}

/* --- HTML ------------------------------------------------------------------------------------- */

static void test_html(void **state)
{
    (void)state;
    char *directory = new_directory(), *text = report_document(directory, directory, "a.html");
    expect_html(text);
    /* A number as it is and as people read it. Where all was measured stands there once. */
    assert_non_null(strstr(text, "<td class=\"n\" data-v=\"1234500.0\">1.23 ms</td>"));
    assert_non_null(
        strstr(text, "<p class=\"origin\">Backend host, device A CPU, 2026-11-21; warm"));
    assert_int_equal(count_of(text, "Backend host, device A CPU, 2026-11-21; warm"), 1);
    assert_non_null(strstr(text, "&lt;/pre&gt;&lt;script&gt;alert(1)"));
    /* A sheet for each size and one beside the published, in the document. */
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 3 : 0);
    assert_null(strstr(text, "gnuplot_plot_1</title>"));
    assert_non_null(strstr(text, ">Published results</h2>"));
    assert_non_null(strstr(text, "published device: not stated"));
    assert_non_null(strstr(text, "data-v=\"2.000\""));
    /* Charts before the tables of their part, and what it was run on behind all results. */
    if (cli_has_gnuplot())
        assert_true(strstr(text, "<svg") < strstr(text, "<table"));
    assert_true(strstr(text, ">Results</h2>") < strstr(text, ">Environment</h2>"));
    assert_true(strstr(text, ">Environment</h2>") < strstr(text, ">Reproduction</h2>"));
    free(text);
    struct cli_result result = report_run(directory, "--title", "A < B & \"C\"", NULL, NULL);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = cli_read_file(cli_in(directory, "report.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_non_null(strstr(text, "<title>A &lt; B &amp; &quot;C&quot;</title>"));
    free(text);
    cli_tempdir_remove(directory);
}

/* What is compared has a document of its own, with its pictures, or without. */
static void test_comparison(void **state)
{
    (void)state;
    char *before = new_directory(), *after = new_directory(), path[4200], *text;
    const char *const argv[] = {"nvtally", "report", before, "vs", after, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = cli_read_file(cli_in(before, "change.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 1 : 0);
    assert_non_null(strstr(text, "of 5 phases, ranges, kernels and functions, "));
    assert_non_null(strstr(text, ">Times and verdicts</h2>"));
    assert_non_null(strstr(text, "All 5 are the same."));
    assert_non_null(strstr(text, "one run per side"));
    assert_non_null(strstr(text, "&lt;/pre&gt;&lt;script&gt;alert(1)"));
    free(text);
    snprintf(path, sizeof(path), "PATH=%s", before);
    const char *const environment[] = {path, NULL};
    const struct cli_options options = {.environment = environment};
    const char *const bare[] = {
        "nvtally", "report",         before, "vs", after, "-o", cli_in(after, "bare.html"),
        "--title", "Then and <now>", NULL};
    result = cli_run_with(&options, bare);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = cli_read_file(cli_in(after, "bare.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_non_null(strstr(text, "Charts left out: "));
    assert_non_null(strstr(text, "<title>Then and &lt;now&gt;</title>"));
    free(text);
    const char *const none[] = {"nvtally", "report", "-", "vs", after, NULL};
    result = cli_run(none);
    cli_expect_status(&result, 2);
    assert_non_null(strstr(result.err, "give one with -o"));
    cli_result_free(&result);
    cli_tempdir_remove(before);
    cli_tempdir_remove(after);
}

static void test_without_gnuplot(void **state)
{
    (void)state;
    char *directory = new_directory(), path[4200];
    snprintf(path, sizeof(path), "PATH=%s", directory);
    const char *const environment[] = {path, NULL};
    const struct cli_options options = {.environment = environment};
    const char *const argv[] = {"nvtally", "report", directory, NULL};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    assert_non_null(strstr(result.err, "charts are left out"));
    cli_result_free(&result);
    char *text = cli_read_file(cli_in(directory, "report.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_non_null(strstr(text, "Charts left out: "));
    free(text);
    cli_tempdir_remove(directory);
}

/* --- in a browser ----------------------------------------------------------------------------- */

static const char *browser(void)
{
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    for (size_t i = 0; i < NVT_COUNT_OF(names); i++) {
        const char *const argv[] = {names[i], "--version", NULL};
        struct cli_result result = cli_run(argv);
        int found = !result.status;
        cli_result_free(&result);
        if (found)
            return names[i];
    }
    return NULL;
}

/* What is in the page's <output> after `script` ran behind all of the document, owned. */
static char *after_script(const char *name, const char *directory, const char *document_text,
                          const char *script, const char *size, const char *option)
{
    char url[4200], profile[4200], screen[64], *page = NULL;
    const char *end = strstr(document_text, "</body>");
    assert_non_null(end);
    assert_true(asprintf(&page, "%.*s<output></output><script>%s</script></body></html>\n",
                         (int)(end - document_text), document_text, script) > 0);
    cli_write_file(cli_in(directory, "page.html"), page, strlen(page));
    free(page);
    snprintf(url, sizeof(url), "file://%s/page.html", directory);
    snprintf(profile, sizeof(profile), "--user-data-dir=%s/profile", directory);
    snprintf(screen, sizeof(screen), "--window-size=%s", size);
    const char *const argv[] = {name,   "--headless", "--no-sandbox", "--disable-gpu",
                                screen, option,       profile,        "--dump-dom",
                                url,    NULL};
    const struct cli_options options = {.timeout_s = 120};
    struct cli_result result = cli_run_with(&options, argv);
    cli_expect_status(&result, 0);
    const char *from = strstr(result.out, "<output>");
    assert_non_null(from);
    from += strlen("<output>");
    char *text = strndup(from, (size_t)(strstr(from, "</output>") - from));
    cli_result_free(&result);
    return text;
}

#define LIGHT "--blink-settings=preferredColorScheme=1"
#define DARK  "--blink-settings=preferredColorScheme=0"

/* Ink on paper has the contrast that WCAG 2.1 wants at level AAA, what is said aside that of AA;
 * and the paper is what the reader's system asks for. */
static void expect_contrast(const char *name, const char *directory, const char *text,
                            const char *scheme, const char *expected)
{
    static const char script[] =
        "const light=color=>{const [r,g,b]=color.match(/[\\d.]+/g).map(c=>{c/=255;"
        "return c<=.04045?c/12.92:((c+.055)/1.055)**2.4});return .2126*r+.7152*g+.0722*b};"
        "const paper=light(getComputedStyle(document.body).backgroundColor);"
        "const ratio=what=>{const ink=light(getComputedStyle(document.querySelector(what)).color);"
        "return (Math.max(ink,paper)+.05)/(Math.min(ink,paper)+.05)};"
        "document.querySelector('output').textContent=[paper>.5?'light':'dark',ratio('main p')>=7,"
        "ratio('td')>=7,ratio('figcaption')>=4.5,ratio('a')>=4.5].join(' ');";
    char wanted[100], *found = after_script(name, directory, text, script, "1400,900", scheme);
    snprintf(wanted, sizeof(wanted), "%s true true true true", expected);
    assert_string_equal(found, wanted);
    free(found);
}

/* Click `clicks` times on a heading of the first table that has it; the column's cells behind. */
static void expect_order(const char *name, const char *directory, const char *text,
                         const char *heading, int clicks, const char *expected)
{
    char script[1500];
    snprintf(script, sizeof(script),
             "const th=[...document.querySelectorAll('th')].find(th=>th.textContent==='%s');"
             "for(let i=0;i<%d;i++)th.click();"
             "document.querySelector('output').textContent=[...th.closest('table').tBodies[0].rows]"
             ".map(row=>row.cells[th.cellIndex].textContent||'none').join(' ');",
             heading, clicks);
    char *order = after_script(name, directory, text, script, "1400,900", LIGHT);
    assert_string_equal(order, expected);
    free(order);
}

static void test_browser(void **state)
{
    (void)state;
    const char *name = browser();
    if (!name) {
        print_message("not run: there is no chromium to open the report in\n");
        skip();
    }
    char *directory = new_directory(), *text = report_document(directory, directory, "a.html");
    /* Numbers by their value, what has none last, whichever way; texts by what they say. */
    expect_order(name, directory, text, "forward", 1, "240 µs 1.00 ms 1.23 ms 1.36 ms 2.00 ms");
    expect_order(name, directory, text, "forward", 2, "2.00 ms 1.36 ms 1.23 ms 1.00 ms 240 µs");
    expect_order(name, directory, text, "size", 2, "2048 2048 64 64 64");
    expect_order(name, directory, text, "fragments", 1, "2 2 8 none none");
    expect_order(name, directory, text, "fragments", 2, "8 2 2 none none");
    expect_order(name, directory, text, "mode", 1, "linear linear train train train");
    expect_order(name, directory, text, "configuration", 1,
                 "size=64 mode=linear size=64 mode=linear size=64 mode=train fragments=2 "
                 "size=64 mode=train fragments=2 size=64 mode=train fragments=8 "
                 "size=64 mode=train fragments=8 size=2048 mode=linear size=2048 mode=linear "
                 "size=2048 mode=train fragments=2 size=2048 mode=train fragments=2");
    /* The page itself does not scroll sideways in a window as narrow as the browser makes them, nor
     * as wide as a phone's. */
    static const char widths[] =
        "const root=document.documentElement,out=[root.scrollWidth<=innerWidth];"
        "document.body.style.width='400px';"
        "out.push(document.body.scrollWidth<=400);"
        "document.querySelector('output').textContent=out.join(' ');";
    char *fits = after_script(name, directory, text, widths, "400,800", LIGHT);
    assert_string_equal(fits, "true true");
    free(fits);
    expect_contrast(name, directory, text, LIGHT, "light");
    expect_contrast(name, directory, text, DARK, "dark");
    free(text);
    cli_tempdir_remove(directory);
}

/* The first finding is in the first screen of a laptop, with what it costs and what to do; facts are JSON, whatever names hold. */
static void test_first_screen(void **state)
{
    (void)state;
    static const char script[] =
        "const seen=element=>{const box=element.getBoundingClientRect();"
        "return box.height>0&&box.top>=0&&box.bottom<=innerHeight&&box.right<=innerWidth};"
        "const finding=document.querySelector('.finding'),facts=JSON.parse("
        "document.getElementById('facts').textContent);"
        "document.querySelector('output').textContent=[innerWidth,seen(finding),"
        "finding.querySelector('summary').textContent.includes('ms of'),"
        "[...finding.querySelectorAll('dt')].some(part=>part.textContent==='Remedy'&&seen(part)),"
        "facts.findings[0].cause===finding.querySelector('summary').firstChild.textContent.trim(),"
        "facts.overview.units].join(' ');";
    const char *name = browser();
    if (!name) {
        print_message("not run: there is no chromium to open the report in\n");
        skip();
    }
    char *directory = cli_tempdir();
    char *text = report_document("docs/results/h100/traces/train.nvt", directory, "a.html");
    expect_html(text);
    /* A window of 1280 x 800 within the screen: headless browsers take its frame off the height. */
    char *found = after_script(name, directory, text, script, "1280,800", LIGHT);
    assert_string_equal(found, "1280 true true true true 10");
    free(found);
    free(text);
    cli_tempdir_remove(directory);
}

/* --- the other formats ------------------------------------------------------------------------ */

static void test_markdown(void **state)
{
    (void)state;
    char *directory = new_directory(), *text = report_document(directory, directory, "a.md");
    assert_int_equal(strncmp(text, "# nvtally report: fragmented\n", 29), 0);
    assert_non_null(strstr(text, "| size | batch | mode |"));
    assert_non_null(strstr(text, "Backend host, device A CPU, 2026-11-21; warm"));
    if (cli_has_gnuplot())
        assert_int_equal(count_of(text, "](data:image/svg+xml;base64,PD94bWwg"), 3);
    free(text);
    cli_tempdir_remove(directory);
}

static void test_latex(void **state)
{
    (void)state;
    char *directory = new_directory(), *text = report_document(directory, directory, "a.tex");
    report_expect_braces(text);
    assert_non_null(strstr(text, "\\toprule"));
    assert_non_null(strstr(text, "\\end{document}"));
    assert_null(strstr(text, "</pre>"));
    if (cli_has_gnuplot()) {
        assert_int_equal(count_of(text, "\\includegraphics"), 3);
        assert_non_null(strstr(text, "{a-fragments-size64-batch1.pdf}"));
        assert_int_equal(access(cli_in(directory, "a-fragments-size64-batch1.pdf"), F_OK), 0);
    }
    free(text);
    report_compile(directory);
    cli_tempdir_remove(directory);
}

/* --- what it is of ---------------------------------------------------------------------------- */

static void test_refused(void **state)
{
    (void)state;
    char *directory = new_directory(), below[4200];
    struct cli_result result = report_run(directory, "-o", "a.docx", NULL, NULL);
    cli_expect_failure(&result, ".html, .md or .tex");
    cli_result_free(&result);
    snprintf(below, sizeof(below), "%s/env.json/a.html", directory);
    result = report_run(directory, "-o", below, NULL, NULL);
    cli_expect_failure(&result, "env.json/a.html");
    cli_result_free(&result);
    /* What stands there stays when the new one cannot be written. */
    snprintf(below, sizeof(below), "%s/a.html", directory);
    assert_int_equal(mkdir(below, 0777), 0);
    result = report_run(directory, "-o", below, NULL, NULL);
    cli_expect_failure(&result, "a.html");
    cli_result_free(&result);
    snprintf(below, sizeof(below), "%s/a.html.part", directory);
    assert_int_equal(access(below, F_OK), -1);
    cli_tempdir_remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_comparison),
        cmocka_unit_test(test_without_gnuplot),
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_latex),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_browser),
        cmocka_unit_test(test_first_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
