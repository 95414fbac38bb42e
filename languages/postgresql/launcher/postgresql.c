// Runs SQL statements as `psql --file ENTRY` does, with tables as MySQL's client
// draws them, on a PostgreSQL server that is started for this run alone.
//
// usage: postgresql 3<>GATE
//
// Runs in the folder of the submission. When the server accepts connections,
// this process becomes the client, which connects and waits at the gate
// (submission.c).

#define _GNU_SOURCE
#include "gate.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS "/usr/lib/postgresql/17/bin/"
// Named in server.conf, too.
#define FOLDER "/tmp/postgresql"
#define DATA FOLDER "/data"
#define READY FOLDER "/ready"

static const struct server server = {
    .name = "PostgreSQL",
    .folder = FOLDER,
    .data = DATA,
    .ready = READY,
    .least_disk = 1 << 20,
    .program = PROGRAMS "postgres",
    // It looks for its own files beside the path that it is started by.
    .arguments = (char *[]){PROGRAMS "postgres", "-D", DATA, NULL},
    .environment = (char *[]){"LC_ALL=C.UTF-8", "TZ=UTC",
                              "NOTIFY_SOCKET=" READY, NULL},
};

// The gate goes with it.
static _Noreturn void become_client(void) {
    // The name of the entry file comes later. There is room for any.
    char entry[MAX_ENTRY + 1] = "";
    memset(entry, '-', MAX_ENTRY);
    char *arguments[] = {
        PROGRAMS "psql", "--host=" FOLDER, "--username=sandbox", "--dbname=postgres",
        "--no-psqlrc", "--no-password", "--quiet",
        // A script ends at its first error, as MySQL's do.
        "--set=ON_ERROR_STOP=1",
        // As MySQL draws tables.
        "--pset=border=2", "--pset=footer=off", "--pset=null=NULL",
        "--pset=pager=off", "--file", entry, NULL};
    fcntl(GATE, F_SETFD, 0);
    setenv("LD_PRELOAD", "/opt/sandpiper/submission.so", true);
    execv(arguments[0], arguments);
    perror("The PostgreSQL client did not start");
    exit(EXIT_FAILURE);
}

int main(void) {
    keep_gate();
    start_server(&server);
    become_client();
}
