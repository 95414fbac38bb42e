// Starts commands, which are built or were recorded.

#include "command.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"

extern char **environ;

void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

void add(struct command *command, const char *argument) {
    if (command->count + 1 == MAX_ARGUMENTS)
        abort();
    command->arguments[command->count++] = argument;
    command->arguments[command->count] = NULL;
}

struct command recorded(const char *file) {
    struct command command = {.count = 0};
    char *rest = read_file(file);
    if (rest == NULL)
        fail(file);
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';)
        add(&command, line);
    return command;
}

void replace(struct command *command, const char *name, const char *value) {
    for (size_t i = 0; i < command->count; i++)
        if (strcmp(command->arguments[i], name) == 0)
            command->arguments[i] = value;
}

pid_t start(const struct command *command, struct streams streams) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const int own[] = {streams.input, streams.output, streams.messages};
    for (int standard = 0; standard < 3; standard++)
        if (own[standard] >= 0)
            posix_spawn_file_actions_adddup2(&actions, own[standard], standard);
    pid_t pid;
    int error = posix_spawn(&pid, command->arguments[0], &actions, NULL,
                            (char *const *)command->arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        fprintf(stderr, "cannot run %s: %s\n", command->arguments[0],
                strerror(error));
        exit(EXIT_FAILURE);
    }
    return pid;
}

int new_messages(void) {
    int messages = memfd_create("messages", MFD_CLOEXEC);
    if (messages < 0)
        fail("cannot keep the compiler's messages");
    return messages;
}

int exit_status(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int wait_for(pid_t pid) {
    int status;
    if (waitpid(pid, &status, 0) < 0)
        fail("cannot wait for the toolchain");
    return exit_status(status);
}
