// The #include lines of a file.
#pragma once

// Searched for "headers" in quotes after the working directory.
#define INCLUDE_FOLDER "include/"

// Calls `found` with each path that `#include` lines of the file may mean,
// relative to the working directory: beside the file, below the working
// directory, and in the folder of headers.
void for_each_include(const char *file,
                      void (*found)(const char *path, void *context),
                      void *context);
