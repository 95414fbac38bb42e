// What the kernel alone takes for a box and a program in it: the same
// namespaces, mounts and control groups by a minimal sequence of calls. Each
// byte on standard input is answered by one when that is done:
//
//     b    a box, a program in it, and all of it gone
//     p    a box is prepared: pid 1 waits, and the fork that will be a program
//     r    it is asked to run the program, which ends
//     g    that box goes
//
//     floor ROOTFS FOLDER...     (the folders to make control groups in)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const char *const DEVICES[] = {
    "null", "zero", "full", "random", "urandom",
};
static const char *const LINKS[] = {"fd", "stdin", "stdout", "stderr"};
enum { QUIET = MS_NOSUID | MS_NODEV };

static void must(long result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void bind_to(const char *from, const char *on, unsigned long flags) {
    must(mount(from, on, NULL, MS_BIND, NULL), on);
    if (flags) {
        flags |= MS_REMOUNT | MS_BIND;
        must(mount(NULL, on, NULL, flags, NULL), on);
    }
}

// A folder in the tmpfs that belongs to the program.
static void new_folder(const char *name, const char *on, unsigned long flags) {
    must(mkdir(name, 0755), name);
    must(chmod(name, 01777), name);
    must(chown(name, 0, 0), name);
    bind_to(name, on, flags);
}

static void make_devices(void) {
    char path[64], node[64];
    must(mkdir("tmp/dev", 0755), "dev");
    bind_to("tmp/dev", "dev", 0);
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++) {
        snprintf(path, sizeof path, "dev/%s", DEVICES[i]);
        snprintf(node, sizeof node, "/dev/%s", DEVICES[i]);
        int file = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        must(file, path);
        close(file);
        bind_to(node, path, MS_NOSUID | MS_NOEXEC);
    }
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++) {
        snprintf(path, sizeof path, "dev/%s", LINKS[i]);
        must(symlink("/proc/self/fd", path), path);
    }
    must(mkdir("dev/shm", 0755), "shm");
    new_folder("tmp/shm", "dev/shm", 0);
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOEXEC | QUIET;
    must(mount(NULL, "dev", NULL, flags, NULL), "dev");
}

static void build_tree(const char *rootfs) {
    must(mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL), "private");
    must(mount("tmpfs", "tmp", "tmpfs", QUIET, "size=4096,nr_inodes=1"), "tmp");
    must(mount("image", ".", "overlay", MS_RDONLY | QUIET, "lowerdir=.:tmp"),
         "overlay");
    must(chdir(rootfs), rootfs);
    must(mount("tmpfs", "tmp", "tmpfs", QUIET, "size=128m"), "tmpfs");
    new_folder("tmp/artifacts", "artifacts", MS_RDONLY | QUIET);
    new_folder("tmp/box", "box", 0);
    make_devices();
    must(mount("proc", "proc", "proc", QUIET | MS_NOEXEC,
               "subset=pid,hidepid=ptraceable"),
         "proc");
    new_folder("tmp/tmp", "tmp", 0);
    must(syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount");
    must(chdir("/"), "chdir");
}

static void tell(int whom) { must(write(whom, "1", 1), "tell"); }

static void hear(int whom) {
    char byte;
    must(read(whom, &byte, 1) == 1 ? 0 : -1, "hear");
}

// `asks`: who asks for the program, later; -1: nobody, it starts at once.
static void first_process(const char *rootfs, int made, int maker, int asks) {
    int go[2];
    must(sethostname("sandbox", 7), "sethostname");
    build_tree(rootfs);
    hear(made);
    must(setns(maker, CLONE_NEWNET), "setns");
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go), "go");
    pid_t program = fork();
    must(program, "fork");
    if (program == 0) {
        if (asks >= 0)
            hear(go[1]);
        execl("/bin/nothing", "nothing", (char *)NULL);
        _exit(1);
    }
    if (asks >= 0) {
        tell(asks);
        hear(asks);
        tell(go[0]);
    }
    int status;
    must(waitpid(program, &status, 0), "wait");
    if (asks >= 0) {
        tell(asks);
        hear(asks);
    }
    _exit(status != 0);
}

// As in a box of ours, the network is made beside the mounts.
static void make_network(int made) {
    struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    must(unshare(CLONE_NEWNET), "network");
    int anything = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    must(ioctl(anything, SIOCSIFFLAGS, &loopback), "loopback");
    tell(made);
}

static void outer(const char *rootfs, char **groups, int asks) {
    char path[4096];
    must(chdir(rootfs), rootfs);
    for (; *groups; groups++) {
        snprintf(path, sizeof path, "%s/floor/cgroup.procs", *groups);
        int file = open(path, O_WRONLY | O_CLOEXEC);
        must(file, path);
        must(write(file, "0", 1), path);
        close(file);
    }
    must(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
                 CLONE_NEWPID | CLONE_NEWTIME),
         "unshare");
    int made[2];
    must(pipe(made), "pipe");
    int maker = (int)syscall(SYS_pidfd_open, getpid(), 0);
    must(maker, "pidfd_open");
    pid_t first = fork();
    must(first, "fork");
    if (first == 0)
        first_process(rootfs, made[0], maker, asks);
    make_network(made[1]);
    int status;
    must(waitpid(first, &status, 0), "wait");
    _exit(status != 0);
}

static pid_t start_box(const char *rootfs, char **groups, int asks) {
    char path[4096];
    for (char **group = groups; *group; group++) {
        snprintf(path, sizeof path, "%s/floor", *group);
        // One that failed may have left it.
        if (mkdir(path, 0755) < 0)
            must(errno == EEXIST ? 0 : -1, path);
    }
    pid_t child = fork();
    must(child, "fork");
    if (child == 0)
        outer(rootfs, groups, asks);
    return child;
}

static void see_it_gone(pid_t child, char **groups) {
    char path[4096];
    int status;
    must(waitpid(child, &status, 0), "wait");
    for (char **group = groups; *group; group++) {
        snprintf(path, sizeof path, "%s/floor", *group);
        while (rmdir(path) < 0)
            must(errno == EBUSY ? 0 : -1, path);
    }
    if (status != 0)
        exit(1);
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    must(file, path);
    must(write(file, text, strlen(text)), path);
    close(file);
}

int main(int count, char **words) {
    if (count < 2)
        return 2;
    // Boxes of ours join a user namespace that is there already.
    char map[64];
    unsigned user = geteuid(), group = getegid();
    must(unshare(CLONE_NEWUSER), "user namespace");
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", group);
    write_file("/proc/self/gid_map", map);
    char byte;
    pid_t box = -1;
    int box_asked[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, box_asked), "ask");
    while (read(0, &byte, 1) == 1) {
        if (byte == 'b')
            see_it_gone(start_box(words[1], words + 2, -1), words + 2);
        if (byte == 'p')
            box = start_box(words[1], words + 2, box_asked[1]);
        if (byte == 'r' || byte == 'g')
            tell(box_asked[0]);
        if (byte == 'p' || byte == 'r')
            hear(box_asked[0]);
        if (byte == 'g')
            see_it_gone(box, words + 2);
        tell(1);
    }
    return 0;
}
