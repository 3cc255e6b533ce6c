/*
 * record --listen and nvtally ctl --to: who has the key gets answers, and nobody else does, whatever he sends, again or instead.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../collectors/ctl_hex.h"
#include "../collectors/ctl_net.h"
#include "../lib/count_of.h"
#include "record_kit.h"

#define A_MINUTE INT64_C(60000000000)

/* --- HMAC-SHA256 ------------------------------------------------------------------------------------ */

static struct nvt_ctl_key *key, *other_key;

static const char *make_key(const char *name, const char *text, mode_t mode)
{
    const char *path = recorded_in(name);
    cli_write_file(path, text, strlen(text));
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static const char key_text[] = "0123456789abcdef0123456789abcdef";

/* A known value: HMAC-SHA256 of the key above, of "request\0", 32 bytes 'a', 32 bytes 'b', "start" (Python's hmac). */
static void signs(void **state)
{
    (void)state;
    unsigned char a[NVT_CTL_NONCE], b[NVT_CTL_NONCE], mac[NVT_CTL_MAC];
    char digits[2 * NVT_CTL_MAC + 1];
    memset(a, 'a', sizeof(a));
    memset(b, 'b', sizeof(b));
    struct nvt_ctl_signed message = {"request", a, b, "start", 5};
    assert_int_equal(nvt_ctl_key_sign(key, &message, mac), 0);
    nvt_ctl_hex(mac, sizeof(mac), digits);
    assert_string_equal(digits, "68d035a47a42e63583729900563390e96dee41433890def7c903f00559eb6a86");
    assert_true(nvt_ctl_key_fits(key, &message, mac));
    assert_false(nvt_ctl_key_fits(other_key, &message, mac));
    mac[31] ^= 1;
    assert_false(nvt_ctl_key_fits(key, &message, mac));
    mac[31] ^= 1;
    message.kind = "answer";
    assert_false(nvt_ctl_key_fits(key, &message, mac));
    message = (struct nvt_ctl_signed){"request", b, a, "start", 5};
    assert_false(nvt_ctl_key_fits(key, &message, mac));
    message = (struct nvt_ctl_signed){"request", a, b, "start", 4};
    assert_false(nvt_ctl_key_fits(key, &message, mac));
}

static void expect_no_key(const char *path, const char *why)
{
    struct nvt_error err = NVT_ERROR_INIT;
    assert_null(nvt_ctl_key_read(path, &err));
    if (!strstr(err.message, why))
        fail_msg("%s: %s", path, err.message);
}

static void keys_that_are_none(void **state)
{
    (void)state;
    char much[4098];
    memset(much, 'x', sizeof(much) - 1);
    much[sizeof(much) - 1] = 0;
    expect_no_key("/nowhere", "No such file");
    expect_no_key(recorded_in("."), "must be a file that you alone may read");
    expect_no_key(make_key("open", key_text, 0644), "must be a file that you alone may read");
    expect_no_key(make_key("group", key_text, 0640), "must be a file that you alone may read");
    expect_no_key(make_key("short", key_text + 1, 0600), "from 32 to 4096 bytes");
    expect_no_key(make_key("empty", "", 0600), "from 32 to 4096 bytes");
    expect_no_key(make_key("much", much, 0600), "from 32 to 4096 bytes");
    const char *path = make_key("others", key_text, 0600);
    if (!geteuid() && !chown(path, 12345, 12345))
        expect_no_key(path, "must be a file that you alone may read");
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host, *port; /* NULL: it is none */
    } cases[] = {{"node1", "node1", NVT_CTL_PORT},
                 {"node1:80", "node1", "80"},
                 {"10.0.0.1:0", "10.0.0.1", "0"},
                 {"[::1]:7", "::1", "7"},
                 {"[::1]", "::1", NVT_CTL_PORT},
                 {"::1", NULL, NULL},
                 {"", NULL, NULL},
                 {":80", NULL, NULL},
                 {"[]:80", NULL, NULL},
                 {"[::1", NULL, NULL},
                 {"[::1]x", NULL, NULL},
                 {"node1:", NULL, NULL},
                 {"node1:x", NULL, NULL},
                 {"node1:-1", NULL, NULL},
                 {"node1:65536", NULL, NULL},
                 {"node1:123456789012", NULL, NULL}};
    for (size_t i = 0; i < NVT_COUNT_OF(cases); i++) {
        char host[NVT_CTL_ADDRESS], port[8];
        struct nvt_error err = NVT_ERROR_INIT;
        const int status = nvt_ctl_net_parse(cases[i].text, host, port, &err);
        if (status != (cases[i].host ? 0 : -1))
            fail_msg("'%s': %d", cases[i].text, status);
        if (cases[i].host) {
            assert_string_equal(host, cases[i].host);
            assert_string_equal(port, cases[i].port);
        }
    }
}

/* --- a server --------------------------------------------------------------------------------------- */

static struct nvt_ctl_net_server server;
static _Atomic int over, heard;
static pthread_t thread;

static int echo(void *context, const char *request, char *text, size_t size)
{
    (void)context;
    heard++;
    if (!strcmp(request, "much")) {
        memset(text, 'm', size - 1);
        text[size - 1] = 0;
        return 0;
    }
    snprintf(text, size, "heard %.200s", request);
    return !strcmp(request, "fail") ? -1 : 0;
}

static void *serve(void *context)
{
    struct pollfd pollers[NVT_CTL_NET_CLIENTS + 1];
    while (!over) {
        const size_t count = nvt_ctl_net_descriptors(&server, pollers);
        poll(pollers, count, 20);
        nvt_ctl_net_serve(&server, echo, context);
    }
    return NULL;
}

static int begin_server(void **state)
{
    struct nvt_error err = NVT_ERROR_INIT;
    (void)state;
    over = heard = 0;
    if (nvt_ctl_net_listen(&server, "127.0.0.1:0", key, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    return pthread_create(&thread, NULL, serve, NULL);
}

static int end_server(void **state)
{
    (void)state;
    over = 1;
    pthread_join(thread, NULL);
    nvt_ctl_net_close(&server);
    return 0;
}

static struct nvt_ctl_net_way way;
static struct nvt_ctl_session sessions[4];

static int ask_with(const struct nvt_ctl_key *with, const char *request, char *text,
                    struct nvt_error *err)
{
    nvt_ctl_net_reach(&way, with);
    assert_int_equal(nvt_ctl_net_sessions(&way, server.name, sessions, 4, err), 1);
    return nvt_ctl_ask(sessions, request, A_MINUTE, text, NVT_CTL_ANSWER_MOST, err);
}

static void answers_who_has_the_key(void **state)
{
    (void)state;
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    assert_int_equal(ask_with(key, "start", text, &err), 0);
    assert_string_equal(text, "heard start");
    assert_int_equal(ask_with(key, "fail", text, &err), 1);
    assert_string_equal(text, "heard fail");
    assert_int_equal(ask_with(key, "two\nlines", text, &err), 0);
    assert_string_equal(text, "heard two\nlines");
    assert_int_equal(ask_with(key, "much", text, &err), 0);
    assert_true(strlen(text) > NVT_CTL_ANSWER_MOST - 10);
    assert_int_equal(heard, 4);
    assert_int_equal(ask_with(other_key, "start", text, &err), -1);
    assert_non_null(strstr(err.message, "gives no answer: its key is another one"));
    char much[NVT_CTL_REQUEST_MOST + 1];
    memset(much, 'x', sizeof(much) - 1);
    much[sizeof(much) - 1] = 0;
    assert_int_equal(ask_with(key, much, text, &err), -1);
    assert_non_null(strstr(err.message, "too long"));
    assert_int_equal(heard, 4);
    assert_int_equal(server.refused, 1);
}

/* Two controllers at once. */
static void many_requests(void **state)
{
    (void)state;
    const int count = cli_is_long() ? 5000 : 500;
    const pid_t other = fork();
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    int failed = 0;
    for (int i = 0; i < count && !failed; i++) {
        failed = ask_with(key, "status", text, &err) || strcmp(text, "heard status") != 0;
    }
    if (!other)
        _exit(failed);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    if (failed)
        fail_msg("%s", err.message);
    assert_int_equal(heard, 2 * count);
}

/* --- others ----------------------------------------------------------------------------------------- */

static int connect_raw(unsigned char nonce[NVT_CTL_NONCE])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char hello[100];
    const char *port = strchr(server.name, ':') + 1;
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    if (!nonce)
        return descriptor;
    size_t size = 0;
    while (size < 75) {
        const ssize_t length = recv(descriptor, hello + size, sizeof(hello) - size, 0);
        assert_true(length > 0);
        size += (size_t)length;
    }
    assert_memory_equal(hello, "nvtally 1 ", 10);
    assert_int_equal(nvt_ctl_unhex(hello + 10, nonce, NVT_CTL_NONCE), 0);
    return descriptor;
}

/* A request as it goes over the line. */
static size_t sign(const unsigned char *nonce, const char *text, size_t length, char *out)
{
    unsigned char own[NVT_CTL_NONCE], mac[NVT_CTL_MAC];
    char a[2 * NVT_CTL_NONCE + 1], b[2 * NVT_CTL_MAC + 1];
    memset(own, 7, sizeof(own));
    const struct nvt_ctl_signed message = {"request", nonce, own, text, length};
    assert_int_equal(nvt_ctl_key_sign(key, &message, mac), 0);
    nvt_ctl_hex(own, sizeof(own), a);
    nvt_ctl_hex(mac, sizeof(mac), b);
    const int header = sprintf(out, "%s %s %zu\n", a, b, length);
    memcpy(out + header, text, length);
    return (size_t)header + length;
}

static void send_raw(int descriptor, const char *bytes, size_t size)
{
    (void)!send(descriptor, bytes, size, MSG_NOSIGNAL);
}

/* Bytes that came until the connection ended. */
static size_t read_all(int descriptor)
{
    char bytes[512];
    size_t all = 0;
    for (ssize_t size; (size = recv(descriptor, bytes, sizeof(bytes), 0)) > 0;)
        all += (size_t)size;
    close(descriptor);
    return all;
}

static void what_was_sent_once_fits_no_more(void **state)
{
    (void)state;
    unsigned char nonce[NVT_CTL_NONCE], next[NVT_CTL_NONCE];
    char packet[NVT_CTL_NET_HEADER + 64];
    int descriptor = connect_raw(nonce);
    const size_t size = sign(nonce, "start", 5, packet);
    send_raw(descriptor, packet, size);
    assert_true(read_all(descriptor) > 70);
    assert_int_equal(heard, 1);
    for (int i = 0; i < 3; i++) {
        descriptor = connect_raw(next);
        assert_memory_not_equal(nonce, next, sizeof(nonce));
        send_raw(descriptor, packet, size);
        assert_int_equal(read_all(descriptor), 0);
    }
    assert_int_equal(heard, 1);
    assert_int_equal(server.refused, 3);
}

static void what_is_no_request(void **state)
{
    (void)state;
    unsigned char nonce[NVT_CTL_NONCE];
    char packet[NVT_CTL_NET_HEADER + NVT_CTL_REQUEST_MOST + 10], text[NVT_CTL_ANSWER_MOST];
    /* Each byte of a right one is changed. */
    memset(nonce, 0, sizeof(nonce));
    const size_t length = sign(nonce, "start", 5, packet);
    for (size_t i = 0; i < length; i += cli_is_long() ? 1 : 5) {
        const int descriptor = connect_raw(nonce);
        const size_t size = sign(nonce, "start", 5, packet);
        packet[i] = packet[i] == 'a' ? 'b' : 'a';
        send_raw(descriptor, packet, size);
        shutdown(descriptor, SHUT_WR);
        assert_int_equal(read_all(descriptor), 0);
    }
    static const char *const wrong[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\n", "\n\n\n",
                                        "1 status", "SSH-2.0-x\r\n"};
    for (size_t i = 0; i < NVT_COUNT_OF(wrong); i++) {
        const int descriptor = connect_raw(nonce);
        send_raw(descriptor, wrong[i], strlen(wrong[i]));
        shutdown(descriptor, SHUT_WR);
        assert_int_equal(read_all(descriptor), 0);
    }
    /* More than a request may have; with a NUL; something behind it. */
    memset(text, 'x', sizeof(text));
    int descriptor = connect_raw(nonce);
    for (int i = 0; i < 100; i++)
        send_raw(descriptor, text, sizeof(text));
    assert_int_equal(read_all(descriptor), 0);
    descriptor = connect_raw(nonce);
    size_t size = sign(nonce, text, NVT_CTL_REQUEST_MOST, packet);
    send_raw(descriptor, packet, size);
    assert_int_equal(read_all(descriptor), 0);
    descriptor = connect_raw(nonce);
    size = sign(nonce, "start\0x", 7, packet);
    send_raw(descriptor, packet, size);
    assert_int_equal(read_all(descriptor), 0);
    descriptor = connect_raw(nonce);
    size = sign(nonce, "start", 5, packet);
    send_raw(descriptor, packet, size + 1);
    assert_int_equal(read_all(descriptor), 0);
    assert_int_equal(heard, 0);
    /* One that comes byte by byte is a request like others. */
    descriptor = connect_raw(nonce);
    size = sign(nonce, "start", 5, packet);
    for (size_t i = 0; i < size; i++)
        send_raw(descriptor, packet + i, 1);
    assert_true(read_all(descriptor) > 70);
    assert_int_equal(heard, 1);
}

/* Who says nothing, and who goes in the middle, is in nobody's way. */
static void silent_clients(void **state)
{
    (void)state;
    char text[NVT_CTL_ANSWER_MOST];
    struct nvt_error err = NVT_ERROR_INIT;
    int silent[20];
    for (size_t i = 0; i < NVT_COUNT_OF(silent); i++)
        silent[i] = connect_raw(NULL);
    for (int i = 0; i < 20; i++) {
        const int descriptor = connect_raw(NULL);
        send_raw(descriptor, "0123", 4);
        close(descriptor);
    }
    if (ask_with(key, "start", text, &err))
        fail_msg("%s", err.message);
    assert_string_equal(text, "heard start");
    assert_int_equal(server.refused, 0);
    for (size_t i = 0; i < NVT_COUNT_OF(silent); i++)
        close(silent[i]);
}

/* A server that is none. */
static void others_listen_there(void **state)
{
    (void)state;
    static const char *const said[] = {"", "220 smtp\r\n", "nvtally 2 00\n", "nvtally 1 zz\n"};
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    char text[NVT_CTL_ANSWER_MOST], name[40];
    struct nvt_error err = NVT_ERROR_INIT;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(name, sizeof(name), "127.0.0.1:%d", ntohs(address.sin_port));
    for (size_t i = 0; i < NVT_COUNT_OF(said); i++) {
        const pid_t child = fork();
        if (!child) {
            const int client = accept(listener, NULL, NULL);
            send_raw(client, said[i], strlen(said[i]));
            _exit(0);
        }
        nvt_ctl_net_reach(&way, key);
        assert_int_equal(nvt_ctl_net_sessions(&way, name, sessions, 4, &err), 1);
        assert_int_equal(nvt_ctl_ask(sessions, "status", A_MINUTE, text, sizeof(text), &err), -1);
        if (!strstr(err.message, "no nvtally of this version listens there"))
            fail_msg("%s", err.message);
        waitpid(child, NULL, 0);
    }
    close(listener);
    assert_int_equal(nvt_ctl_ask(sessions, "status", A_MINUTE, text, sizeof(text), &err), -1);
    assert_non_null(strstr(err.message, "Connection refused"));
}

/* --- a recording ------------------------------------------------------------------------------------ */

static struct cli_result run(const char *script)
{
    static const char kit[] = "cd $2; rm -f said *.nvt; c() { \"$0\" ctl --to \"$P\" --key key "
                              "\"$@\"; echo \"status $?\"; }; "
                              "port() { until P=$(sed -n 's/.*listening on //p' said 2>/dev/null) "
                              "&& [ -n \"$P\" ]; do sleep 0.1; "
                              "done; }; finish() { kill -TERM $job; wait; }; ";
    char whole[5000];
    snprintf(whole, sizeof(whole), "%s%s", kit, script);
    const char *argv[] = {
        "sh", "-c", whole, cli_built("nvtally"), cli_client("flight"), recorded_in("."), NULL};
    return cli_run(argv);
}

static void expect_out(struct cli_result *result, const char *text)
{
    if (!strstr(result->out, text) && !strstr(result->err, text))
        fail_msg("no '%s':\n%s\n%s", text, result->out, result->err);
}

static void records_when_asked(void **state)
{
    (void)state;
    struct cli_result result = run("\"$0\" record -o net.nvt --dormant --iteration step --trace "
                                   "nvtx --listen 127.0.0.1:0 --key key "
                                   "\"$1\" 60000 2>said & job=$!; port; c ps; c start; sleep 0.3; "
                                   "c mark here; c dump; c stop; "
                                   "c steps 3; \"$0\" ctl --to \"$P\" --key other start; echo "
                                   "\"status $?\"; c status; finish; cat said; c status");
    static const char *const said[] = {"dormant",
                                       "recording to /",
                                       "marked in 1 process",
                                       "/net-dump1.nvt\nstatus 0\n",
                                       "stopped: ",
                                       " (from 0) of 1 process: /",
                                       "gives no answer: its key is another one",
                                       "status 2\nstate\tdormant\n",
                                       "--listen: a request from 127.0.0.1:",
                                       "Connection refused"};
    for (size_t i = 0; i < NVT_COUNT_OF(said); i++)
        expect_out(&result, said[i]);
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace_at(recorded_in("net.nvt"));
    (void)recorded_mark(trace, "here");
    nvt_trace_free(trace);
}

/* Two machines, as far as the network goes: a network namespace for each, with a line between them. */
static void reaches_another_network_namespace(void **state)
{
    (void)state;
    struct cli_result result = run(
        "unshare -n true 2>/dev/null && command -v ip nsenter >/dev/null || { echo none; exit; }; "
        "unshare -n sh -c 'unshare -n sleep 600 & far=$!; until ! [ /proc/$far/ns/net -ef "
        "/proc/self/ns/net ]; do sleep 0.1; done; "
        "ip link add near type veth peer name away netns $far && ip addr add 10.77.0.1/24 dev near "
        "&& ip link set near up && "
        "nsenter -n -t $far ip addr add 10.77.0.2/24 dev away && nsenter -n -t $far ip link set "
        "away up || { echo none; kill $far; exit; }; "
        "rm -f said; \"$0\" record -o net.nvt --dormant --trace nvtx --listen 10.77.0.1 --key key "
        "\"$1\" 60000 2>said & job=$!; "
        "until grep -q listening said 2>/dev/null; do sleep 0.1; done; c() { nsenter -n -t $far "
        "\"$0\" ctl --to 10.77.0.1 --key \"$@\"; echo \"status $?\"; }; "
        "c key status; c other start; c key start; sleep 0.3; c key stop; kill -TERM $job; wait "
        "$job; kill $far' \"$0\" \"$1\"");
    if (strstr(result.out, "none")) {
        print_message("no network namespace can be made here\n");
        cli_result_free(&result);
        skip();
    }
    expect_out(&result, "state\tdormant\n");
    expect_out(&result, "gives no answer: its key is another one");
    expect_out(&result, "recording to /");
    expect_out(&result, "stopped: ");
    cli_result_free(&result);
    struct nvt_trace *trace = recorded_trace_at(recorded_in("net.nvt"));
    assert_true(recorded_count(trace, "step") > 3);
    nvt_trace_free(trace);
}

#define EXPECT_REFUSED(needle, ...)                                                                \
    do {                                                                                           \
        const char *argv_[] = {"nvtally", __VA_ARGS__, NULL};                                      \
        struct cli_result result_ = cli_run(argv_);                                                \
        cli_expect_failure(&result_, needle);                                                      \
        cli_result_free(&result_);                                                                 \
    } while (0)

#define RECORD "record", "-o", recorded_path(), "--listen"

static void wrong_requests(void **state)
{
    (void)state;
    const char *path = recorded_in("key"), *shared = make_key("open", key_text, 0644);
    EXPECT_REFUSED("--listen needs --key", RECORD, "127.0.0.1", "true");
    EXPECT_REFUSED("--key needs --listen", "record", "--key", path, "true");
    EXPECT_REFUSED("must be a file that you alone may read", RECORD, "127.0.0.1", "--key", shared,
                   "true");
    EXPECT_REFUSED("No such file", RECORD, "127.0.0.1", "--key", "/nowhere", "true");
    EXPECT_REFUSED("must be an address and a port", RECORD, "127.0.0.1:x", "--key", path, "true");
    EXPECT_REFUSED("Cannot assign requested address", RECORD, "203.0.113.7:0", "--key", path,
                   "true");
    EXPECT_REFUSED("Address already in use", RECORD, server.name, "--key", path, "true");
    EXPECT_REFUSED("--to needs --key", "ctl", "--to", "127.0.0.1", "ps");
    EXPECT_REFUSED("--key is an option of ctl --to", "ctl", "--key", path, "ps");
    EXPECT_REFUSED("must be an address and a port", "ctl", "--to", "x:y", "--key", path, "stop");
    EXPECT_REFUSED("'' must be an address and a port", "ctl", "--to", ",", "--key", path, "stop");
    EXPECT_REFUSED("is for recordings on this machine", "ctl", "--to", "127.0.0.1", "--key", path,
                   "-o", "x.nvt", "dump");
}

static int set_up(void **state)
{
    struct nvt_error err = NVT_ERROR_INIT;
    const int status = recorded_set_up(state);
    (void)make_key("key", key_text, 0600);
    (void)make_key("other", "another key, which is long enough too", 0600);
    key = nvt_ctl_key_read(recorded_in("key"), &err);
    other_key = nvt_ctl_key_read(recorded_in("other"), &err);
    if (!key || !other_key)
        fprintf(stderr, "%s\n", err.message);
    return status || !key || !other_key ? -1 : 0;
}

static int tear_down(void **state)
{
    nvt_ctl_key_free(key);
    nvt_ctl_key_free(other_key);
    return recorded_tear_down(state);
}

/* It is looked for when a key is given: nvtally runs without. */
static void without_libsodium(void **state)
{
    (void)state;
    struct cli_result result = run(
        "unshare -m sh -c 'for l in $(PATH=$PATH:/sbin ldconfig -p | sed -n \"s/.*=> \\(.*libsodium"
        ".*\\)/\\1/p\"); do mount --bind /dev/null $l || exit; done; \"$0\" ctl --to 127.0.0.1 "
        "--key key ps; \"$0\" record -o x.nvt --dormant true; echo status $?' \"$0\" || echo none");
    if (strstr(result.err, "mount") || strstr(result.err, "unshare")) {
        print_message("nothing can be mounted here\n");
        cli_result_free(&result);
        skip();
    }
    expect_out(&result, "nvtally: --key needs libsodium (Debian: libsodium23)\n");
    expect_out(&result, "status 0\n");
    cli_result_free(&result);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, begin_server, end_server)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs),
        cmocka_unit_test(keys_that_are_none),
        cmocka_unit_test(addresses),
        WITH_SERVER(answers_who_has_the_key),
        WITH_SERVER(many_requests),
        WITH_SERVER(what_was_sent_once_fits_no_more),
        WITH_SERVER(what_is_no_request),
        WITH_SERVER(silent_clients),
        cmocka_unit_test(others_listen_there),
        cmocka_unit_test(records_when_asked),
        cmocka_unit_test(reaches_another_network_namespace),
        WITH_SERVER(wrong_requests),
        cmocka_unit_test(without_libsodium),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
