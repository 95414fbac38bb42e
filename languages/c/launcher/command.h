// Commands of the toolchain: their arguments, started, waited for.
#pragma once

#include <stddef.h>
#include <sys/types.h>

// Those of addr2line are the most.
#define MAX_ARGUMENTS 320

struct command {
    const char *arguments[MAX_ARGUMENTS];
    size_t count;
};

// Where a command reads and writes. -1: as the launcher does.
struct streams {
    int input;
    int output;
    int messages;
};

void add(struct command *command, const char *argument);

// The command that the image's build wrote down in the file, an argument a
// line.
struct command recorded(const char *file);

// Puts the value in the place of every argument that is the name.
void replace(struct command *command, const char *name, const char *value);

pid_t start(const struct command *command, struct streams streams);

// A file in memory for what a command says.
int new_messages(void);

// The exit status that a status of waitpid holds. Of a command that a signal
// ended, it is one that no compiler exits with.
int exit_status(int status);

// The exit status of a command that runs alone.
int wait_for(pid_t pid);

// Says why the launcher itself cannot go on, and ends it.
void fail(const char *what);
