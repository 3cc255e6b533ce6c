/*
 * The server behind `view`: HTTP on 127.0.0.1 alone, for those who know the token in its address. It answers what
 * answers.h says and hands out the page, which is built into the program; it opens no file. libmicrohttpd is loaded
 * when a server starts, so that other commands do without it.
 *
 *     /TOKEN/            the page; /TOKEN/view.js, /TOKEN/view.css
 *     /TOKEN/lanes       /TOKEN/findings
 *     /TOKEN/edition     {"edition":N,"is_beginning":0}, which grows when the traces were read again; 1: the rest is being read
 *     /TOKEN/tiles?from=NS&to=NS&columns=N&lanes=N,N…
 *     /TOKEN/event?lane=N&track=N&row=N
 *     /TOKEN/window?from=NS&to=NS[&side=N][&with=N&with_from=NS&with_to=NS]  compared with a window of side N
 *     /TOKEN/find?text=T&moment=NS[&lane=N&track=N][&back=1]
 *
 * 403 without the token, whatever else is asked, and for another Host than localhost, 127.0.0.1 and [::1], at any port (ssh -L
 * has another one); 404 for another name, 400 for numbers that are none or about nothing, 405 for another method than GET and
 * HEAD. A Content-Security-Policy lets the page load from the server alone.
 */
#ifndef NVT_VIEW_SERVER_H
#define NVT_VIEW_SERVER_H

#include <stdint.h>

#include "edition.h"

struct nvt_view_server;

/* Whether there is a libmicrohttpd to serve with. 0, or -1 with err. */
int nvt_view_can_serve(struct nvt_error *err);

/* Start on a port, 0: a free one. The editions must outlive it. NULL with err: no libmicrohttpd, or the port cannot be had. */
struct nvt_view_server *nvt_view_serve(struct nvt_editions *editions, uint16_t port,
                                       struct nvt_error *err);
/* "http://127.0.0.1:PORT/TOKEN/", valid until it is stopped. */
const char *nvt_view_address(const struct nvt_view_server *server);
void nvt_view_stop(struct nvt_view_server *server);

/* Texts of the page, built into the program. analyze/view/page.c */
struct nvt_view_file {
    const char *name, *type;
    const char *text, *end;
};
/* The file of a name, "" the page itself; NULL: there is none. */
const struct nvt_view_file *nvt_view_file(const char *name);

#endif
