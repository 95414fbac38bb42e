// The hostile program of the kernel tests. Its first argument names an attempt,
// and it prints the result.
#define _GNU_SOURCE
#include "probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int tell(long result) {
    if (result < 0)
        printf("%s\n", strerrorname_np(errno));
    else
        printf("ok\n");
    return 0;
}

static int show_file(const char *path) {
    int file = open(path, O_RDONLY);
    if (file < 0)
        return tell(-1);
    char buffer[4096];
    ssize_t length;
    while ((length = read(file, buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)length, stdout);
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return tell(-1);
    char *names[4096];
    size_t count = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) && count < 4096)
        if (entry->d_name[0] != '.')
            names[count++] = strdup(entry->d_name);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        printf("%s%s", i ? " " : "", names[i]);
    printf("\n");
    return 0;
}

// Tries to lock a file: reports locks of others on the file or a part of it.
static int lock(const char *path) {
    int file = open(path, O_RDONLY);
    struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0 ||
        fcntl(file, F_GETLK, &asked) != 0)
        return tell(-1);
    printf("%s\n", asked.l_type == F_UNLCK ? "ok" : "locked in part");
    return 0;
}

static int identity(void) {
    gid_t groups[64];
    int count = getgroups(64, groups);
    char host[65], cwd[256];
    gethostname(host, sizeof host);
    getcwd(cwd, sizeof cwd);
    printf("%d %d %d %s %s %d\n", getuid(), getgid(), count, host, cwd,
           getsid(0) == getpid());
    return 0;
}

static int environment(void) {
    for (char **variable = environ; *variable; variable++)
        printf("%s\n", *variable);
    return 0;
}

static int descriptors(void) {
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d ", fd);
    printf("\n");
    return 0;
}

static int status(const char *key) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[512];
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            printf("%s", line);
    return 0;
}

static int create(const char *path) {
    return tell(open(path, O_WRONLY | O_CREAT, 0644));
}

// Files and folders. One folder cannot be entered.
static int tree(const char *path) {
    if (chdir(path) || mkdir("empty", 0700) || mkdir("closed", 0700))
        return tell(-1);
    for (int i = 0; i < 2; i++) {
        int file = open(i ? "closed/b" : "a", O_WRONLY | O_CREAT, 0755);
        if (write(file, "text", 4) != 4 || close(file))
            return tell(-1);
    }
    return tell(chmod("closed", 0));
}

static int connect_to(const char *address, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return tell(connect(fd, (struct sockaddr *)&to, sizeof to));
}

static int connect_abstract(const char *name) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path + 1, name, sizeof to.sun_path - 2);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    return tell(connect(fd, (struct sockaddr *)&to, length));
}

static int own_loopback(void) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&at, sizeof at) || listen(server, 1) ||
        getsockname(server, (struct sockaddr *)&at, &length))
        return tell(-1);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    return tell(connect(client, (struct sockaddr *)&at, sizeof at));
}

static int shared_memory(void) {
    int id = shmget(4711, 4096, IPC_CREAT | IPC_EXCL | 0666);
    if (id < 0)
        return tell(-1);
    int file = shm_open("/sandpiper", O_CREAT | O_EXCL | O_RDWR, 0666);
    if (file < 0)
        return tell(-1);
    mqd_t queue = mq_open("/sandpiper", O_CREAT | O_EXCL | O_RDWR, 0666, NULL);
    return tell(queue);
}

static int clock_seconds(void) {
    struct timespec monotonic, boot;
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    printf("%d\n", monotonic.tv_sec < 60 && boot.tv_sec < 60);
    return 0;
}

static int new_namespaces(void) {
    int flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
                   CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        tell(unshare(flags[i]));
    return tell(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
}

static int refused_calls(void) {
    tell(ptrace(PTRACE_ATTACH, 1, NULL, NULL));
    tell(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    tell(mount("none", "/tmp", "tmpfs", 0, NULL));
    tell(umount2("/box", MNT_DETACH));
    tell(chroot("/tmp"));
    tell(setuid(0));
    tell(sethostname("x", 1));
    tell(mknod("/tmp/sda", S_IFBLK | 0600, makedev(8, 0)));
    tell(syscall(SYS_keyctl, 0, -3, 0));
    tell(syscall(SYS_io_uring_setup, 1, NULL));
    tell(syscall(SYS_clone3, NULL, 0));
    tell(syscall(SYS_bpf, 0, NULL, 0));
    tell(syscall(SYS_userfaultfd, 0));
    tell(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
    tell(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0));
    tell(syscall(SYS_open_by_handle_at, -1, NULL, 0));
    tell(syscall(SYS_pivot_root, ".", "."));
    tell(syscall(SYS_inotify_init1, 0));
    return tell(ioctl(0, TIOCSTI, "x"));
}

static int sockets(void) {
    tell(socket(AF_INET, SOCK_STREAM, 0));
    tell(socket(AF_INET6, SOCK_DGRAM, 0));
    tell(socket(AF_UNIX, SOCK_STREAM, 0));
    tell(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    tell(socket(AF_PACKET, SOCK_RAW, 0));
    tell(socket(38, SOCK_SEQPACKET, 0)); // AF_ALG
    tell(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP));
    tell(socket(AF_NETLINK, SOCK_RAW, 0));
    return tell(socket(40, SOCK_STREAM, 0)); // AF_VSOCK
}

// Opens its streams again by name, like programs that take a file name.
static int streams_by_name(void) {
    char line[8] = "";
    int in = open("/dev/stdin", O_RDONLY);
    if (in < 0 || read(in, line, sizeof line - 1) < 0)
        return tell(-1);
    int out = open("/dev/stdout", O_WRONLY | O_APPEND | O_TRUNC);
    int err = open("/proc/self/fd/2", O_WRONLY);
    tell(dprintf(err, "%s", line));
    return tell(dprintf(out, "%s", line));
}

static int devices(void) {
    char byte = 1;
    tell(read(open("/dev/null", O_RDWR), &byte, 1));
    tell(read(open("/dev/zero", O_RDONLY), &byte, 1));
    tell(read(open("/dev/urandom", O_RDONLY), &byte, 1));
    tell(write(open("/dev/full", O_WRONLY), &byte, 1));
    tell(open("/dev/tty", O_RDWR));
    return tell(open("/dev/new", O_WRONLY | O_CREAT, 0600));
}

static int kill_init(void) {
    tell(kill(1, SIGKILL));
    // Init reads SIGCHLD. A value that a program sends with it does no harm.
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        kill(1, signal);
    struct rlimit none = {0, 0};
    tell(prlimit(1, RLIMIT_CPU, &none, NULL));
    // A signal that init can get arrives now, while init waits.
    usleep(50000);
    tell(kill(-1, SIGCONT));
    return tell(syscall(SYS_pidfd_open, 1, 0));
}

#if defined(__x86_64__)
static int other_abi(int x32) {
    printf("trying\n");
    fflush(stdout);
    if (x32)
        return tell(syscall(0x40000000 + SYS_getpid));
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
    printf("%ld\n", result);
    return 0;
}
#else
static int other_abi(int x32) {
    printf("trying\n");
    fflush(stdout);
    if (x32)
        printf("ENOSYS\n");
    else
        kill(getpid(), SIGSYS);
    return 0;
}
#endif

static int echo(void) {
    char buffer[1 << 16];
    ssize_t length;
    while ((length = read(0, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, (size_t)length) != length)
            return 1;
    return 0;
}

// A launcher that prepares, and then prints the text from its gate. An argument
// has it leave a process, or end early.
static int launch(const char *how) {
    char text[64] = "";
    if (!strcmp(how, "end"))
        return 1;
    // The kernel takes long to end it.
    for (int count = 0; !strcmp(how, "heavy") && count < 64; count++)
        memset(malloc(1 << 20), 1, 1 << 20);
    if (!strcmp(how, "leave") && fork() == 0)
        sleep(60);
    while (!strcmp(how, "prepares-for-ever"))
        pause();
    if (write(3, "", 1) != 1)
        return tell(-1);
    ssize_t length = 0, got;
    while ((got = read(3, text + length, sizeof text - 1 - length)) > 0)
        length += got;
    close(3);
    printf("%s\n", text);
    descriptors();
    fflush(stdout);
    return echo();
}

static int crash(void) {
    printf("before");
    fflush(stdout);
    raise(SIGSEGV);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : "";
#define ON(name, code) \
    if (!strcmp(what, name)) \
        return code
    ON("hello", puts("hello") < 0);
    ON("exit", atoi(argument));
    ON("crash", crash());
    ON("echo", echo());
    ON("identity", identity());
    ON("launch", launch(argument));
    ON("environment", environment());
    ON("descriptors", descriptors());
    ON("status", status(argument));
    ON("show", show_file(argument));
    ON("list", list(argument));
    ON("create", create(argument));
    ON("tree", tree(argument));
    ON("mode", tell(chmod(argument, (mode_t)strtol(argv[3], NULL, 8))));
    ON("signal-others", tell(kill(-1, atoi(argument))));
    ON("fifo", tell(mkfifo(argument, 0644)));
    ON("lock", lock(argument));
    ON("link", tell(symlink(argument, argv[3])));
    ON("connect", connect_to(argument, atoi(argv[3])));
    ON("connect-abstract", connect_abstract(argument));
    ON("own-loopback", own_loopback());
    ON("shared-memory", shared_memory());
    ON("hog", hog());
    ON("touch", touch(atoi(argument)));
    ON("hog-memfd", hog_memfd());
    ON("hog-in-child", hog_in_child());
    ON("forks", fork_until_refused());
    ON("threads", threads_until_refused());
    ON("fork-bomb", fork_bomb());
    ON("spin", spin(atoi(argument)));
    ON("raise", raise(atoi(argument)));
    ON("stubborn", stubborn());
    ON("stop", kill(getpid(), SIGSTOP));
    ON("flood", flood(atoi(argument)));
    ON("daemon", daemonise());
    ON("fill", fill("/box/f", atoi(argument)));
    ON("big-file", big_file());
    ON("open-many", open_many());
    ON("clocks", clock_seconds());
    ON("namespaces", new_namespaces());
    ON("refused", refused_calls());
    ON("shared-kernel", shared_kernel());
    ON("core-limit", core_limit());
    ON("sockets", sockets());
    ON("devices", devices());
    ON("streams-by-name", streams_by_name());
    ON("kill-init", kill_init());
    ON("hide", hide(argument));
    ON("leave", leave(argument, atoi(argv[3])));
    ON("other-abi", other_abi(!strcmp(argument, "x32")));
    return 99;
}
