// Finds the files to compile, and leaves out those that another file includes.

#include "sources.h"

#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "includes.h"

static void *checked(void *memory) {
    if (memory == NULL) {
        perror("cannot read the submission");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static bool has_extension(const char *path, const char *const *extensions) {
    size_t length = strlen(path);
    for (; *extensions != NULL; extensions++) {
        size_t own = strlen(*extensions);
        if (length > own && strcmp(path + length - own, *extensions) == 0)
            return true;
    }
    return false;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

// Every regular file below the working directory, relative to it.
static struct names all_files(void) {
    struct names names = {NULL, 0};
    char *roots[] = {".", NULL};
    FTS *tree =
        checked(fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name));
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info != FTS_F)
            continue;
        names.list = checked(
            realloc(names.list, (names.count + 1) * sizeof *names.list));
        // Behind the root's "./".
        names.list[names.count++] = checked(strdup(entry->fts_path + 2));
    }
    fts_close(tree);
    return names;
}

static void append(struct sources *sources, const char *path) {
    size_t count = sources->count;
    struct source *list = checked(
        realloc(sources->list, (count + 1) * sizeof *sources->list));
    struct source *source = &list[count];
    source->path = path;
    // The compiler takes a leading dash for an option, and @ for a file of
    // options.
    char *argument = NULL;
    bool odd = path[0] == '-' || path[0] == '@';
    char *object = NULL;
    if (asprintf(&argument, "%s%s", odd ? "./" : "", path) < 0
        || asprintf(&object, "/artifacts/%zu.o", count) < 0)
        checked(NULL);
    source->argument = argument;
    source->object = object;
    sources->list = list;
    sources->count = count + 1;
}

// Marks the sources that some file includes.
struct search {
    const struct names *candidates;
    bool *included;
};

static void mark(const char *path, void *context) {
    struct search *search = context;
    for (size_t i = 0; i < search->candidates->count; i++)
        if (strcmp(search->candidates->list[i], path) == 0)
            search->included[i] = true;
}

struct sources find_sources(const char *entry, const char *const *extensions) {
    struct sources sources = {.files = all_files()};
    append(&sources, entry);
    struct names files = sources.files;
    struct names candidates = {
        checked(calloc(files.count + 1, sizeof *candidates.list)), 0};
    for (size_t i = 0; i < files.count; i++)
        if (strcmp(files.list[i], entry) != 0
            && has_extension(files.list[i], extensions))
            candidates.list[candidates.count++] = files.list[i];
    if (candidates.count == 0)
        return sources;
    struct search search = {
        &candidates, checked(calloc(candidates.count, sizeof(bool)))};
    for (size_t i = 0; i < files.count; i++)
        for_each_include(files.list[i], mark, &search);
    for (size_t i = 0; i < candidates.count; i++)
        if (!search.included[i])
            append(&sources, candidates.list[i]);
    return sources;
}
