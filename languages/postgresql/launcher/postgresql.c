// Runs SQL statements as `psql --file ENTRY` does, with tables as MySQL's client
// draws them, on a PostgreSQL server that is started for this run alone.
//
// usage: postgresql 3<>GATE
//
// Runs in the folder of the submission. start_server() brings the server to the
// point where it accepts connections; then this process waits at the gate, and
// becomes the client.

#define _GNU_SOURCE
#include "gate.h"
#include "template.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define INSTALLED "/opt/sandpiper/"
#define PROGRAMS "/usr/lib/postgresql/17/bin/"
// Named in server.conf, too.
#define FOLDER "/tmp/postgresql"
#define DATA FOLDER "/data"
#define READY FOLDER "/ready"

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "The PostgreSQL server did not start: %s: %s\n", what,
            strerror(errno));
    exit(EXIT_FAILURE);
}

// Where the server says how far its start is (sd_notify(3)).
static int listen_for_ready(void) {
    int ready = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = READY};
    if (ready < 0 ||
        bind(ready, (struct sockaddr *)&address, sizeof address) != 0)
        fail("no socket");
    return ready;
}

static _Noreturn void run_server(void) {
    // Its log is not part of the run.
    int null = open("/dev/null", O_RDWR);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        dup2(null, stream);
    // It looks for its own files beside the path that it is started by.
    char *arguments[] = {PROGRAMS "postgres", "-D", DATA, NULL};
    char *environment[] = {"LC_ALL=C.UTF-8", "TZ=UTC", "NOTIFY_SOCKET=" READY,
                           NULL};
    execve(arguments[0], arguments, environment);
    _exit(EXIT_FAILURE);
}

static bool is_ready(int ready) {
    char message[1024];
    ssize_t length = recv(ready, message, sizeof message - 1, MSG_DONTWAIT);
    message[length > 0 ? length : 0] = '\0';
    return strstr(message, "READY=1") != NULL;
}

static void wait_until_ready(int ready, pid_t server) {
    int ended = (int)syscall(SYS_pidfd_open, server, 0);
    if (ended < 0)
        fail("no descriptor of it");
    struct pollfd events[] = {{ready, POLLIN, 0}, {ended, POLLIN, 0}};
    while (!is_ready(ready)) {
        if (poll(events, 2, -1) < 0)
            fail("no word of it");
        // Its log is not kept. Nothing else that it needs can be short.
        if (events[1].revents != 0) {
            fputs("PostgreSQL could not start within the limits of this box: "
                  "it needs more processes, memory or disk space.\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
    close(ended);
}

static void start_server(void) {
    if (mkdir(FOLDER, S_IRWXU) != 0 || mkdir(DATA, S_IRWXU) != 0)
        fail("no folder");
    if (!template_unpack(INSTALLED "template", DATA))
        fail("no data");
    int ready = listen_for_ready();
    pid_t server = fork();
    if (server < 0)
        fail("no process");
    if (server == 0)
        run_server();
    wait_until_ready(ready, server);
    close(ready);
    unlink(READY);
}

static _Noreturn void become_client(char *entry) {
    char *arguments[] = {
        PROGRAMS "psql", "--host=" FOLDER, "--username=sandbox", "--dbname=sandbox",
        "--no-psqlrc", "--no-password", "--quiet",
        // A script ends at its first error, as MySQL's do.
        "--set=ON_ERROR_STOP=1",
        // As MySQL draws tables.
        "--pset=border=2", "--pset=footer=off", "--pset=null=NULL",
        "--pset=pager=off", "--file", entry, NULL};
    execv(arguments[0], arguments);
    perror("The PostgreSQL client did not start");
    exit(EXIT_FAILURE);
}

int main(void) {
    keep_gate();
    start_server();
    become_client(pass_gate()[0]);
}
