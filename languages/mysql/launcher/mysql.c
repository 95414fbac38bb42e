// Runs SQL statements as `mysql --table < ENTRY` does, on a MySQL server that
// is started for this run alone.
//
// usage: mysql 3<>GATE
//
// Runs in the folder of the submission. start_server() brings the server to the
// point where it accepts connections; then this process becomes the client,
// which connects and waits at the gate (submission.c).

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
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define INSTALLED "/opt/sandpiper/"
#define SERVER "/usr/sbin/mysqld"
#define CLIENT "/usr/bin/mysql"
#define SUBMISSION INSTALLED "submission.so"
// Named in mysqld.cnf, too.
#define FOLDER "/tmp/mysql"
#define DATA FOLDER "/data"
#define SOCKET FOLDER "/socket"
#define READY FOLDER "/ready"
// A start that ended with less than this free ended for want of it: a file of
// 12 MiB is made then, beside what stays free (reserve.c).
#define LEAST_DISK (28 << 20)

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "The MySQL server did not start: %s: %s\n", what,
            strerror(errno));
    exit(EXIT_FAILURE);
}

// Says which limit of the box the start needs more of.
static _Noreturn void fail_by_limit(const char *needs) {
    fprintf(stderr,
            "MySQL could not start within the limits of this box: it needs "
            "%s.\n",
            needs);
    exit(EXIT_FAILURE);
}

static bool disk_is_full(void) {
    struct statvfs disk;
    return statvfs(FOLDER, &disk) == 0 &&
           (disk.f_bavail < LEAST_DISK / disk.f_bsize || disk.f_favail == 0);
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
    // Its log is not part of the run, and nobody can read it.
    int null = open("/dev/null", O_RDWR);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        dup2(null, stream);
    char *arguments[] = {"mysqld", "--defaults-file=" INSTALLED "mysqld.cnf",
                         NULL};
    char *environment[] = {"LC_ALL=C.UTF-8", "TZ=UTC", "NOTIFY_SOCKET=" READY,
                           "LD_PRELOAD=" INSTALLED "startup.so:" INSTALLED
                           "reserve.so", NULL};
    execve(SERVER, arguments, environment);
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
        if (events[1].revents != 0)
            fail_by_limit(disk_is_full() ? "more disk space"
                                         : "more processes or memory");
    }
    close(ended);
}

static void start_server(void) {
    if (mkdir(FOLDER, S_IRWXU) != 0 || mkdir(DATA, S_IRWXU) != 0)
        fail("no folder");
    if (!template_unpack(INSTALLED "template", DATA)) {
        if (errno == ENOSPC)
            fail_by_limit("more disk space");
        fail("no data");
    }
    int ready = listen_for_ready();
    pid_t server = fork();
    if (server < 0)
        fail_by_limit("more processes or memory");
    if (server == 0)
        run_server();
    wait_until_ready(ready, server);
    close(ready);
    unlink(READY);
}

// The gate goes with it.
static _Noreturn void become_client(void) {
    fcntl(GATE, F_SETFD, 0);
    char *arguments[] = {
        "mysql", "--no-defaults", "--no-login-paths", "--protocol=socket",
        "--socket=" SOCKET, "--user=sandbox", "--database=sandbox",
        "--default-character-set=utf8mb4", "--ssl-mode=DISABLED",
        "--skip-reconnect", "--no-auto-rehash",
        // As at the prompt: bytes that are no text are written as 0x….
        "--table", "--binary-as-hex",
        // Results are there when a later statement never ends.
        "--unbuffered",
        // `source` and its like, but no program.
        "--commands", "--system-command=OFF",
        // LOAD DATA LOCAL reads the submission's files, and no others.
        "--load-data-local-dir=.", NULL};
    char *environment[] = {"LC_ALL=C.UTF-8", "TZ=UTC",
                           "LD_PRELOAD=" SUBMISSION, NULL};
    execve(CLIENT, arguments, environment);
    perror("The MySQL client did not start");
    exit(EXIT_FAILURE);
}

int main(void) {
    keep_gate();
    start_server();
    become_client();
}
