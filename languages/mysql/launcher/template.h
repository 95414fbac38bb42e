// The server's first data folder as one file, without its empty blocks.
//
// Layout: the magic line; then entries, each a struct entry, its path and its
// data: for a folder nothing, for a file extents until one of length zero.
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#define TEMPLATE_MAGIC "sandpiper data 1"
// Blocks of this size that hold zeros only are left out.
#define TEMPLATE_BLOCK 4096

struct entry {
    uint32_t is_folder;
    uint32_t path_length; // without a terminating zero; 0 ends the archive
    uint64_t size;        // of a file, with its empty blocks
};

struct extent {
    uint64_t offset;
    uint64_t length;
};

// Makes the folders and files of the template `file` inside `folder`. False,
// with errno, if that fails.
bool template_unpack(const char *file, const char *folder);

#endif
