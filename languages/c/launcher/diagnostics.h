// Messages of the compiler and the linker, in the submission's own names.
#pragma once

#include <stdbool.h>

#include "sources.h"

// Prints the messages in the file to stderr. Paths of the box and of objects
// become the paths that were submitted.
void print_diagnostics(int messages, const struct sources *sources);

// Whether the messages name a standard header.
bool mentions_headers(int messages);
