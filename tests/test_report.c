/*
 * Documents of the command report: HTML that is well-formed and loads nothing whatever is in a
 * name, Markdown and LaTeX, with and without gnuplot, of measured and of published runs and of
 * traces.
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

static struct cli_result report(const char *a, const char *b, const char *c, const char *d,
                                const char *e)
{
    const char *const argv[] = {"nvtally", "report", a, b, c, d, e, NULL};
    return cli_run(argv);
}

/* The document that a report of `input` writes as NAME, owned. */
static char *document(const char *input, const char *directory, const char *name)
{
    const char *path = cli_in(directory, name);
    struct cli_result result = report(input, "-o", path, NULL, NULL);
    cli_expect_status(&result, 0);
    assert_int_equal(strncmp(result.out, path, strlen(path)), 0);
    cli_result_free(&result);
    char *text = cli_read_file(path, NULL);
    assert_non_null(text);
    return text;
}

/* --- HTML ------------------------------------------------------------------------------------- */

static void test_html(void **state)
{
    (void)state;
    char *directory = new_directory(), *text = document(directory, directory, "a.html");
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
    struct cli_result result = report(directory, "--title", "A < B & \"C\"", NULL, NULL);
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
    char *directory = new_directory(), *text = document(directory, directory, "a.html");
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
    char *text = document("docs/results/h100/traces/train.nvt", directory, "a.html");
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
    char *directory = new_directory(), *text = document(directory, directory, "a.md");
    assert_int_equal(strncmp(text, "# nvtally report: fragmented\n", 29), 0);
    assert_non_null(strstr(text, "| size | batch | mode |"));
    assert_non_null(strstr(text, "Backend host, device A CPU, 2026-11-21; warm"));
    if (cli_has_gnuplot())
        assert_int_equal(count_of(text, "](data:image/svg+xml;base64,PD94bWwg"), 3);
    free(text);
    cli_tempdir_remove(directory);
}

/* Braces in their order, those of \{ and \} left out. */
static void expect_braces(const char *text)
{
    long depth = 0;
    for (; *text; text++) {
        if (*text == '\\' && text[1]) {
            text++;
            continue;
        }
        depth += (*text == '{') - (*text == '}');
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
}

/* A trace of PyTorch's profiler whose names are made to end, start or run something. */
static const char hostile_trace[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"\\\\end{document} "
    "$x_1^2$ "
    "%d\"}], \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", \"pid\": 1, \"tid\": 1, "
    "\"ts\": 0, \"dur\": 900},\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"\\\\input{/etc/passwd} & # ~ ^ { } "
    "</svg><script>alert(1)</script> ' ` \\u0001 \\\\\\\\[2em] $ % _ \\\" -- ---\", \"pid\": 1, "
    "\"tid\": 1, "
    "\"ts\": 10, \"dur\": 500},\n"
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, "
    "\"tid\": 1, \"ts\": 20, \"dur\": 5, \"args\": {\"correlation\": 1}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k<'`touch pwned`'>(\\\\write18{x}) [CUDA] "
    "*x*\", "
    "\"pid\": 0, \"tid\": 7, \"ts\": 30, \"dur\": 50, \"args\": {\"correlation\": 1, \"device\": "
    "0, "
    "\"stream\": 7}},\n"
    "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": "
    "1, "
    "\"ts\": 40, \"s\": \"t\", \"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Addr\": 1, "
    "\"Bytes\": 512, \"Total Allocated\": 512, \"Total Reserved\": 1024}}\n]}\n";

static void compile(const char *directory)
{
    const char *const known[] = {"pdflatex", "--version", NULL};
    struct cli_result result = cli_run(known);
    int found = !result.status;
    cli_result_free(&result);
    if (!found) {
        print_message("not run: there is no pdflatex to compile the report with\n");
        return;
    }
    const char *const argv[] = {"pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex",
                                NULL};
    const struct cli_options options = {.directory = directory, .timeout_s = 120};
    result = cli_run_with(&options, argv);
    if (result.status)
        print_error("%s\n", result.out);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    assert_int_equal(access(cli_in(directory, "a.pdf"), F_OK), 0);
}

static void test_latex(void **state)
{
    (void)state;
    char *directory = new_directory(), *text = document(directory, directory, "a.tex");
    expect_braces(text);
    assert_non_null(strstr(text, "\\toprule"));
    assert_non_null(strstr(text, "\\end{document}"));
    assert_null(strstr(text, "</pre>"));
    if (cli_has_gnuplot()) {
        assert_int_equal(count_of(text, "\\includegraphics"), 3);
        assert_non_null(strstr(text, "{a-fragments-size64-batch1.pdf}"));
        assert_int_equal(access(cli_in(directory, "a-fragments-size64-batch1.pdf"), F_OK), 0);
    }
    free(text);
    compile(directory);
    cli_tempdir_remove(directory);
}

/* --- what it is of ---------------------------------------------------------------------------- */

/* Two steps of 100 us and another thread's 20 us: a step alone, with over half of it all, would say nothing. */
static void says_first_where_the_host_was(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int tid, ts, dur;
    } ranges[] = {{"ProfilerStep#1", 1, 0, 100},   {"forward", 1, 5, 30},
                  {"backward", 1, 40, 50},         {"load", 2, 30, 20},
                  {"ProfilerStep#2", 1, 100, 100}, {"backward", 1, 140, 52},
                  {"forward", 1, 100, 36},         {"k", 1, 101, 20}};
    char *directory = cli_tempdir(), trace[2000] = "[", path[4200];
    for (size_t i = 0; i < NVT_COUNT_OF(ranges); i++)
        snprintf(trace + strlen(trace), sizeof(trace) - strlen(trace),
                 "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,"
                 "\"ts\":%d,\"dur\":%d}%s",
                 i ? "," : "", ranges[i].name, ranges[i].tid, ranges[i].ts, ranges[i].dur,
                 i + 1 < NVT_COUNT_OF(ranges) ? "" : "]");
    snprintf(path, sizeof(path), "%s/steps.json", directory);
    cli_write_file(path, trace, strlen(trace));
    char *text = document(path, directory, "a.md");
    assert_non_null(strstr(text, "- **Iteration**: 100 µs, median of 2\n"));
    assert_non_null(strstr(text, "  - Host: of the time in ranges 46.4 % backward, 30.0 % forward, "
                                 "9.1 % load\n"));
    free(text);
    cli_tempdir_remove(directory);
}

/* The timeline takes no more than was asked for, and none where that is 0 or too little for anything. */
static void test_embed(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        size_t most;
        const char *detail; /* NULL: none */
    } sizes[] = {{"0", 0, NULL},
                 {"1K", 0, NULL},
                 {"20K", 20 << 10, "The whole recording, coarsely"},
                 {"100K", 100 << 10, "The median iteration in more detail"},
                 {"2M", 2 << 20, "The median iteration at full detail"}};
    char *directory = cli_tempdir();
    const char *path = cli_in(directory, "t.html");
    for (size_t i = 0; i < NVT_COUNT_OF(sizes); i++) {
        const char *const argv[] = {"nvtally",     "report", "docs/results/h100/traces/train.nvt",
                                    "-o",          path,     "--embed",
                                    sizes[i].size, NULL};
        struct cli_result result = cli_run(argv);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
        char *text = cli_read_file(path, NULL);
        expect_html(text);
        const char *at = strstr(text, "id=\"timeline\">");
        assert_int_equal(at != NULL, sizes[i].detail != NULL);
        if (at && (size_t)(strstr(at, "</script>") - at) > sizes[i].most + 100)
            fail_msg("--embed %s: %td bytes", sizes[i].size, strstr(at, "</script>") - at);
        if (at)
            assert_non_null(strstr(text, sizes[i].detail));
        free(text);
    }
    static const char *const wrong[] = {"-1", "x", "2Q", "", "0K", "9G"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        struct cli_result result =
            report("docs/results/h100/traces/train.nvt", "--embed", wrong[i], NULL, NULL);
        cli_expect_failure(&result, "--embed");
        cli_result_free(&result);
    }
    cli_tempdir_remove(directory);
}

static void test_hostile_trace(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), trace[4200];
    snprintf(trace, sizeof(trace), "%s/odd.json", directory);
    cli_write_file(trace, hostile_trace, strlen(hostile_trace));
    char *text = document(trace, directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "&lt;script&gt;alert(1)"));
    /* Facts for programs, and the timeline, end nowhere but at their end. */
    size_t scripts = 0;
    for (const char *at = text; (at = strstr(at, "<script type=\"application/json\"")); scripts++) {
        at = strchr(at + 1, '<');
        assert_int_equal(strncmp(at, "</script>\n<", 11), 0);
    }
    assert_int_equal(scripts, 3 + 3); /* and flame graphs */
    const char *facts = strstr(text, "id=\"facts\"");
    assert_non_null(facts);
    assert_non_null(strstr(facts, "\\u003c/svg\\u003e\\u003cscript"));
    /* What ran when, both flames, ranges, kernels, memory and its peak; waits are not on record, so no path. */
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 7 : 0);
    free(text);
    text = document(trace, directory, "a.tex");
    expect_braces(text);
    free(text);
    compile(directory);
    text = document(trace, directory, "a.md");
    assert_null(strstr(text, "<script>"));
    free(text);
    cli_tempdir_remove(directory);
}

/* Four traces, two with the same name: charts of the first three, what all have in common once, how
 * busy their devices were. */
static void test_several_traces(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), *text, trace[2000], path[4][4200];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s%s.json", directory, i == 1 ? "below/" : "",
                 i < 2    ? "same"
                 : i == 2 ? "other"
                          : "last");
        snprintf(
            trace, sizeof(trace),
            "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"A GPU\"}], "
            "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
            "\"forward\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": %d}, "
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, "
            "\"ts\": 0, \"dur\": 30, \"args\": {\"correlation\": 1, \"device\": 0, \"stream\": "
            "7}}, {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
            "\"pid\": 1, \"tid\": 1, \"ts\": 300, \"dur\": 10, \"args\": {\"correlation\": 2}}, "
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaDeviceSynchronize\", "
            "\"pid\": 1, "
            "\"tid\": 1, \"ts\": 320, \"dur\": 90, \"args\": {\"correlation\": 3}}, "
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"softmax\", \"pid\": 0, \"tid\": "
            "7, \"ts\": 390, \"dur\": 10, \"args\": {\"correlation\": 2, \"device\": 0, "
            "\"stream\": 7}}]}\n",
            500 + i);
        if (i == 1)
            assert_int_equal(mkdir(cli_in(directory, "below"), 0777), 0);
        cli_write_file(path[i], trace, strlen(trace));
    }
    const char *const argv[] = {"nvtally", "report", path[0], path[1],
                                path[2],   path[3],  "-o",    cli_in(directory, "a.html"),
                                NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = cli_read_file(cli_in(directory, "a.html"), NULL);
    assert_non_null(text);
    expect_html(text);
    assert_non_null(strstr(text, "Charts are of the first 3 of 4 traces; left out: last.json."));
    /* What ran when, a flame, ranges, kernels and the critical path of each. */
    assert_int_equal(count_of(text, "<svg"), cli_has_gnuplot() ? 15 : 0);
    assert_int_equal(count_of(text, "<td>kineto</td>"), 1);
    assert_non_null(strstr(text, "What all of them have in common"));
    assert_non_null(strstr(text, "0.000502 s"));
    assert_non_null(strstr(text, "<span>GPU busy</span><b>10 %</b>"));
    assert_non_null(strstr(text, "<dt>Top kernels</dt>\n<dd>75.0 % gemm, 25.0 % softmax"));
    assert_non_null(
        strstr(text, "100.0 % of the devices&#39; idle time while the CPU ran non-CUDA code"));
    free(text);
    cli_tempdir_remove(directory);
}

static void test_published(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *const argv[] = {"nvtally", "import",   "data/published/gpipe.log",
                                "-o",      directory,  "--source",
                                "A < B",   "--device", "four GPUs",
                                NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = document(directory, directory, "a.html");
    expect_html(text);
    assert_int_equal(count_of(text, "<td>published</td>"), 84);
    assert_non_null(
        strstr(text, "84 published configurations, measured on another machine and not here"));
    assert_non_null(strstr(text, "device four GPUs; published: A &lt; B"));
    /* No figure of others' is set beside itself, and none is ours to reproduce. */
    assert_null(strstr(text, "Published results"));
    assert_null(strstr(text, "<pre>nvtally import"));
    free(text);
    /* One whose document says what a profiler cost: that was not measured here either. */
    char *other = cli_tempdir();
    const char *const import[] = {"nvtally", "import", "data/published/transformer.md",
                                  "-o",      other,    NULL};
    result = cli_run(import);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    text = document(other, other, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, ">Profiling overhead</h2>"));
    assert_non_null(strstr(text, "as published."));
    assert_null(strstr(text, "Not measured in this run"));
    free(text);
    cli_tempdir_remove(other);
    cli_tempdir_remove(directory);
}

static void test_trace(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    const char *const argv[] = {
        "nvtally", "run",      "linear", "--backend",    "host", "--size", "64",      "--batch",
        "1",       "--warmup", "1",      "--iterations", "5",    "-o",     directory, NULL};
    struct cli_result result = cli_run(argv);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    char *text = document(directory, directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "1 configuration, 1 measured"));
    assert_non_null(strstr(text, "<pre>nvtally run linear --backend host"));
    free(text);
    text = document(cli_in(directory, "linear-size64-batch1-linear.nvt"), directory, "b.html");
    expect_html(text);
    assert_non_null(strstr(text, "nvtally:forward"));
    assert_non_null(strstr(text, ">Findings<"));
    assert_non_null(strstr(text, ">recording NVTX</th>"));
    free(text);
    cli_tempdir_remove(directory);
}

/* A range that never ended is in the document, and among the facts that programs read. */
static void test_open_ranges(void **state)
{
    (void)state;
    char *directory = cli_tempdir();
    static const char json[] = "{\"traceEvents\": ["
                               "{\"ph\": \"B\", \"name\": \"server\", \"pid\": 1, \"tid\": 1, "
                               "\"ts\": 5},"
                               "{\"ph\": \"X\", \"name\": \"request\", \"pid\": 1, \"tid\": 1, "
                               "\"ts\": 10, \"dur\": 20}]}";
    cli_write_file(cli_in(directory, "open.json"), json, sizeof(json) - 1);
    char *text = document(cli_in(directory, "open.json"), directory, "a.html");
    expect_html(text);
    assert_non_null(strstr(text, "Ranges still open at the end"));
    assert_non_null(strstr(text, "\"open_ranges\": ["));
    assert_non_null(strstr(text, "{\"name\": \"server\", \"count\": 1, \"since_ns\": 0"));
    free(text);
    cli_tempdir_remove(directory);
}

/* Three plain ranges at 20 ns, one with a colour at 50, a mark at 10, in 1000 ns of one thread. */
static void test_cost_of_recording(void **state)
{
    (void)state;
    static const struct nvt_event_cost costs[] = {{.ps = 20000, .what = NVT_COST_PUSH_POP},
                                                  {.ps = 50000, .what = NVT_COST_ATTRIBUTES},
                                                  {.ps = 10000, .what = NVT_COST_MARK}};
    struct nvt_error err = NVT_ERROR_INIT;
    struct nvt_trace *trace = nvt_trace_new("/tmp/cost.nvt", "test");
    uint32_t process = nvt_trace_process(trace, 1), thread = nvt_trace_thread(trace, process, 1);
    for (int i = 0; i < 3; i++)
        assert_true(nvt_event_cost_add(trace, &costs[i]) != NVT_NONE);
    for (int i = 0; i < 4; i++) {
        struct nvt_range range = {.start = 250 * i,
                                  .end = 250 * i + 250,
                                  .thread = thread,
                                  .end_thread = thread,
                                  .flags = i == 3 ? NVT_RANGE_HAS_COLOR : 0};
        assert_true(nvt_range_add(trace, &range) != NVT_NONE);
    }
    struct nvt_mark mark = {.time = 500, .thread = thread};
    assert_true(nvt_mark_add(trace, &mark) != NVT_NONE);
    trace->threads.events[thread] = 9;
    trace->threads.waited_ns[thread] = 3000;
    assert_int_equal(nvt_trace_finish(trace, &err), 0);
    struct nvt_input_trace given = {.trace = trace};
    struct nvt_input input = {.traces = &given, .trace_count = 1};
    struct nvt_table *table = nvt_story_cost(&input);
    assert_non_null(table);
    assert_int_equal(nvt_table_rows(table), 1);
    assert_int_equal(nvt_table_int(table, 0, 1), 4);
    assert_float_equal(nvt_table_real(table, 0, 3), 120e-6, 1e-12);
    assert_float_equal(nvt_table_real(table, 0, 4), 12, 1e-9);
    assert_float_equal(nvt_table_real(table, 0, 5), 3e-3, 1e-12);
    assert_true(nvt_table_is_null(table, 0, 6));
    nvt_table_free(table);
    nvt_trace_free(trace);
}

/* Long tables are cut, and say where the rest is: in a report that there is. */
static void test_long_tables(void **state)
{
    (void)state;
    char *directory = cli_tempdir(), with_slash[4200], name[64];
    const char *const run[] = {"nvtally",
                               "run",
                               "accumulate",
                               "--count",
                               "1,2,3,4",
                               "--form",
                               "fp32,fp16,mixed,cast,bf16,kahan,pairwise,kahan-bf16",
                               "--warmup",
                               "0",
                               "--iterations",
                               "1",
                               "--backend",
                               "host",
                               "-o",
                               directory,
                               NULL};
    struct cli_result result = cli_run(run);
    cli_expect_status(&result, 0);
    cli_result_free(&result);
    snprintf(with_slash, sizeof(with_slash), "%s/", directory);
    char *text = document(with_slash, directory, "long.md");
    int cut = 0;
    for (char *at = text; (at = strstr(at, "The first ")); at++, cut++) {
        const char *end = strchr(at, '\n'), *other = strstr(at, "nvtally stats -r ");
        if (!other || other > end)
            continue;
        size_t used = 0;
        for (other += 17; *other != ' '; other++)
            if (*other != '\\')
                name[used++] = *other;
        name[used] = 0;
        const char *const stats[] = {"nvtally", "stats", "-r", name, directory, NULL};
        result = cli_run(stats);
        cli_expect_status(&result, 0);
        cli_result_free(&result);
    }
    assert_true(cut > 1);
    assert_null(strstr(text, "//"));
    free(text);
    cli_tempdir_remove(directory);
}

static void test_refused(void **state)
{
    (void)state;
    char *directory = new_directory(), below[4200];
    struct cli_result result = report(directory, "-o", "a.docx", NULL, NULL);
    cli_expect_failure(&result, ".html, .md or .tex");
    cli_result_free(&result);
    snprintf(below, sizeof(below), "%s/env.json/a.html", directory);
    result = report(directory, "-o", below, NULL, NULL);
    cli_expect_failure(&result, "env.json/a.html");
    cli_result_free(&result);
    /* What stands there stays when the new one cannot be written. */
    snprintf(below, sizeof(below), "%s/a.html", directory);
    assert_int_equal(mkdir(below, 0777), 0);
    result = report(directory, "-o", below, NULL, NULL);
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
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_open_ranges),
        cmocka_unit_test(test_long_tables),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_browser),
        cmocka_unit_test(test_first_screen),
        cmocka_unit_test(says_first_where_the_host_was),
        cmocka_unit_test(test_embed),
        cmocka_unit_test(test_hostile_trace),
        cmocka_unit_test(test_cost_of_recording),
        cmocka_unit_test(test_several_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
