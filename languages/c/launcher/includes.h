// The #include lines of a file.
#pragma once

// Calls `found` with each path that `#include` lines of the file may mean,
// relative to the working directory: beside the file, and below the working
// directory.
void for_each_include(const char *file,
                      void (*found)(const char *path, void *context),
                      void *context);
