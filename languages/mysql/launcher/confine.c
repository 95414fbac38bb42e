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

// The rights that every version of Landlock knows. Later versions add rights to change
// files, which the client could use on none that it can open.
#define HANDLED                                                              \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |            \
     LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |            \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |        \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |            \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |            \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |          \
     LANDLOCK_ACCESS_FS_MAKE_SYM)

static void confine_files(void) {
    struct landlock_ruleset_attr attributes = {.handled_access_fs = HANDLED};
    // The first member alone: the size that every version takes.
    size_t size = sizeof attributes.handled_access_fs;
    int rules =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (rules < 0)
        return;
    int submission = open(".", O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr beneath = {
        LANDLOCK_ACCESS_FS_READ_FILE, submission};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath,
            0);
    close(submission);
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

void confine(void) {
    // Landlock asks for it, or for root.
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine_files();
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_NPROC, &none);
}
