// Unpacks the server's first data folder.

#define _GNU_SOURCE
#include "template.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
    const char *at;
    const char *end;
};

// Takes `length` bytes, or NULL if the template is cut short.
static const void *take(struct reader *reader, uint64_t length) {
    const char *start = reader->at;
    if ((uint64_t)(reader->end - start) < length) {
        errno = EINVAL;
        return NULL;
    }
    reader->at += length;
    return start;
}

static bool take_struct(struct reader *reader, void *target, size_t size) {
    const void *source = take(reader, size);
    if (source != NULL)
        memcpy(target, source, size);
    return source != NULL;
}

static bool write_extent(int file, const char *data, struct extent extent) {
    while (extent.length > 0) {
        ssize_t written =
            pwrite(file, data, extent.length, (off_t)extent.offset);
        if (written < 0)
            return false;
        data += written;
        extent.offset += (uint64_t)written;
        extent.length -= (uint64_t)written;
    }
    return true;
}

static bool fill(struct reader *reader, int file, uint64_t size) {
    if (ftruncate(file, (off_t)size) != 0)
        return false;
    for (;;) {
        struct extent extent;
        if (!take_struct(reader, &extent, sizeof extent))
            return false;
        if (extent.length == 0)
            return true;
        const char *data = take(reader, extent.length);
        if (data == NULL || !write_extent(file, data, extent))
            return false;
    }
}

static bool unpack_file(struct reader *reader, int folder, const char *path,
                        uint64_t size) {
    int file = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
    if (file < 0)
        return false;
    bool done = fill(reader, file, size);
    return close(file) == 0 && done;
}

static bool unpack_entries(struct reader *reader, int folder) {
    for (;;) {
        struct entry entry;
        if (!take_struct(reader, &entry, sizeof entry))
            return false;
        if (entry.path_length == 0)
            return true;
        char path[PATH_MAX];
        if (entry.path_length >= sizeof path) {
            errno = ENAMETOOLONG;
            return false;
        }
        if (!take_struct(reader, path, entry.path_length))
            return false;
        path[entry.path_length] = '\0';
        bool done = entry.is_folder
                        ? mkdirat(folder, path, S_IRWXU) == 0
                        : unpack_file(reader, folder, path, entry.size);
        if (!done)
            return false;
    }
}

static bool unpack_mapped(struct reader reader, const char *folder) {
    const char *magic = take(&reader, sizeof TEMPLATE_MAGIC);
    if (magic == NULL ||
        memcmp(magic, TEMPLATE_MAGIC, sizeof TEMPLATE_MAGIC) != 0) {
        errno = EINVAL;
        return false;
    }
    int target = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (target < 0)
        return false;
    bool done = unpack_entries(&reader, target);
    close(target);
    return done;
}

bool template_unpack(const char *file, const char *folder) {
    int source = open(file, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return false;
    struct stat status;
    void *map = MAP_FAILED;
    if (fstat(source, &status) == 0)
        map = mmap(NULL, (size_t)status.st_size, PROT_READ,
                   MAP_PRIVATE | MAP_POPULATE, source, 0);
    close(source);
    if (map == MAP_FAILED)
        return false;
    const char *start = map;
    bool done = unpack_mapped(
        (struct reader){start, start + status.st_size}, folder);
    munmap(map, (size_t)status.st_size);
    return done;
}
