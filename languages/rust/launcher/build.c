// Compiles a Rust submission as `rustc ENTRY` does, but for this: the place of a
// message stands before it, on the same line, as other compilers have it; the edition
// is that of Cargo.toml.
//
// usage: build ENTRY [--warnings], in the folder of the submission

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"

#define RUSTC "/usr/bin/rustc"
#define PROGRAM "/artifacts/main"
#define ARROW "--> "
#define MANIFEST "Cargo.toml"

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

// Opens the Cargo.toml of the entry file: in its folder or above.
static FILE *open_manifest(const char *entry) {
    FILE *file = NULL;
    int folder = (int)strlen(entry);
    while (file == NULL && folder > 0) {
        char *path;
        do
            folder--;
        while (folder > 0 && entry[folder - 1] != '/');
        if (asprintf(&path, "%.*s" MANIFEST, folder, entry) < 0)
            abort();
        file = fopen(path, "re");
        free(path);
    }
    return file;
}

// Returns the option.
static char *edition_of(const char *entry) {
    static char option[] = "--edition=2024";
    FILE *file = open_manifest(entry);
    char *line = NULL;
    size_t size = 0;
    while (file != NULL && getline(&line, &size, file) > 0)
        sscanf(line, " edition = %*[\"']%4[0-9]", strchr(option, '=') + 1);
    free(line);
    return option;
}

static _Noreturn void become_compiler(char *entry, bool warns, int messages) {
    if (dup2(messages, STDERR_FILENO) < 0)
        fail("cannot start the compiler");
    // To the compiler -x is an option, and @x a file of options.
    char *file = entry;
    if (strchr("-@", entry[0]) != NULL && asprintf(&file, "./%s", entry) < 0)
        fail("cannot start the compiler");
    char *lints = warns ? "--cap-lints=forbid" : "--cap-lints=allow";
    char *arguments[] = {
        "rustc", edition_of(entry), "--crate-name=main", lints,
        // The checks that a learner expects of a debug build, in less time than -O2.
        "-Copt-level=1", "-Cdebug-assertions=on", "-Ccodegen-units=4",
        // The standard library is in the image, and need not be linked in.
        "-Cprefer-dynamic", "-Cstrip=debuginfo",
        "-Clink-arg=-fuse-ld=gold", "-Clink-arg=-fno-lto", "-o", PROGRAM, file, NULL};
    execv(RUSTC, arguments);
    fail("cannot start the compiler");
}

// The place in a line ` --> PATH:LINE:COLUMN`; NULL for every other line.
static char *place_in(char *line) {
    char *arrow = line + strspn(line, " ");
    if (strncmp(arrow, ARROW, strlen(ARROW)) != 0)
        return NULL;
    arrow[strcspn(arrow, "\n")] = '\0';
    return arrow + strlen(ARROW);
}

static bool is_head(const char *line) {
    return strncmp(line, "error", 5) == 0 || strncmp(line, "warning", 7) == 0;
}

// A head is held until the line after it, which has its place. A head of several
// lines is held whole.
static void pass_messages(int messages) {
    FILE *stream = fdopen(messages, "r");
    char *line = NULL, *head = NULL;
    size_t size = 0;
    while (stream != NULL && getline(&line, &size, stream) > 0) {
        char *place = head == NULL ? NULL : place_in(line);
        if (place != NULL) {
            fprintf(stderr, "%s: %s", place, head);
        } else if (is_head(line) || (head != NULL && line[0] == ' ')) {
            char *longer = NULL;
            if (asprintf(&longer, "%s%s", head == NULL ? "" : head, line) < 0)
                abort();
            free(head);
            head = longer;
            continue;
        } else {
            fprintf(stderr, "%s%s", head == NULL ? "" : head, line);
        }
        free(head);
        head = NULL;
    }
    if (head != NULL)
        fputs(head, stderr);
}

int main(int count, char **arguments) {
    int messages[2], status;
    if (count < 2 || pipe2(messages, O_CLOEXEC) != 0)
        fail("cannot start the compiler");
    hide_proc();
    bool warns = count > 2 && strcmp(arguments[2], "--warnings") == 0;
    pid_t compiler = fork();
    if (compiler < 0)
        fail("cannot start the compiler");
    if (compiler == 0)
        become_compiler(arguments[1], warns, messages[1]);
    close(messages[1]);
    pass_messages(messages[0]);
    if (waitpid(compiler, &status, 0) != compiler)
        fail("cannot wait for the compiler");
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
