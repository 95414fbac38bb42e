// Compiles sources, two at a time.

#include "compile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "diagnostics.h"
#include "headers.h"

// Enough to keep a core busy while the other one links or reads.
#define JOBS 2
// The exit status of a compiler that found errors.
#define HAS_ERRORS 1

// A source that is compiled.
struct job {
    pid_t compiler;
    // 0 when the driver starts it, and when it has ended.
    pid_t assembler;
    int messages;
    int status;
    int assembler_status;
    bool has_precompiled_header;
};

const char *own_file(const struct language *language, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s%s", language->folder, name) < 0)
        fail("cannot compile");
    return path;
}

// An argument that stands for those in the language's own file.
static const char *flags(const struct language *language) {
    char *argument = NULL;
    if (asprintf(&argument, "@%sflags", language->folder) < 0)
        fail("cannot compile");
    return argument;
}

// If the program is to be compiled at a fixed time, GCC takes it for __DATE__ and
// __TIME__, but not for __TIMESTAMP__, the time of any file that is included. A
// precompiled header undoes -D, so a header behind it defines that.
static void fix_time(struct command *command) {
    if (getenv("SOURCE_DATE_EPOCH") == NULL)
        return;
    add(command, "-include");
    add(command, "/opt/sandpiper/fixed-time.h");
}

static struct job start_driver(const struct language *language,
                               const struct source *source, enum way way,
                               bool has_lines) {
    struct command command = {.count = 0};
    add(&command, language->driver);
    add(&command, flags(language));
    if (has_lines)
        add(&command, "-g1");
    if (way == WARNING) {
        add(&command, "-Wall");
        add(&command, "-Wextra");
    }
    fix_time(&command);
    add(&command, "-c");
    add(&command, language->kind);
    add(&command, source->argument);
    add(&command, "-o");
    add(&command, source->object);
    struct job job = {.messages = new_messages()};
    job.compiler = start(&command, (struct streams){-1, -1, job.messages});
    return job;
}

// The folder of empty headers in place of those that the header has.
static const char *included_again(const char *header) {
    return strndup(header, strlen(header) - strlen(".h"));
}

// Starts the compiler, and the assembler that reads what it writes.
static struct job start_quick(const struct language *language,
                              const struct source *source,
                              const struct names *files, bool has_lines) {
    struct job job = {.messages = new_messages()};
    int assembly[2];
    if (pipe2(assembly, O_CLOEXEC) != 0)
        fail("cannot compile");
    struct command compiler = recorded(own_file(language, "compile"));
    replace(&compiler, "SOURCE", source->argument);
    if (has_lines)
        add(&compiler, "-g1");
    const char *header =
        precompiled_header(own_file(language, "headers"), source, files);
    if (header != NULL) {
        add(&compiler, "-include");
        add(&compiler, header);
        add(&compiler, "-isystem");
        add(&compiler, included_again(header));
        job.has_precompiled_header = true;
    }
    fix_time(&compiler);
    job.compiler =
        start(&compiler, (struct streams){-1, assembly[1], job.messages});
    close(assembly[1]);
    struct command assembler = recorded(own_file(language, "assemble"));
    replace(&assembler, "OBJECT", source->object);
    // As the driver does.
    if (has_lines)
        add(&assembler, "--gdwarf-5");
    job.assembler =
        start(&assembler, (struct streams){assembly[0], -1, job.messages});
    close(assembly[0]);
    return job;
}

// Waits until one of the jobs has ended.
static void reap(struct job *jobs, size_t count) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0)
            fail("cannot wait for the compiler");
        for (size_t i = 0; i < count; i++) {
            struct job *job = &jobs[i];
            if (job->compiler == pid) {
                job->compiler = 0;
                job->status = exit_status(status);
            } else if (job->assembler == pid) {
                job->assembler = 0;
                job->assembler_status = exit_status(status);
            } else {
                continue;
            }
            if (job->compiler == 0 && job->assembler == 0)
                return;
        }
    }
}

// Whether the driver may say something else of the source. Precompiled headers
// change what is said of headers alone.
static bool is_in_doubt(const struct job *job) {
    if (job->assembler_status != 0 && job->status == 0)
        return true;
    if (job->status != 0 && job->status != HAS_ERRORS)
        return true;
    return job->has_precompiled_header && mentions_headers(job->messages);
}

struct compiled compile_all(const struct language *language,
                            const struct sources *sources, enum way way,
                            bool has_lines) {
    size_t count = sources->count;
    struct job *jobs = calloc(count, sizeof *jobs);
    struct compiled result = {.messages = calloc(count, sizeof(int))};
    if (jobs == NULL || result.messages == NULL)
        fail("cannot compile");
    for (size_t i = 0; i < count; i++) {
        if (i >= JOBS)
            reap(jobs, i);
        const struct source *source = &sources->list[i];
        jobs[i] = way == QUICK
                      ? start_quick(language, source, &sources->files, has_lines)
                      : start_driver(language, source, way, has_lines);
    }
    for (size_t i = 0; i < JOBS && i < count; i++)
        reap(jobs, count);
    for (size_t i = 0; i < count; i++) {
        result.messages[i] = jobs[i].messages;
        if (result.status == 0)
            result.status = jobs[i].status != 0 ? jobs[i].status
                                                : jobs[i].assembler_status;
        if (way == QUICK && is_in_doubt(&jobs[i]))
            result.is_in_doubt = true;
    }
    free(jobs);
    return result;
}
