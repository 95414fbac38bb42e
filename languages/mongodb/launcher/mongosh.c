// Starts the box's own MongoDB server and the shell in front of it, at the same
// time, and ends as the shell does.
//
// usage: mongosh 3<>GATE

#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
// A shell that waits would lose a third of what preparing has brought when V8
// gives memory back. build.sh has the same.
#define KEEP "--no-memory-reducer"
// Beside the submission's own files, and out of its sight.
#define DATA "/dev/shm/mongodb"

// If there must be a journal, it starts small.
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

// The settings of a server for one box: nothing outlives it, so there is no journal
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
        // Work that it would do after a minute or five, and a program that starts
        // cold never meets: how long the server waited must not show.
        "--syncdelay", "0", "--setParameter", "ttlMonitorEnabled=false",
        "--setParameter", "logicalSessionRefreshMillis=86400000",
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
    close(log[1]);
    return log[0];
}

// The shell passes the gate, reads the log and reports its exit code.
static void become_shell(int log, int code) {
    char log_number[12], code_number[12];
    snprintf(log_number, sizeof log_number, "%d", log);
    snprintf(code_number, sizeof code_number, "%d", code);
    const int kept[] = {GATE, log, code};
    for (size_t at = 0; at < sizeof kept / sizeof *kept; at++)
        if (fcntl(kept[at], F_SETFD, 0) != 0)
            fail("hand over a descriptor");
    char *arguments[] = {
        "node", "--no-warnings", STACK,       HEAP, KEEP,
        LOADER, log_number,      code_number, NULL,
    };
    execv(NODE, arguments);
    fail("start the shell");
}

// Ends as the shell ended, which reported no exit code.
static _Noreturn void end_as(pid_t shell) {
    int status;
    if (waitpid(shell, &status, 0) != shell)
        fail("wait for the shell");
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

int main(void) {
    keep_gate();
    int log = start_server();
    int codes[2];
    if (pipe2(codes, O_CLOEXEC) != 0)
        fail("prepare the shell");
    pid_t shell = fork();
    if (shell < 0)
        fail("start the shell");
    if (shell == 0)
        become_shell(log, codes[1]);
    close(GATE);
    close(log);
    close(codes[1]);
    // The shell is not waited for: V8 takes 10 ms to put its heap away.
    unsigned char code;
    if (read(codes[0], &code, 1) == 1)
        _exit(code);
    end_as(shell);
}
