// The gate: where a launcher that has prepared waits for its submission.
//
// A command with `prepare = true` in language.toml is started before there is
// a submission, with the gate as descriptor 3. When the files stand in the
// working directory, the path of the entry file comes through it.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GATE 3
#define LONGEST_ENTRY 4096

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

// Tells that only the submission is missing, and waits for it. The path of the
// entry file, as it was submitted. The gate is closed then.
static inline const char *pass_gate(void) {
    static char entry[LONGEST_ENTRY + 1];
    size_t length = 0;
    ssize_t got;
    // Where the submission came first, nobody listens any more.
    send(GATE, "", 1, MSG_NOSIGNAL);
    while ((got = read(GATE, entry + length, LONGEST_ENTRY - length)) > 0)
        length += (size_t)got;
    // Nothing comes through it when the box is given up.
    if (got < 0 || length == 0)
        _exit(EXIT_FAILURE);
    close(GATE);
    return entry;
}
