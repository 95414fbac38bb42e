// Reads #include lines, outside of comments and strings. Conditions are not
// evaluated: a file that may be included is no program of its own.

#include "includes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

// Behind a string or character literal that begins here. It ends with its
// line at the latest, for the sake of 1'000'000 and of broken programs.
static const char *skip_literal(const char *text) {
    char quote = *text++;
    while (*text != '\0' && *text != '\n' && *text != quote)
        text += text[0] == '\\' && text[1] != '\0' ? 2 : 1;
    return *text == quote ? text + 1 : text;
}

// The path of the directive behind this '#', and its length; NULL if that
// is none of #include.
static const char *included(const char *text, size_t *length) {
    text = skip_blanks(text);
    if (strncmp(text, "include", 7) != 0)
        return NULL;
    text = skip_blanks(text + 7);
    if (*text != '"' && *text != '<')
        return NULL;
    char close = *text++ == '"' ? '"' : '>';
    *length = strcspn(text, close == '"' ? "\"\n" : ">\n");
    return text[*length] == close ? text : NULL;
}

// Takes "", "." and ".." segments out of a path, in place. A path that leads
// out of the working directory becomes one that names no file.
static void normalise(char *path) {
    char *out = path;
    for (char *segment = path; segment != NULL;) {
        char *slash = strchr(segment, '/');
        size_t length =
            slash == NULL ? strlen(segment) : (size_t)(slash - segment);
        if (length == 2 && segment[0] == '.' && segment[1] == '.') {
            if (out == path) {
                *path = '\0';
                return;
            }
            out--;
            while (out > path && out[-1] != '/')
                out--;
        } else if (length > 0 && !(length == 1 && segment[0] == '.')) {
            memmove(out, segment, length);
            out += length;
            *out++ = '/';
        }
        segment = slash == NULL ? NULL : slash + 1;
    }
    if (out > path)
        out--;
    *out = '\0';
}

static void report(const char *folder, size_t folder_length, const char *name,
                   size_t length, void (*found)(const char *, void *),
                   void *context) {
    char *path = NULL;
    if (asprintf(&path, "%.*s%.*s", (int)folder_length, folder, (int)length,
                 name)
        < 0)
        return;
    normalise(path);
    found(path, context);
    free(path);
}

void for_each_include(const char *file,
                      void (*found)(const char *path, void *context),
                      void *context) {
    char *text = read_file(file);
    const char *slash = strrchr(file, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - file) + 1;
    bool line_start = true;
    for (const char *at = text; at != NULL && *at != '\0';) {
        const char *behind = skip_comment(at);
        size_t length;
        if (behind != at) {
            at = behind;
            continue;
        }
        if (line_start && *at == '#') {
            const char *name = included(at + 1, &length);
            if (name != NULL) {
                report(file, folder, name, length, found, context);
                report("", 0, name, length, found, context);
                report(INCLUDE_FOLDER, strlen(INCLUDE_FOLDER), name, length,
                       found, context);
                at = name + length + 1;
            }
        }
        if (*at == '\n')
            line_start = true;
        else if (*at != ' ' && *at != '\t')
            line_start = false;
        if (*at == '"' || *at == '\'')
            at = skip_literal(at);
        else if (*at != '\0')
            at++;
    }
    free(text);
}
