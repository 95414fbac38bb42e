// The submitted script as one text, and the places of its lines.
#pragma once

#include <stdbool.h>

struct place {
    const char *path;
    long line; // from 1
};

// Returns a file with the text of the script, in which every `.read FILE` is
// replaced by the text of that file; -1, with errno, if it cannot be read.
int script_open(const char *path);

// Finds the place of a line of that text, from 1. False if there is none.
bool script_place(long number, struct place *place);
