// Rewrites the places where a message names a path: the beginning of a line,
// and behind "from " and " at ". Quoted source lines stay as they are.

#include "diagnostics.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// A part of a message.
struct text {
    const char *start;
    const char *end;
};

static bool begins(struct text text, const char *prefix) {
    size_t length = strlen(prefix);
    return (size_t)(text.end - text.start) >= length
           && memcmp(text.start, prefix, length) == 0;
}

static bool has(struct text text, const char *words) {
    size_t length = (size_t)(text.end - text.start);
    return memmem(text.start, length, words, strlen(words)) != NULL;
}

// Behind the working directory's name, in whichever way it is written.
static struct text without_folder(struct text text) {
    for (;;) {
        if (begins(text, "./"))
            text.start += 2;
        else if (begins(text, "/box/"))
            text.start += 5;
        else
            return text;
    }
}

// The length of the name of a temporary object or assembly file as the compiler
// makes them.
static size_t temporary_file(struct text text) {
    const size_t random = strlen("/tmp/cc"), length = random + 6;
    if (!begins(text, "/tmp/cc")
        || (size_t)(text.end - text.start) < length + 2
        || text.start[length] != '.'
        || strchr("os", text.start[length + 1]) == NULL)
        return 0;
    for (size_t i = random; i < length; i++)
        if (!isalnum((unsigned char)text.start[i]))
            return 0;
    return length + 2;
}

// Finds the source whose object or assembly file the text begins with; sets the
// length of the name.
static const struct source *object_of(struct text text,
                                      const struct sources *sources,
                                      size_t *length) {
    *length = temporary_file(text);
    if (*length > 0)
        return &sources->list[0];
    for (size_t i = 0; i < sources->count; i++) {
        const char *object = sources->list[i].object;
        if (begins(text, object)) {
            *length = strlen(object);
            return &sources->list[i];
        }
    }
    return NULL;
}

// Prints `src/main.o` for `src/main.c`.
static void print_product(const struct source *source, char suffix) {
    const char *slash = strrchr(source->path, '/');
    const char *dot = strrchr(source->path, '.');
    size_t stem = dot == NULL || (slash != NULL && dot < slash)
                      ? strlen(source->path)
                      : (size_t)(dot - source->path);
    fprintf(stderr, "%.*s.%c", (int)stem, source->path, suffix);
}

// Whether a line shows source code: `   12 | int main(void)`.
static bool is_quotation(struct text line) {
    const char *at = line.start;
    while (at < line.end && (*at == ' ' || isdigit((unsigned char)*at)))
        at++;
    return at > line.start && at[-1] == ' ' && at < line.end && *at == '|';
}

// The length of the words before a path that the text begins with.
static size_t introduction(struct text text) {
    if (begins(text, "from "))
        return strlen("from ");
    if (begins(text, " at "))
        return strlen(" at ");
    return 0;
}

// The linker reports a missing `main` in two lines about a place in the C
// library, which learners never saw. Prints a sentence instead.
static bool is_missing_main(struct text line) {
    if (begins(line, "(.text") && has(line, "undefined reference to `main'"))
        fputs("No file defines main, the function that a program starts "
              "with.\n",
              stderr);
    else if (!has(line, "crt1.o: in function `"))
        return false;
    return true;
}

static void print_line(struct text line, const struct sources *sources) {
    struct text rest = without_folder(line);
    while (rest.start < rest.end) {
        size_t length;
        const struct source *source = object_of(rest, sources, &length);
        if (source != NULL) {
            char suffix = rest.start[length - 1];
            print_product(source, suffix);
            rest.start += length;
            // The linker writes object:file:line.
            length = suffix == 'o' && begins(rest, ":") ? 1 : 0;
        } else {
            length = introduction(rest);
        }
        if (length > 0) {
            fwrite(rest.start, 1, length, stderr);
            rest.start += length;
            rest = without_folder(rest);
        } else if (source == NULL) {
            putc(*rest.start++, stderr);
        }
    }
}

static struct text map(int messages) {
    struct stat status;
    if (fstat(messages, &status) != 0 || status.st_size == 0)
        return (struct text){"", ""};
    size_t size = (size_t)status.st_size;
    char *start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, messages, 0);
    if (start == MAP_FAILED) {
        perror("cannot read the compiler's messages");
        exit(EXIT_FAILURE);
    }
    return (struct text){start, start + size};
}

void print_diagnostics(int messages, const struct sources *sources) {
    struct text all = map(messages);
    while (all.start < all.end) {
        size_t left = (size_t)(all.end - all.start);
        const char *newline = memchr(all.start, '\n', left);
        struct text line = {all.start,
                            newline == NULL ? all.end : newline + 1};
        if (is_quotation(line))
            fwrite(line.start, 1, (size_t)(line.end - line.start), stderr);
        else if (!is_missing_main(line))
            print_line(line, sources);
        all.start = line.end;
    }
}

bool mentions_headers(int messages) {
    struct text all = map(messages);
    // The second is a proposal where to include one.
    return has(all, "/usr/") || has(all, "#include <");
}
