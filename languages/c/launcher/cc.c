// Compiles and links a C or C++ submission: the entry file, and every other
// source file that no submitted file includes, become /artifacts/main.
//
// usage: cc c|cpp ENTRY
//
// Runs in the folder of the submission. Diagnostics go to stderr and name the
// files as they were submitted; the exit status is the compiler's.

#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "diagnostics.h"
#include "sources.h"
#include "symbols.h"

#define PROGRAM "/artifacts/main"
// Makes stdout line-buffered; its source is stdout.c.
#define STDOUT_OBJECT "/opt/sandpiper/stdout.o"
// Enough to keep a core busy while the other one links or reads.
#define JOBS 2
#define MOST_ARGUMENTS 32

extern char **environ;

struct language {
    const char *name;
    const char *driver;
    const char *kind;
    const char *standard;
    const char *const *extensions;
};

static const char *const c_extensions[] = {".c", NULL};
static const char *const cpp_extensions[] = {".cpp", ".cc", ".cxx", ".c++",
                                             NULL};
static const struct language languages[] = {
    {"c", "/usr/bin/gcc", "-xc", "-std=gnu17", c_extensions},
    {"cpp", "/usr/bin/g++", "-xc++", "-std=gnu++23", cpp_extensions},
};

// Arguments of one command.
struct command {
    const char *arguments[MOST_ARGUMENTS];
    size_t count;
};

// A compiler that runs, and the memory file that takes what it says.
struct job {
    pid_t pid;
    int messages;
    int status;
};

static void add(struct command *command, const char *argument) {
    if (command->count + 1 == MOST_ARGUMENTS)
        abort();
    command->arguments[command->count++] = argument;
    command->arguments[command->count] = NULL;
}

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static struct job start(const struct command *command) {
    struct job job = {.messages = memfd_create("messages", MFD_CLOEXEC)};
    if (job.messages < 0)
        fail("cannot keep the compiler's messages");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, job.messages, STDERR_FILENO);
    int error = posix_spawn(&job.pid, command->arguments[0], &actions, NULL,
                            (char *const *)command->arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        fprintf(stderr, "cannot run %s: %s\n", command->arguments[0],
                strerror(error));
        exit(EXIT_FAILURE);
    }
    return job;
}

// Waits for any of the jobs.
static void reap(struct job *jobs, size_t count) {
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0)
        fail("cannot wait for the compiler");
    for (size_t i = 0; i < count; i++)
        if (jobs[i].pid == pid)
            jobs[i].status =
                WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static struct job run(const struct command *command) {
    struct job job = start(command);
    reap(&job, 1);
    return job;
}

// The flags that every compilation has. A debugging one also notes line
// numbers, for the linker's messages.
static struct command compiler(const struct language *language,
                               bool debugging) {
    struct command command = {.count = 0};
    add(&command, language->driver);
    add(&command, language->standard);
    // Without the optimiser's liberties: a division by zero and an endless
    // recursion end as a learner expects.
    add(&command, "-O1");
    add(&command, "-pthread");
    add(&command, "-I.");
    if (debugging)
        add(&command, "-g1");
    return command;
}

// mold links a C++ program in a third of the time of GNU ld; but learners
// look up what GNU ld says, so that one words the errors.
static void add_linking(struct command *command, bool quick) {
    add(command, "-xnone");
    add(command, STDOUT_OBJECT);
    add(command, "-lm");
    if (quick) {
        add(command, "-fuse-ld=mold");
        add(command, "-Wl,--no-fork,--threads=1");
    }
    add(command, "-o");
    add(command, PROGRAM);
}

// Compiles and links a single source with one run of the compiler.
static struct job build_one(const struct language *language,
                            const struct source *source, bool quick) {
    struct command command = compiler(language, !quick);
    add(&command, language->kind);
    add(&command, source->argument);
    add_linking(&command, quick);
    return run(&command);
}

// Compiles every source to its object, two at a time, and prints what the
// compiler says in the order of the sources; a second, debugging run says
// nothing new.
static int compile_all(const struct language *language,
                       const struct sources *sources, bool debugging) {
    struct job *jobs = calloc(sources->count, sizeof *jobs);
    if (jobs == NULL)
        fail("cannot compile");
    for (size_t i = 0; i < sources->count; i++) {
        if (i >= JOBS)
            reap(jobs, i);
        struct command command = compiler(language, debugging);
        add(&command, "-c");
        add(&command, language->kind);
        add(&command, sources->list[i].argument);
        add(&command, "-o");
        add(&command, sources->list[i].object);
        jobs[i] = start(&command);
    }
    for (size_t i = 0; i < JOBS && i < sources->count; i++)
        reap(jobs, sources->count);
    int status = 0;
    for (size_t i = 0; i < sources->count; i++) {
        // A temporary file that is named is of this source.
        struct sources own = {.list = &sources->list[i], .count = 1};
        if (!debugging)
            print_diagnostics(jobs[i].messages, &own);
        close(jobs[i].messages);
        if (status == 0)
            status = jobs[i].status;
    }
    free(jobs);
    return status;
}

static struct job link_all(const struct language *language,
                           const struct sources *sources, bool quick) {
    struct command command = {.count = 0};
    add(&command, language->driver);
    add(&command, "-pthread");
    // The objects' names are too many for an argument each.
    char list[] = "@/artifacts/objects";
    FILE *file = fopen(list + 1, "w");
    if (file == NULL)
        fail("cannot write the list of objects");
    for (size_t i = 0; i < sources->count; i++)
        fprintf(file, "%s\n", sources->list[i].object);
    if (fclose(file) != 0)
        fail("cannot write the list of objects");
    add(&command, list);
    add_linking(&command, quick);
    struct job job = run(&command);
    unlink(list + 1);
    return job;
}

// Tells of a second main in one sentence, the entry file first where it has
// one: the linker's words for it are hard to read.
static bool has_two_mains(const struct sources *sources) {
    const char *first = NULL;
    for (size_t i = 0; i < sources->count; i++) {
        if (!defines_main(sources->list[i].object))
            continue;
        if (first != NULL) {
            fprintf(stderr,
                    "%s and %s both define main, but a program has only one.\n",
                    first, sources->list[i].path);
            return true;
        }
        first = sources->list[i].path;
    }
    return false;
}

static int build_several(const struct language *language,
                         const struct sources *sources) {
    int status = compile_all(language, sources, false);
    if (status != 0)
        return status;
    if (has_two_mains(sources))
        return EXIT_FAILURE;
    struct job job = link_all(language, sources, true);
    if (job.status != 0 && compile_all(language, sources, true) == 0)
        job = link_all(language, sources, false);
    print_diagnostics(job.messages, sources);
    return job.status;
}

static int build_single(const struct language *language,
                        const struct sources *sources) {
    struct job job = build_one(language, &sources->list[0], true);
    // Only the linker names objects: its message is worth a second run.
    if (job.status != 0 && mentions_linker(job.messages))
        job = build_one(language, &sources->list[0], false);
    print_diagnostics(job.messages, sources);
    return job.status;
}

int main(int argc, char **argv) {
    const struct language *language = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof languages / sizeof *languages;
         i++)
        if (strcmp(argv[1], languages[i].name) == 0)
            language = &languages[i];
    if (language == NULL) {
        fputs("usage: cc c|cpp ENTRY\n", stderr);
        return 2;
    }
    // Messages are rewritten by the character.
    setvbuf(stderr, NULL, _IOFBF, 1 << 16);
    struct sources sources = find_sources(argv[2], language->extensions);
    if (sources.count == 1)
        return build_single(language, &sources);
    int status = build_several(language, &sources);
    for (size_t i = 0; i < sources.count; i++)
        unlink(sources.list[i].object);
    return status;
}
