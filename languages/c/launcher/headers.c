// Chooses a precompiled header by the #include lines a source begins with.
// It comes before them all, as only standard headers may unseen.

#include "headers.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "includes.h"
#include "text.h"

// Far more than before the first line of code.
#define MAX_LINES 64

// Names of headers, as #include lines have them.
struct headers {
    char *names[MAX_LINES];
    size_t count;
};

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

// Whether it is the same before and behind every other one of these.
static bool is_standard(const char *name) {
    static const char *const others[] = {
        "assert.h", "bits/stdc++.h", "ctype.h",  "errno.h",  "float.h",
        "limits.h", "locale.h",      "math.h",   "signal.h", "stddef.h",
        "stdint.h", "stdio.h",       "stdlib.h", "string.h", "time.h",
        NULL};
    return strpbrk(name, "./") == NULL || is_one_of(name, others);
}

static const char *skip_space(const char *text) {
    for (;;) {
        const char *behind = skip_comment(text + strspn(text, " \t\r\n"));
        if (behind == text)
            return text;
        text = behind;
    }
}

// The end of the line, if nothing but comments is before it; otherwise NULL.
static const char *skip_line(const char *text) {
    for (;;) {
        const char *behind = skip_comment(skip_blanks(text));
        if (*behind == '\n' || *behind == '\r' || *behind == '\0')
            return behind;
        if (behind == text)
            return NULL;
        text = behind;
    }
}

// Behind the word, if the text begins with it.
static const char *skip_word(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? text + length : NULL;
}

// Behind the name of a directive, if that is the one that begins here.
static const char *skip_directive(const char *at, const char *name) {
    if (*at != '#')
        return NULL;
    const char *behind = skip_word(skip_blanks(at + 1), name);
    return behind == NULL ? NULL : skip_blanks(behind);
}

// A line that is continued may be a comment's: the next line is none then.
static bool has_continued_line(const char *text) {
    for (; (text = strchr(text, '\\')) != NULL; text++)
        if (text[1 + strspn(text + 1, " \t\v\f\r")] == '\n')
            return true;
    return false;
}

// The text of a file that can be read by the line; NULL elsewhere.
static const char *lines_of(const char *path) {
    const char *text = read_file(path);
    return text == NULL || has_continued_line(text) ? NULL : text;
}

// Behind `#pragma once`, or the two lines that an include guard begins with;
// NULL if there is neither. A macro without an underscore (NDEBUG), with one
// in front or in small letters may mean something to standard headers.
static const char *skip_guard(const char *at) {
    const char *once = skip_directive(at, "pragma");
    if (once != NULL) {
        once = skip_word(once, "once");
        return once == NULL ? NULL : skip_line(once);
    }
    const char *name = skip_directive(at, "ifndef");
    if (name == NULL || *name == '_')
        return NULL;
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *end = skip_line(name + length);
    const char *define =
        end == NULL ? NULL : skip_directive(skip_space(end), "define");
    if (memchr(name, '_', length) == NULL || define == NULL
        || strncmp(define, name, length) != 0)
        return NULL;
    return skip_line(define + length);
}

// The path of a submitted file that another one includes; NULL if there is
// none: beside that file, in the working directory, or in its folder of headers.
static char *submitted(const char *from, const char *name, size_t length) {
    const char *slash = strrchr(from, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - from) + 1;
    const char *const folders[] = {strndup(from, folder), "", INCLUDE_FOLDER};
    for (int i = 0; i < 3; i++) {
        char *path = NULL;
        if (folders[i] == NULL
            || asprintf(&path, "%s%.*s", folders[i], (int)length, name) < 0)
            return NULL;
        if (access(path, F_OK) == 0)
            return path;
    }
    return NULL;
}

// The standard headers that the file includes before anything else, also by
// way of the first submitted files that it includes.
static struct headers leading_headers(const char *path) {
    struct headers headers = {.count = 0};
    const char *at = lines_of(path);
    for (int i = 0; at != NULL && i < MAX_LINES; i++) {
        at = skip_space(at);
        const char *behind = skip_guard(at);
        if (behind != NULL) {
            at = behind;
            continue;
        }
        at = skip_directive(at, "include");
        if (at == NULL || (*at != '<' && *at != '"'))
            break;
        char open = *at++;
        size_t length = strcspn(at, open == '<' ? ">\n" : "\"\n");
        if (open == '"' && at[length] == '"') {
            path = submitted(path, at, length);
            at = path == NULL ? NULL : lines_of(path);
            continue;
        }
        char *name = strndup(at, length);
        at = open == '<' && at[length] == '>' ? skip_line(at + length + 1)
                                              : NULL;
        if (at == NULL || name == NULL || !is_standard(name))
            break;
        headers.names[headers.count++] = name;
    }
    return headers;
}

static bool contains_all(const struct headers *headers, char *words) {
    for (char *word; (word = strsep(&words, " ")) != NULL;) {
        bool found = false;
        for (size_t i = 0; i < headers->count && !found; i++)
            found = strcmp(headers->names[i], word) == 0;
        if (!found)
            return false;
    }
    return true;
}

// Whether a submitted file is found where the header itself means one of the
// system's: the working directory is searched first.
static bool is_hidden(const char *header, const struct names *files) {
    char *path = NULL;
    if (asprintf(&path, "%s.files", header) < 0)
        return true;
    char *rest = read_file(path);
    bool hidden = rest == NULL;
    for (char *line; !hidden && (line = strsep(&rest, "\n")) != NULL;) {
        size_t length = strlen(line);
        for (size_t i = 0; i < files->count && !hidden; i++) {
            size_t own = strlen(files->list[i]);
            hidden = length > own && line[length - own - 1] == '/'
                     && strcmp(line + length - own, files->list[i]) == 0;
        }
    }
    return hidden;
}

const char *precompiled_header(const char *folder, const struct source *source,
                               const struct names *files) {
    char *path = NULL;
    if (asprintf(&path, "%s/list", folder) < 0)
        return NULL;
    char *list = read_file(path);
    if (list == NULL)
        return NULL;
    struct headers headers = leading_headers(source->path);
    char *line;
    for (int number = 1; (line = strsep(&list, "\n")) != NULL; number++) {
        char *header = NULL;
        if (*line == '\0' || !contains_all(&headers, line))
            continue;
        if (asprintf(&header, "%s/%d.h", folder, number) < 0)
            return NULL;
        return is_hidden(header, files) ? NULL : header;
    }
    return NULL;
}
