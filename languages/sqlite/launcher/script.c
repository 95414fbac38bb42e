// Puts a script and the files that it reads together: see script.h.

#define _GNU_SOURCE
#include "script.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ ".read"
// As in the shell. Beyond it the shell itself reads, and refuses.
#define MAX_DEPTH 25

static struct place *places;
static long place_count;
// Of the statement that a line belongs to.
static char *statement;
static size_t statement_length;

static void *grown(void *memory, size_t size) {
    void *larger = realloc(memory, size);
    if (larger == NULL)
        abort();
    return larger;
}

static void add_place(const char *path, long line) {
    // A power of two: it is full.
    if ((place_count & (place_count - 1)) == 0) {
        size_t size = place_count == 0 ? 1 : 2 * (size_t)place_count;
        places = grown(places, size * sizeof *places);
    }
    places[place_count++] = (struct place){path, line};
}

// Whether a text has nothing but blanks and comments that are closed.
static bool is_blank(const char *text) {
    for (;;) {
        while (isspace((unsigned char)*text))
            text++;
        if (*text == '\0')
            return true;
        const char *end = NULL;
        if (strncmp(text, "--", 2) == 0)
            end = strchr(text, '\n');
        else if (strncmp(text, "/*", 2) == 0)
            end = strstr(text + 2, "*/");
        if (end == NULL)
            return strncmp(text, "--", 2) == 0;
        text = end + (*end == '\n' ? 1 : 2);
    }
}

// Adds a line to its statement, and forgets that when it is complete. Lines of
// the shell itself, commands and its comments, are a part of none.
static void add_to_statement(const char *line, size_t length) {
    if (statement_length == 0 && (*line == '.' || *line == '#'))
        return;
    statement = grown(statement, statement_length + length + 1);
    memcpy(statement + statement_length, line, length);
    statement_length += length;
    statement[statement_length] = '\0';
    bool may_end = memchr(line, ';', length) != NULL;
    if ((may_end && sqlite3_complete(statement)) || is_blank(statement))
        statement_length = 0;
}

// Returns the name in `.read NAME`, which the caller frees; NULL for every other
// line, and for a program that is to be read.
static char *name_read(const char *line) {
    size_t length = strlen(READ);
    if (statement_length > 0 || strncmp(line, READ, length) != 0
        || !isblank((unsigned char)line[length]))
        return NULL;
    line += length + strspn(line + length, " \t");
    const char *ends = " \t\r\n";
    if (*line == '\'' || *line == '"')
        ends = *line++ == '"' ? "\"" : "'";
    size_t name = strcspn(line, ends);
    return *line == '|' || name == 0 ? NULL : strndup(line, name);
}

static bool put_file(FILE *script, const char *path, int depth);

static void put_line(FILE *script, const char *path, long number, char *line,
                     size_t length, int depth) {
    char *name = depth < MAX_DEPTH ? name_read(line) : NULL;
    if (name != NULL && put_file(script, name, depth + 1))
        return;
    free(name);
    add_place(path, number);
    add_to_statement(line, length);
    fwrite(line, 1, length, script);
}

// The end of a file that is read ends its last statement, too.
static void end_file(FILE *script, const char *path, long number, bool is_line) {
    bool is_open = statement_length > 0;
    statement_length = 0;
    if (is_open && is_line)
        add_place(path, number);
    if (is_open || !is_line)
        fputs(is_open ? ";\n" : "\n", script);
}

// `path` stays in use.
static bool put_file(FILE *script, const char *path, int depth) {
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    long number = 0;
    bool is_line = true;
    while ((length = getline(&line, &size, file)) > 0) {
        put_line(script, path, ++number, line, (size_t)length, depth);
        is_line = line[length - 1] == '\n';
    }
    if (depth > 0)
        end_file(script, path, number, is_line);
    free(line);
    fclose(file);
    return true;
}

int script_open(const char *path) {
    int memory = memfd_create("script", MFD_CLOEXEC);
    int copy = memory < 0 ? -1 : dup(memory);
    FILE *script = copy < 0 ? NULL : fdopen(copy, "w");
    if (script == NULL || !put_file(script, path, 0) || fclose(script) != 0)
        return -1;
    return lseek(memory, 0, SEEK_SET) == 0 ? memory : -1;
}

bool script_place(long number, struct place *place) {
    bool is_there = number >= 1 && number <= place_count;
    if (is_there)
        *place = places[number - 1];
    return is_there;
}
