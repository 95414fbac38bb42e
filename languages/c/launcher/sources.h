// Which files of a submission are compiled.
#pragma once

#include <stddef.h>

// A file that is compiled. The launcher is short-lived: nothing is freed.
struct source {
    // As submitted, relative to the working directory.
    const char *path;
    // The same for a command line: no name is taken for an option.
    const char *argument;
    // Where its object goes.
    const char *object;
};

struct names {
    char **list;
    size_t count;
};

struct sources {
    struct source *list;
    size_t count;
    // Every submitted file, relative to the working directory.
    struct names files;
};

// The entry file, then every other file below the working directory that has
// one of the extensions and that no file includes, by name.
struct sources find_sources(const char *entry, const char *const *extensions);
