// Landlock for files, a limit for processes.

#define _GNU_SOURCE
#include "confine.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// What every version of Landlock knows. Later versions add rights to change
// files, which the client could use on none that it can open.
#define HANDLED                                                              \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |            \
     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |            \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |        \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |            \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |            \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |          \
     LANDLOCK_ACCESS_FS_MAKE_SYM)
#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RUN (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE)

static void allow(int rules, const char *path, uint64_t rights) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return;
    struct landlock_path_beneath_attr beneath = {rights, file};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath,
            0);
    close(file);
}

static void confine_files(const char *program, const char *library) {
    struct landlock_ruleset_attr attributes = {.handled_access_fs = HANDLED};
    // The first member alone: the size that every version takes.
    size_t size = sizeof attributes.handled_access_fs;
    int rules =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (rules < 0)
        return;
    allow(rules, ".", READ);
    allow(rules, program, RUN);
    allow(rules, library, LANDLOCK_ACCESS_FS_READ_FILE);
    // The dynamic linker is a program of its own.
    allow(rules, "/lib64/ld-linux-x86-64.so.2", RUN);
    allow(rules, "/lib/ld-linux-aarch64.so.1", RUN);
    allow(rules, "/usr/lib", READ);
    allow(rules, "/usr/share/mysql", READ);
    allow(rules, "/etc/ld.so.cache", LANDLOCK_ACCESS_FS_READ_FILE);
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

void confine(const char *program, const char *library) {
    // Landlock asks for it, or for root.
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine_files(program, library);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NPROC, &none);
}
