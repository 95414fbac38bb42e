// Starts the box's own MongoDB server, and becomes the shell in front of it.
// The two start at the same time.
//
// usage: mongosh ENTRY

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE "/opt/sandpiper/node"
#define LOADER "/opt/sandpiper/mongosh/load.js"
#define MONGOD "/opt/sandpiper/mongod"
// Rewritten functions need several times the stack of ordinary ones. In KiB,
// below the 8 MiB that a box has; build.sh has the same.
#define STACK "--stack-size=6000"
// In MiB, more than any box has: the box ends what takes too much, and V8 has
// no words of its own. build.sh has the same.
#define HEAP "--max-old-space-size=1048576"
// Beside the submission's own files, and out of its sight.
#define DATA "/dev/shm/mongodb"

// Where there must be a journal, it starts small.
#ifdef NO_JOURNAL
#define JOURNAL "--nojournal",
#define ENGINE "eviction=(threads_min=1,threads_max=1),session_max=512"
#else
#define JOURNAL
#define ENGINE                                                                \
    "eviction=(threads_min=1,threads_max=1),session_max=512,"                 \
    "log=(file_max=2MB,prealloc=false)"
#endif

static void fail(const char *what) {
    fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void open_null(int target, int flags) {
    int null = open("/dev/null", flags);
    if (null < 0 || dup2(null, target) < 0)
        fail("open /dev/null");
    if (null != target)
        close(null);
}

// What a box needs of a server: nothing outlives it, so there is no journal
// and no checkpoint to speak of, one thread evicts, and nobody reads
// diagnostics. The log goes to the pipe: it says when the server is ready.
static void become_server(int log) {
    open_null(STDIN_FILENO, O_RDONLY);
    if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        fail("redirect the server's log");
    char *arguments[] = {
        "mongod", "--dbpath", DATA, "--bind_ip", "127.0.0.1",
        "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
        "--setParameter", "diagnosticDataCollectionEnabled=false",
        "--wiredTigerEngineConfigString=" ENGINE, JOURNAL NULL,
    };
    execv(MONGOD, arguments);
    fail("start the MongoDB server");
}

// Returns the descriptor that the server's log is read from.
static int start_server(void) {
    int log[2];
    if (mkdir(DATA, 0700) != 0 || pipe2(log, O_CLOEXEC) != 0)
        fail("prepare the MongoDB server");
    pid_t child = fork();
    if (child < 0)
        fail("start the MongoDB server");
    if (child == 0)
        become_server(log[1]);
    if (fcntl(log[0], F_SETFD, 0) != 0)
        fail("read the server's log");
    return log[0];
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: mongosh ENTRY\n", stderr);
        return 2;
    }
    char log[12];
    snprintf(log, sizeof log, "%d", start_server());
    char *arguments[] = {
        "node", "--no-warnings", STACK, HEAP, LOADER, log, argv[1], NULL,
    };
    execv(NODE, arguments);
    fail("start the shell");
}
