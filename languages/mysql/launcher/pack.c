// Packs a data folder into the template that the launcher unpacks. Runs when
// the image is built.
//
// usage: pack FOLDER TEMPLATE

#define _GNU_SOURCE
#include "template.h"

#include <err.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static FILE *template;

static void put(const void *data, size_t size) {
    if (fwrite(data, 1, size, template) != size)
        err(EXIT_FAILURE, "cannot write the template");
}

static bool is_empty(const char *block, size_t size) {
    return block[0] == 0 && memcmp(block, block + 1, size - 1) == 0;
}

static void put_extent(const char *data, uint64_t offset, uint64_t length) {
    struct extent extent = {offset, length};
    if (length == 0)
        return;
    put(&extent, sizeof extent);
    put(data + offset, length);
}

static void put_extents(const char *data, uint64_t size) {
    uint64_t start = 0;
    for (uint64_t at = 0; at < size; at += TEMPLATE_BLOCK) {
        uint64_t length =
            size - at < TEMPLATE_BLOCK ? size - at : TEMPLATE_BLOCK;
        if (is_empty(data + at, length)) {
            put_extent(data, start, at - start);
            start = at + length;
        }
    }
    put_extent(data, start, size - start);
    put(&(struct extent){0}, sizeof(struct extent));
}

static void put_file(const FTSENT *found) {
    uint64_t size = (uint64_t)found->fts_statp->st_size;
    char *data = malloc(size + 1);
    FILE *file = fopen(found->fts_accpath, "r");
    if (data == NULL || file == NULL || fread(data, 1, size, file) != size)
        err(EXIT_FAILURE, "cannot read %s", found->fts_path);
    put_extents(data, size);
    fclose(file);
    free(data);
}

static void put_entry(const FTSENT *found, const char *path) {
    bool is_folder = found->fts_info == FTS_D;
    struct entry entry = {
        .is_folder = is_folder,
        .path_length = (uint32_t)strlen(path),
        .size = is_folder ? 0 : (uint64_t)found->fts_statp->st_size,
    };
    put(&entry, sizeof entry);
    put(path, entry.path_length);
    if (!is_folder)
        put_file(found);
}

static int by_name(const FTSENT **left, const FTSENT **right) {
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

static void put_tree(char *folder) {
    char *roots[] = {folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    if (tree == NULL)
        err(EXIT_FAILURE, "cannot open %s", folder);
    size_t prefix = strlen(folder) + 1;
    for (FTSENT *found; (found = fts_read(tree)) != NULL;) {
        if (found->fts_info == FTS_DP || found->fts_level == 0)
            continue;
        if (found->fts_info != FTS_D && found->fts_info != FTS_F)
            errx(EXIT_FAILURE, "%s is no file", found->fts_path);
        put_entry(found, found->fts_path + prefix);
    }
    fts_close(tree);
}

int main(int count, char **arguments) {
    if (count != 3)
        errx(EXIT_FAILURE, "usage: pack FOLDER TEMPLATE");
    template = fopen(arguments[2], "w");
    if (template == NULL)
        err(EXIT_FAILURE, "cannot create %s", arguments[2]);
    put(TEMPLATE_MAGIC, sizeof TEMPLATE_MAGIC);
    put_tree(arguments[1]);
    put(&(struct entry){0}, sizeof(struct entry));
    if (fclose(template) != 0)
        err(EXIT_FAILURE, "cannot write %s", arguments[2]);
    return EXIT_SUCCESS;
}
