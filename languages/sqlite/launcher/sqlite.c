// Runs a script as `sqlite3 -bail -table :memory: <ENTRY` does, but for this:
// messages name the file and the line in it, also that of a file that the
// script reads by `.read`; NULL is written as NULL.
//
// usage: sqlite ENTRY
//
// Runs in the folder of the submission. The shell reads one text (script.c), and
// its messages come through a pipe.

#define _GNU_SOURCE
#include "script.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHELL "/usr/bin/sqlite3"
#define NEAR " near line "

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static _Noreturn void become_shell(int script, int messages) {
    if (dup2(script, STDIN_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0)
        fail("cannot start the shell");
    // Every complete line is there when the run is ended.
    putenv("LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so");
    putenv("_STDBUF_O=L");
    char *arguments[] = {"sqlite3", "-batch", "-bail", "-init", "/dev/null",
                         "-table", "-nullvalue", "NULL", ":memory:", NULL};
    execv(SHELL, arguments);
    fail("cannot start the shell");
}

// `Parse error near line 3: …` becomes `main.sql:3: Parse error: …`.
static void write_message(const char *line) {
    const char *near = strstr(line, NEAR);
    char *end = NULL;
    long number = near == NULL ? 0 : strtol(near + strlen(NEAR), &end, 10);
    struct place place;
    bool is_kind = near != NULL && memchr(line, '"', near - line) == NULL;
    if (is_kind && end != NULL && *end == ':' && script_place(number, &place))
        fprintf(stderr, "%s:%ld: %.*s%s", place.path, place.line,
                (int)(near - line), line, end);
    else
        fputs(line, stderr);
}

static void pass_messages(int messages) {
    FILE *stream = fdopen(messages, "r");
    char *line = NULL;
    size_t size = 0;
    while (stream != NULL && getline(&line, &size, stream) > 0)
        write_message(line);
}

// Ends as the shell has ended.
static _Noreturn void end_as(pid_t shell) {
    int status;
    if (waitpid(shell, &status, 0) != shell)
        fail("cannot wait for the shell");
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

int main(int count, char **arguments) {
    int messages[2];
    if (count != 2)
        return EXIT_FAILURE;
    int script = script_open(arguments[1]);
    if (script < 0)
        fail(arguments[1]);
    if (pipe2(messages, O_CLOEXEC) != 0)
        fail("cannot start the shell");
    pid_t shell = fork();
    if (shell < 0)
        fail("cannot start the shell");
    if (shell == 0)
        become_shell(script, messages[1]);
    close(messages[1]);
    close(script);
    pass_messages(messages[0]);
    end_as(shell);
}
