// The compiler, and what it says of each source.
#pragma once

#include <stdbool.h>

#include "sources.h"

// How sources are compiled.
enum way {
    // The driver's commands without the driver, with precompiled headers.
    QUICK,
    // By the driver, which words every error as learners find it elsewhere.
    STOCK,
    // By the driver, with warnings.
    WARNING,
};

struct language {
    const char *name;
    // Of what the image's build wrote for it.
    const char *folder;
    const char *driver;
    const char *kind;
    const char *const *extensions;
};

// The result of all sources.
struct compiled {
    // The first one of a compiler that failed, else 0.
    int status;
    // Whether another way may say more, or say it in other words.
    bool is_in_doubt;
    // One file for each source, in memory.
    int *messages;
};

// Compiles every source to its object, two at a time. Line numbers change
// nothing in the code.
struct compiled compile_all(const struct language *language,
                            const struct sources *sources, enum way way,
                            bool has_lines);

// The path of a file in the language's folder.
const char *own_file(const struct language *language, const char *name);
