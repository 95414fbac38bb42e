// Programs that leave files of odd kinds in the working directory.
#define _GNU_SOURCE
#include "probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

static int put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t length = (ssize_t)strlen(text);
    return file < 0 || write(file, text, (size_t)length) != length ||
           close(file);
}

// Whether a device gets into the working directory: made, or linked by its name
// or by a descriptor.
static int has_device(void) {
    char path[32];
    int zero = open("/dev/zero", O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", zero);
    return zero < 0 || !mknod("zero", S_IFCHR | 0644, makedev(1, 5)) ||
           !link("/dev/zero", "zero") ||
           !linkat(AT_FDCWD, path, AT_FDCWD, "zero", AT_SYMLINK_FOLLOW) ||
           close(zero);
}

static int leave_odd(void) {
    struct sockaddr_un name = {AF_UNIX, "a-socket"};
    int own = socket(AF_UNIX, SOCK_STREAM, 0);
    return has_device() || symlink("/dev/zero", "a-device") ||
           symlink("/etc/passwd", "a-link") || symlink("/tmp", "a-link-folder") ||
           symlink(".", "a-loop") || mkfifo("a-pipe", 0644) ||
           bind(own, (struct sockaddr *)&name, sizeof name) ||
           put("sparse", "") || truncate("sparse", 64 << 20) ||
           put("back\\..\\slash", "x") || put("nul-\xc0\x80", "x") ||
           put("new\nline", "x") || put("not-\xff-text", "x") ||
           put("\x1b[31m", "x") || put(".hidden", "x") ||
           put("closed", "closed") || chmod("closed", 0) ||
           mkdir("shut", 0755) || put("shut/in", "in") || chmod("shut", 0) ||
           link("submitted", "hard") || put("z", "z");
}

static int leave_displays(void) {
    return mkdir("/tmp/.display", 0755) || put("/tmp/.display/002.svg", "2") ||
           put("/tmp/.display/001.png", "1") ||
           symlink("/etc/passwd", "/tmp/.display/003.txt") ||
           mkfifo("/tmp/.display/004.svg", 0644) ||
           mkdir("/tmp/.display/005", 0755) || put("a", "a");
}

static int leave_deep(int depth) {
    for (int level = 0; level < depth; level++)
        if (put("f", "x") || mkdir("d", 0755) || chdir("d"))
            return 1;
    return 0;
}

static int leave_many(int count) {
    char path[32];
    for (int number = 0; number < count; number++) {
        snprintf(path, sizeof path, "f%06d", number);
        if (put(path, "x"))
            return 1;
    }
    return 0;
}

// Its child counts in two files, in the first of them first, and goes on when
// it has ended.
static int leave_writer(int between) {
    int ready[2];
    char byte;
    if (leave_many(between) || pipe(ready))
        return 1;
    if (fork())
        return read(ready[0], &byte, 1) != 1;
    setsid();
    int first = open("a", O_RDWR | O_CREAT, 0644);
    int last = open("z", O_RDWR | O_CREAT, 0644);
    for (unsigned count = 1;; count++) {
        pwrite(first, &count, sizeof count, 0);
        pwrite(last, &count, sizeof count, 0);
        if (count == 1)
            write(ready[1], "", 1);
    }
}

int leave(const char *what, int number) {
    if (!strcmp(what, "odd"))
        return leave_odd();
    if (!strcmp(what, "displays"))
        return leave_displays();
    if (!strcmp(what, "display-link"))
        return symlink("/box", "/tmp/.display") || put("001.svg", "x");
    if (!strcmp(what, "deep"))
        return leave_deep(number);
    if (!strcmp(what, "many"))
        return leave_many(number);
    return leave_writer(number);
}
