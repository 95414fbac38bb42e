// Starts the database server of a run as a child, with the data folder of the
// image.

#define _GNU_SOURCE
#include "server.h"
#include "template.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static _Noreturn void fail(const struct server *server, const char *what) {
    fprintf(stderr, "The %s server did not start: %s: %s\n", server->name,
            what, strerror(errno));
    exit(EXIT_FAILURE);
}

// Says which limit of the box the start needs more of.
static _Noreturn void fail_by_limit(const struct server *server,
                                    const char *needs) {
    fprintf(stderr,
            "%s could not start within the limits of this box: it needs %s.\n",
            server->name, needs);
    exit(EXIT_FAILURE);
}

static bool disk_is_full(const struct server *server) {
    struct statvfs disk;
    return statvfs(server->folder, &disk) == 0 &&
           (disk.f_bavail < server->least_disk / disk.f_bsize ||
            disk.f_favail == 0);
}

static void make_data(const struct server *server) {
    if (mkdir(server->folder, S_IRWXU) != 0 ||
        mkdir(server->data, S_IRWXU) != 0)
        fail(server, "no folder");
    if (!template_unpack("/opt/sandpiper/template", server->data)) {
        if (errno == ENOSPC)
            fail_by_limit(server, "more disk space");
        fail(server, "no data");
    }
}

// The socket on which the server reports how far its start is.
static int listen_for_ready(const struct server *server) {
    int ready = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, server->ready, sizeof address.sun_path - 1);
    if (ready < 0 ||
        bind(ready, (struct sockaddr *)&address, sizeof address) != 0)
        fail(server, "no socket");
    return ready;
}

static _Noreturn void run(const struct server *server) {
    // Its log is not part of the run, and nobody can read it.
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        dup2(null, stream);
    execve(server->program, server->arguments, server->environment);
    _exit(EXIT_FAILURE);
}

static bool is_ready(int ready) {
    char message[1024];
    ssize_t length = recv(ready, message, sizeof message - 1, MSG_DONTWAIT);
    message[length > 0 ? length : 0] = '\0';
    return strstr(message, "READY=1") != NULL;
}

static void wait_until_ready(const struct server *server, int ready,
                             pid_t process) {
    int ended = (int)syscall(SYS_pidfd_open, process, 0);
    if (ended < 0)
        fail(server, "no descriptor of it");
    struct pollfd events[] = {{ready, POLLIN, 0}, {ended, POLLIN, 0}};
    while (!is_ready(ready)) {
        if (poll(events, 2, -1) < 0)
            fail(server, "no word of it");
        // Its log is not kept. Nothing else that it needs can be short.
        if (events[1].revents != 0)
            fail_by_limit(server, disk_is_full(server)
                                      ? "more disk space"
                                      : "more processes or memory");
    }
    close(ended);
}

void start_server(const struct server *server) {
    make_data(server);
    int ready = listen_for_ready(server);
    pid_t process = fork();
    if (process < 0)
        fail_by_limit(server, "more processes or memory");
    if (process == 0)
        run(server);
    wait_until_ready(server, ready, process);
    close(ready);
    unlink(server->ready);
}
