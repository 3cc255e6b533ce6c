#include "server.h"

#ifndef HAVE_MICROHTTPD

int nvt_view_can_serve(struct nvt_error *err)
{
    return nvt_fail(err, "view: not in this build; it needs libmicrohttpd-dev, then make");
}

struct nvt_view_server *nvt_view_serve(struct nvt_editions *editions, uint16_t port,
                                       struct nvt_error *err)
{
    (void)editions;
    (void)port;
    (void)nvt_view_can_serve(err);
    return NULL;
}

const char *nvt_view_address(const struct nvt_view_server *server)
{
    (void)server;
    return "";
}

void nvt_view_stop(struct nvt_view_server *server)
{
    (void)server;
}

#else

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../lib/count_of.h"
#include "../../lib/program.h"

#define TOKEN_BYTES  16
#define LIBRARY      "libmicrohttpd.so.12"
#define THREADS      4u
#define CONNECTIONS  64u
#define IDLE_SECONDS 120u
#define NOTHING_ELSE                                                                               \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri "       \
    "'none'; form-action 'none'; frame-ancestors 'none'"

/* What is used of the library. */
#define FUNCTIONS(X)                                                                               \
    X(MHD_start_daemon)                                                                            \
    X(MHD_stop_daemon)                                                                             \
    X(MHD_lookup_connection_value)                                                                 \
    X(MHD_create_response_from_buffer)                                                             \
    X(MHD_add_response_header)                                                                     \
    X(MHD_queue_response)                                                                          \
    X(MHD_destroy_response)

struct library {
    void *handle;
#define MEMBER(function) __typeof__(&function) function;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct nvt_view_server {
    struct nvt_editions *editions;
    struct library http;
    struct MHD_Daemon *daemon;
    char token[2 * TOKEN_BYTES + 1];
    char address[128];
};

static int load(struct library *http, struct nvt_error *err)
{
    char path[4096];
    struct nvt_error none = NVT_ERROR_INIT;
    /* The wheel and the tarball bring one of their own. */
    http->handle = nvt_find_library(LIBRARY, path, sizeof(path), &none)
                       ? NULL
                       : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!http->handle)
        http->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!http->handle)
        return nvt_fail(err, "view: %s is not here (Debian: libmicrohttpd12)", LIBRARY);
#define LOAD(function)                                                                             \
    http->function = (__typeof__(&function))dlsym(http->handle, #function);                        \
    if (!http->function) {                                                                         \
        dlclose(http->handle);                                                                     \
        return nvt_fail(err, "view: %s has no %s", LIBRARY, #function);                            \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    return 0;
}

int nvt_view_can_serve(struct nvt_error *err)
{
    struct library http;
    if (load(&http, err))
        return -1;
    dlclose(http.handle);
    return 0;
}

static enum MHD_Result reply(const struct nvt_view_server *server, struct MHD_Connection *to,
                             unsigned status, const char *type, struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy", NOTHING_ELSE},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
    };
    if (!response)
        return MHD_NO;
    int failed = server->http.MHD_add_response_header(response, "Content-Type", type) != MHD_YES;
    for (size_t i = 0; i < NVT_COUNT_OF(headers); i++)
        failed |=
            server->http.MHD_add_response_header(response, headers[i][0], headers[i][1]) != MHD_YES;
    enum MHD_Result result =
        failed ? MHD_NO : server->http.MHD_queue_response(to, status, response);
    server->http.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply_text(const struct nvt_view_server *server, struct MHD_Connection *to,
                                  unsigned status, const char *text)
{
    return reply(server, to, status, "text/plain; charset=utf-8",
                 server->http.MHD_create_response_from_buffer(strlen(text), (void *)(intptr_t)text,
                                                              MHD_RESPMEM_PERSISTENT));
}

static const char *value_of(const struct nvt_view_server *server, struct MHD_Connection *of,
                            const char *key)
{
    return server->http.MHD_lookup_connection_value(of, MHD_GET_ARGUMENT_KIND, key);
}

/* A number of the question. 0, or 1: it is none, or less than `least` or more than `most`. */
static int number_of(const struct nvt_view_server *server, struct MHD_Connection *of,
                     const char *key, int64_t least, int64_t most, int64_t *number)
{
    const char *text = value_of(server, of, key);
    char *end;
    if (!text || !((*text >= '0' && *text <= '9') || *text == '-'))
        return 1;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno || *end || *number < least || *number > most;
}

/* A number that may be left out: then it is 0. */
static int number_or_none(const struct nvt_view_server *server, struct MHD_Connection *of,
                          const char *key, int64_t least, int64_t most, int64_t *number)
{
    *number = 0;
    return value_of(server, of, key) && number_of(server, of, key, least, most, number);
}

static int answer_window(const struct nvt_view_server *server, const struct nvt_viewer *viewer,
                         struct MHD_Connection *to, int64_t from, int64_t until,
                         struct nvt_buffer *out)
{
    int64_t side, with, begin, end;
    if (number_or_none(server, to, "side", 0, UINT32_MAX, &side) ||
        number_or_none(server, to, "with", 0, UINT32_MAX, &with) ||
        number_or_none(server, to, "with_from", INT64_MIN, INT64_MAX, &begin) ||
        number_or_none(server, to, "with_to", INT64_MIN, INT64_MAX, &end))
        return 1;
    const struct nvt_view_window windows[] = {{(size_t)side, from, until},
                                              {(size_t)with, begin, end}};
    return nvt_answer_window(viewer, windows, value_of(server, to, "with") ? 2 : 1, out);
}

static int answer_find(const struct nvt_view_server *server, const struct nvt_viewer *viewer,
                       struct MHD_Connection *to, struct nvt_buffer *out)
{
    const char *text = value_of(server, to, "text");
    int64_t moment, lane, track, is_back;
    if (!text || number_of(server, to, "moment", INT64_MIN, INT64_MAX, &moment) ||
        number_or_none(server, to, "lane", 0, UINT32_MAX, &lane) ||
        number_or_none(server, to, "track", 0, UINT32_MAX, &track) ||
        number_or_none(server, to, "back", 0, 1, &is_back))
        return 1;
    const struct nvt_view_from from = {moment,
                                       value_of(server, to, "lane") ? (uint32_t)lane : UINT32_MAX,
                                       (uint32_t)track, (int)is_back};
    return nvt_answer_find(viewer, text, &from, out);
}

/* 0, or as of answers; 2: there is nothing of this name. */
static int answer(const struct nvt_view_server *server, struct nvt_edition *edition,
                  struct MHD_Connection *to, const char *name, struct nvt_buffer *out)
{
    const struct nvt_viewer *viewer = edition->viewer;
    int64_t a, b, c;
    if (!strcmp(name, "edition"))
        return nvt_edition_state(server->editions, edition, out);
    if (!viewer)
        return 1;
    if (!strcmp(name, "lanes"))
        return nvt_answer_lanes(viewer, out);
    if (!strcmp(name, "findings"))
        return nvt_edition_findings(edition, out);
    if (!strcmp(name, "event"))
        return number_of(server, to, "lane", 0, UINT32_MAX, &a) ||
                       number_of(server, to, "track", 0, UINT32_MAX, &b) ||
                       number_of(server, to, "row", 0, UINT32_MAX, &c)
                   ? 1
                   : nvt_answer_event(viewer, (uint32_t)a, (uint32_t)b, (uint32_t)c, out);
    if (!strcmp(name, "find"))
        return answer_find(server, viewer, to, out);
    const int is_window = !strcmp(name, "window");
    if (!is_window && strcmp(name, "tiles") != 0)
        return 2;
    if (number_of(server, to, "from", INT64_MIN, INT64_MAX, &a) ||
        number_of(server, to, "to", INT64_MIN, INT64_MAX, &b))
        return 1;
    const char *lanes = value_of(server, to, "lanes");
    if (!is_window && (!lanes || number_of(server, to, "columns", 1, NVT_ANSWER_COLUMNS, &c)))
        return 1;
    return is_window ? answer_window(server, viewer, to, a, b, out)
                     : nvt_answer_tiles(viewer, a, b, (uint32_t)c, lanes, out);
}

/* The name behind the token, NULL: it is another one. Takes as long wherever they differ. */
static const char *behind_token(const struct nvt_view_server *server, const char *url)
{
    unsigned differ = 0;
    if (*url != '/' || strnlen(url, 2 * TOKEN_BYTES + 2) < 2 * TOKEN_BYTES + 2)
        return NULL;
    for (size_t i = 0; i < 2 * TOKEN_BYTES; i++)
        differ |= (unsigned)(url[1 + i] ^ server->token[i]);
    differ |= (unsigned)(url[1 + 2 * TOKEN_BYTES] ^ '/');
    return differ ? NULL : url + 2 * TOKEN_BYTES + 2;
}

/*
 * Whether a request is addressed to this machine, at any port, as ssh -L has another one. A page of another site whose name is
 * made to lead to 127.0.0.1 (DNS rebinding) sends that name.
 */
static int is_addressed_here(const struct nvt_view_server *server, struct MHD_Connection *to)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host =
        server->http.MHD_lookup_connection_value(to, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    for (size_t i = 0; host && i < NVT_COUNT_OF(names); i++) {
        const size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0)
            continue;
        const char *port = host + length;
        if (!*port || (*port == ':' && !port[1 + strspn(port + 1, "0123456789")]))
            return 1;
    }
    return 0;
}

static enum MHD_Result serve(struct nvt_view_server *server, struct MHD_Connection *to,
                             const char *url, const char *method)
{
    if (!is_addressed_here(server, to))
        return reply_text(server, to, MHD_HTTP_FORBIDDEN,
                          "nvtally view answers at localhost, 127.0.0.1 and [::1] alone.\n");
    const char *name = behind_token(server, url);
    if (!name)
        return reply_text(server, to, MHD_HTTP_FORBIDDEN,
                          "The address that nvtally view printed has a token, which this one "
                          "lacks.\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return reply_text(server, to, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD alone.\n");
    const struct nvt_view_file *file = nvt_view_file(name);
    if (file)
        return reply(server, to, MHD_HTTP_OK, file->type,
                     server->http.MHD_create_response_from_buffer((size_t)(file->end - file->text),
                                                                  (void *)(intptr_t)file->text,
                                                                  MHD_RESPMEM_PERSISTENT));
    struct nvt_buffer out = {0};
    struct nvt_edition *edition = nvt_edition_take(server->editions);
    const int status = answer(server, edition, to, name, &out);
    nvt_edition_release(server->editions, edition);
    if (!status)
        return reply(server, to, MHD_HTTP_OK, "application/json",
                     server->http.MHD_create_response_from_buffer(out.size, out.data,
                                                                  MHD_RESPMEM_MUST_FREE));
    nvt_buffer_free(&out);
    return status == 2   ? reply_text(server, to, MHD_HTTP_NOT_FOUND, "There is no such name.\n")
           : status == 1 ? reply_text(server, to, MHD_HTTP_BAD_REQUEST,
                                      "That is about nothing that there is.\n")
                         : reply_text(server, to, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                      "There is not enough memory.\n");
}

/* libmicrohttpd calls it once when the headers are there, then when all is; what is uploaded is not read. */
static enum MHD_Result handle(void *context, struct MHD_Connection *to, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    static int begun;
    (void)version;
    (void)data;
    if (!*state) {
        *state = &begun;
        return MHD_YES;
    }
    if (*size) {
        *size = 0;
        return MHD_YES;
    }
    return serve(context, to, url, method);
}

static int make_token(char *token, struct nvt_error *err)
{
    uint8_t bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return nvt_fail(err, "view: no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* A socket that listens on 127.0.0.1 and shares its port with nobody; *port gets it. -1 with err. */
static int listen_on(uint16_t *port, struct nvt_error *err)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    const int on = 1, sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (sock >= 0 && !setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
        !bind(sock, (const struct sockaddr *)&at, sizeof(at)) && !listen(sock, 64) &&
        !getsockname(sock, (struct sockaddr *)&at, &size)) {
        *port = ntohs(at.sin_port);
        return sock;
    }
    nvt_fail(err, "view: port %u of 127.0.0.1 cannot be served: %s", *port, strerror(errno));
    if (sock >= 0)
        close(sock);
    return -1;
}

static int start(struct nvt_view_server *server, uint16_t port, struct nvt_error *err)
{
    const int sock = listen_on(&port, err);
    if (sock < 0)
        return -1;
    server->daemon = server->http.MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, port, NULL, NULL, handle, server,
        MHD_OPTION_LISTEN_SOCKET, sock, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_END);
    if (!server->daemon) {
        close(sock);
        return nvt_fail(err, "view: the server cannot be started");
    }
    snprintf(server->address, sizeof(server->address), "http://127.0.0.1:%u/%s/", port,
             server->token);
    return 0;
}

struct nvt_view_server *nvt_view_serve(struct nvt_editions *editions, uint16_t port,
                                       struct nvt_error *err)
{
    struct nvt_view_server *server = calloc(1, sizeof(*server));
    if (!server) {
        nvt_fail(err, "out of memory");
        return NULL;
    }
    server->editions = editions;
    if (!load(&server->http, err)) {
        if (!make_token(server->token, err) && !start(server, port, err))
            return server;
        dlclose(server->http.handle);
    }
    free(server);
    return NULL;
}

const char *nvt_view_address(const struct nvt_view_server *server)
{
    return server->address;
}

void nvt_view_stop(struct nvt_view_server *server)
{
    server->http.MHD_stop_daemon(server->daemon);
    dlclose(server->http.handle);
    free(server);
}

#endif
