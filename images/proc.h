// Keeps /proc from a compiler. A compiler reads any file that a submission names, and
// what it made may be kept for other clients. /proc tells when and in which box that was.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Lets `rules` allow reading files in everything at the root but /proc.
static inline void allow_all_but_proc(int rules) {
    DIR *root = opendir("/");
    for (struct dirent *entry; root != NULL && (entry = readdir(root)) != NULL;) {
        // "." and ".." are the root, which has /proc in it.
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "proc") == 0)
            continue;
        int place = openat(dirfd(root), entry->d_name, O_PATH | O_CLOEXEC);
        struct landlock_path_beneath_attr beneath = {
            LANDLOCK_ACCESS_FS_READ_FILE, place};
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath,
                0);
        close(place);
    }
    if (root != NULL)
        closedir(root);
}

// From here on this process, and all that it starts, can open no file of /proc. If the
// kernel has no Landlock, nothing changes.
static inline void hide_proc(void) {
    struct landlock_ruleset_attr attributes = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
    // The first member alone: the size that every version takes.
    size_t size = sizeof attributes.handled_access_fs;
    int rules =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (rules < 0)
        return;
    allow_all_but_proc(rules);
    // Landlock asks for it, or for root.
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
