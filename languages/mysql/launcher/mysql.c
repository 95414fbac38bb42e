// Runs SQL statements as `mysql --table < ENTRY` does, on a MySQL server that
// is started for this run alone.
//
// usage: mysql 3<>GATE
//
// Runs in the folder of the submission. When the server accepts connections,
// this process becomes the client, which connects and waits at the gate
// (submission.c).

#define _GNU_SOURCE
#include "gate.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INSTALLED "/opt/sandpiper/"
// Named in mysqld.cnf, too.
#define FOLDER "/tmp/mysql"
#define READY FOLDER "/ready"

static const struct server server = {
    .name = "MySQL",
    .folder = FOLDER,
    .data = FOLDER "/data",
    .ready = READY,
    // A file of 12 MiB is made last, beside what stays free (reserve.c).
    .least_disk = 28 << 20,
    .program = "/usr/sbin/mysqld",
    .arguments = (char *[]){"mysqld",
                            "--defaults-file=" INSTALLED "mysqld.cnf", NULL},
    .environment = (char *[]){"LC_ALL=C.UTF-8", "TZ=UTC",
                              "NOTIFY_SOCKET=" READY,
                              "LD_PRELOAD=" INSTALLED "startup.so:" INSTALLED
                              "reserve.so", NULL},
};

// The gate goes with it.
static _Noreturn void become_client(void) {
    fcntl(GATE, F_SETFD, 0);
    char *arguments[] = {
        "mysql", "--no-defaults", "--no-login-paths", "--protocol=socket",
        "--socket=" FOLDER "/socket", "--user=sandbox", "--database=sandbox",
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
                           "LD_PRELOAD=" INSTALLED "submission.so", NULL};
    execve("/usr/bin/mysql", arguments, environment);
    perror("The MySQL client did not start");
    exit(EXIT_FAILURE);
}

int main(void) {
    keep_gate();
    start_server(&server);
    become_client();
}
