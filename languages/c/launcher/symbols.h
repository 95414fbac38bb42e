// The symbols that an object file defines.
#pragma once

#include <stdbool.h>

// Whether the object file defines a program's `main`.
bool defines_main(const char *object);
