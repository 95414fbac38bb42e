// The gate: where a launcher that has prepared waits for its submission.
//
// A command with `prepare = true` in language.toml is started before there is
// a submission, with the gate as descriptor 3. When the files stand in the
// working directory, the path of the entry file comes through it, and after it
// the arguments of the program. Each text but the only one ends with a NUL.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GATE 3
// As crates/languages limits them.
#define MAX_ENTRY 4096
#define MAX_ARGUMENTS 64
#define MAX_ARGUMENTS_BYTES (32 << 10)

// Keeps the gate from the programs that the launcher starts. To be called
// before any is.
static inline void keep_gate(void) {
    if (fcntl(GATE, F_SETFD, FD_CLOEXEC) != 0) {
        fputs("descriptor 3 is no gate\n", stderr);
        exit(EXIT_FAILURE);
    }
}

// Whether the submission is there already: work that only makes a later one faster
// would then delay it.
static inline bool gate_is_open(void) {
    char byte;
    return recv(GATE, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

// Reports that only the submission is missing, and waits for it. Returns the
// path of the entry file, as it was submitted, then the arguments of the
// program, then NULL. The gate is closed then.
static inline char **pass_gate(void) {
    static char text[MAX_ENTRY + MAX_ARGUMENTS_BYTES + MAX_ARGUMENTS + 2];
    static char *arguments[1 + MAX_ARGUMENTS + 1];
    const size_t longest = sizeof text - 1;
    size_t length = 0;
    ssize_t got;
    // If the submission came first, nobody listens any more.
    send(GATE, "", 1, MSG_NOSIGNAL);
    while ((got = read(GATE, text + length, longest - length)) > 0)
        length += (size_t)got;
    // Nothing comes through it when the box is given up.
    if (got < 0 || length == 0)
        _exit(EXIT_FAILURE);
    close(GATE);
    char *next = text;
    for (int count = 0; next < text + length && count <= MAX_ARGUMENTS; count++) {
        arguments[count] = next;
        next += strlen(next) + 1;
    }
    return arguments;
}
