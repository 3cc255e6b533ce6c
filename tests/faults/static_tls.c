/* A library that needs static thread-local storage, of which a process has some for libraries that it loads: 64 bytes. */
static __thread char room[64] __attribute__((tls_model("initial-exec")));

char *static_tls(void)
{
    return room;
}
