// Loaded into mysqld ahead of libc: while files grow, some room stays for what
// is written inside of them.
//
// The data folder is unpacked with holes, of which the server knows nothing.
// It bears a full disk when it makes a file larger: the table is full. It
// aborts if a page has no room that has its place in a file already.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

// As large as the buffer pool (mysqld.cnf): data that is not written yet, when a
// file can grow no more, is there. Data that is written inside after that may still
// need more, up to all the holes.
#define RESERVE (16 << 20)

// Whether a file of the disk would get larger than the reserve allows.
static bool is_too_large(int file, off_t offset, size_t length) {
    struct stat status;
    struct statvfs disk;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        offset + (off_t)length <= status.st_size)
        return false;
    return fstatvfs(file, &disk) == 0 &&
           disk.f_bavail * disk.f_bsize < length + RESERVE;
}

int posix_fallocate64(int file, off64_t offset, off64_t length) {
    if (is_too_large(file, offset, (size_t)length))
        return ENOSPC;
    return posix_fallocate(file, offset, length);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) {
    if (is_too_large(file, offset, size)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, file, data, size, offset);
}

// Files that are sorted, and tables of other engines.
ssize_t write(int file, const void *data, size_t size) {
    bool appends = (fcntl(file, F_GETFL) & O_APPEND) != 0;
    off_t offset = lseek(file, 0, SEEK_CUR);
    struct stat status;
    if (offset >= 0 && appends && fstat(file, &status) == 0)
        offset = status.st_size;
    if (offset >= 0 && is_too_large(file, offset, size)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, data, size);
}
