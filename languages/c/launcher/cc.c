// Compiles and links a C or C++ submission: the entry file, and every other
// source file that no submitted file includes, become /artifacts/main.
//
// usage: cc c|cpp ENTRY [--crash] [--warnings]
//
// Runs in the folder of the submission. Diagnostics go to stderr and name the
// files as they were submitted; the exit status is the compiler's.
//
// With --crash it prints the places of the calls that crash.c wrote down. For
// that it compiles the same program once more, with line numbers: programs that
// do not crash are compiled without them, which takes less time. If crash.c wrote
// nothing down, it does nothing.

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "compile.h"
#include "crash.h"
#include "diagnostics.h"
#include "proc.h"
#include "sources.h"
#include "symbols.h"

#define PROGRAM "/artifacts/main"
// The objects' names are too many for an argument each.
#define OBJECTS "/artifacts/objects"
// Linked into every program; its sources are stdout.c and crash.c.
#define OWN_OBJECT "/opt/sandpiper/program.o"

static const char *const c_extensions[] = {".c", NULL};
static const char *const cpp_extensions[] = {".cpp", ".cc", ".cxx", ".c++",
                                             NULL};
static const struct language languages[] = {
    {"c", "/opt/sandpiper/c/", "/usr/bin/gcc", "-xc", c_extensions},
    {"cpp", "/opt/sandpiper/cpp/", "/usr/bin/g++", "-xc++",
     cpp_extensions},
};

// The line that seems to define main; the first one if macros write it.
static size_t line_of_main(const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 1;
    char *line = NULL;
    size_t size = 0;
    size_t found = 0;
    for (size_t number = 1; found == 0 && getline(&line, &size, file) > 0;
         number++)
        for (char *at = line; (at = strstr(at, "main")) != NULL; at++) {
            bool is_part = at != line
                && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
            if (!is_part && at[4 + strspn(at + 4, " \t")] == '(')
                found = number;
        }
    fclose(file);
    return found == 0 ? 1 : found;
}

// Reports a second main at both places, the entry file first if it has one: the
// linker's words for it are hard to read.
static bool has_two_mains(const struct sources *sources) {
    const char *first = NULL;
    for (size_t i = 0; i < sources->count; i++) {
        if (!defines_main(sources->list[i].object))
            continue;
        const char *path = sources->list[i].path;
        if (first != NULL) {
            static const char error[] =
                "%s:%zu: error: %s defines main, too, but a program has "
                "only one\n";
            fprintf(stderr, error, first, line_of_main(first), path);
            fprintf(stderr, error, path, line_of_main(path), first);
            return true;
        }
        first = path;
    }
    return false;
}

// Writes down the objects' names; an argument for the driver and for linkers.
static const char *list_objects(const struct sources *sources) {
    FILE *file = fopen(OBJECTS, "w");
    if (file == NULL)
        fail("cannot write the list of objects");
    for (size_t i = 0; i < sources->count; i++)
        fprintf(file, "%s\n", sources->list[i].object);
    if (fclose(file) != 0)
        fail("cannot write the list of objects");
    return "@" OBJECTS;
}

// Links as the driver would, but with a linker that takes a third of the time
// of GNU ld. Its messages are not shown.
static int link_quickly(const struct language *language,
                        const struct sources *sources) {
    struct command command = recorded(own_file(language, "link"));
    replace(&command, "OBJECTS", list_objects(sources));
    int messages = new_messages();
    int status = wait_for(start(&command, (struct streams){-1, -1, messages}));
    close(messages);
    return status;
}

// Links with GNU ld: learners look up what that one says.
static int link_by_driver(const struct language *language,
                          const struct sources *sources) {
    struct command command = {.count = 0};
    add(&command, language->driver);
    add(&command, "-pthread");
    add(&command, list_objects(sources));
    add(&command, OWN_OBJECT);
    add(&command, "-lm");
    add(&command, "-o");
    add(&command, PROGRAM);
    int messages = new_messages();
    int status = wait_for(start(&command, (struct streams){-1, -1, messages}));
    print_diagnostics(messages, sources);
    return status;
}

// Prints what the compiler says in the order of the sources.
static void print_all(const struct compiled *compiled,
                      const struct sources *sources) {
    for (size_t i = 0; i < sources->count; i++) {
        // A temporary file that is named is of this source.
        struct sources own = {.list = &sources->list[i], .count = 1};
        print_diagnostics(compiled->messages[i], &own);
    }
}

static int build(const struct language *language,
                 const struct sources *sources, bool warnings, bool has_lines) {
    struct compiled compiled =
        compile_all(language, sources, warnings ? WARNING : QUICK, has_lines);
    if (compiled.status != 0 && compiled.is_in_doubt)
        compiled = compile_all(language, sources, STOCK, has_lines);
    if (compiled.status == 0) {
        if (link_quickly(language, sources) == 0) {
            if (warnings)
                print_all(&compiled, sources);
            return EXIT_SUCCESS;
        }
        // The linker's messages have the numbers.
        compiled = compile_all(language, sources, STOCK, true);
    }
    print_all(&compiled, sources);
    if (compiled.status != 0)
        return compiled.status;
    if (has_two_mains(sources))
        return EXIT_FAILURE;
    return link_by_driver(language, sources);
}

static bool is_address(const char *text) {
    return strncmp(text, "0x", 2) == 0 && text[2] != '\0'
           && text[2 + strspn(text + 2, "0123456789abcdef")] == '\0';
}

// Adds the addresses that crash.c wrote down. The program can put anything in that
// place, such as a pipe, or options of the command: the first addresses of a file
// are taken, and nothing else.
static void add_addresses(struct command *command) {
    static char text[(8 << 10) + 1];
    int file = open(ADDRESSES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    struct stat status;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        (void)!read(file, text, sizeof text - 1);
    close(file);
    size_t most = command->count + MAX_ADDRESSES;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (is_address(line) && command->count < most)
            add(command, line);
}

// Makes the command that prints the places of the calls that led to a crash,
// innermost first. Returns whether there are any.
static bool find_places(struct command *command) {
    add(command, "/usr/bin/addr2line");
    add(command, "-i");
    add(command, "-e");
    add(command, PROGRAM);
    size_t own = command->count;
    add_addresses(command);
    return command->count > own;
}

static bool takes(char ***arguments, const char *option) {
    bool has = **arguments != NULL && strcmp(**arguments, option) == 0;
    *arguments += has;
    return has;
}

int main(int argc, char **argv) {
    const struct language *language = NULL;
    char **options = argc < 3 ? argv + argc : argv + 3;
    bool crash = takes(&options, "--crash");
    bool warnings = takes(&options, "--warnings");
    for (size_t i = 0; argc >= 3 && i < sizeof languages / sizeof *languages; i++)
        if (*options == NULL && strcmp(argv[1], languages[i].name) == 0)
            language = &languages[i];
    if (language == NULL) {
        fputs("usage: cc c|cpp ENTRY [--crash] [--warnings]\n", stderr);
        return 2;
    }
    hide_proc();
    // Messages are rewritten by the character.
    setvbuf(stderr, NULL, _IOFBF, 1 << 16);
    // Before the program's files are read: most signals leave nothing to do.
    struct command places = {.count = 0};
    if (crash && !find_places(&places))
        return EXIT_SUCCESS;
    struct sources sources = find_sources(argv[2], language->extensions);
    int status = build(language, &sources, warnings, crash);
    for (size_t i = 0; i < sources.count; i++)
        unlink(sources.list[i].object);
    unlink(OBJECTS);
    if (status != EXIT_SUCCESS || !crash)
        return status;
    return wait_for(start(&places, (struct streams){-1, -1, -1}));
}
