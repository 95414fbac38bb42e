// Headers that were compiled when the image was built.
#pragma once

#include "sources.h"

// The header of the folder to include before the source, in which standard
// headers that it begins with are compiled already; NULL if none may stand
// for them.
const char *precompiled_header(const char *folder, const struct source *source,
                               const struct names *files);
