// Programs that exceed limits: memory, processes, CPU, output, files.
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Touches memory until it is killed.
int hog(void) {
    for (;;) {
        char *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            return tell(-1);
        memset(block, 1, 1 << 20);
    }
}

// Touches this many mebibytes.
int touch(int mebibytes) {
    for (int count = 0; count < mebibytes; count++) {
        char *block = malloc(1 << 20);
        if (block == NULL)
            return tell(-1);
        memset(block, 1, 1 << 20);
    }
    return tell(0);
}

int hog_memfd(void) {
    int file = memfd_create("hog", 0);
    char block[1 << 16];
    memset(block, 1, sizeof block);
    while (write(file, block, sizeof block) > 0) {
        struct rlimit limit;
        getrlimit(RLIMIT_FSIZE, &limit);
        if (lseek(file, 0, SEEK_CUR) + (off_t)sizeof block > (off_t)limit.rlim_cur)
            file = memfd_create("hog", 0);
    }
    return tell(-1);
}

int fork_until_refused(void) {
    int count = 0;
    for (; count < 10000; count++) {
        pid_t child = fork();
        if (child == 0)
            pause();
        if (child < 0)
            break;
    }
    printf("%d %s\n", count, strerrorname_np(errno));
    return 0;
}

static void *wait_forever(void *nothing) {
    pause();
    return nothing;
}

int threads_until_refused(void) {
    int count = 0, error = 0;
    pthread_t thread;
    while (count < 10000 && !(error = pthread_create(&thread, NULL, wait_forever, NULL)))
        count++;
    printf("%d %s\n", count, strerrorname_np(error));
    return 0;
}

int fork_bomb(void) {
    printf("boom\n");
    fflush(stdout);
    for (;;)
        fork();
}

int spin(int processes) {
    for (int i = 1; i < processes; i++)
        if (fork() == 0)
            break;
    for (;;)
        ;
}

int stubborn(void) {
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    printf("still here\n");
    fflush(stdout);
    for (;;)
        pause();
}

int flood(int fd) {
    char block[4096];
    memset(block, 'x', sizeof block);
    while (write(fd, block, sizeof block) > 0)
        ;
    return 0;
}

// Leaves a process in its own session that keeps every stream open.
int daemonise(void) {
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        exit(0);
    }
    printf("left\n");
    return 0;
}

int fill(const char *path, int files) {
    char block[1 << 16] = {0}, name[256];
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "%s%d", path, i);
        int file = open(name, O_WRONLY | O_CREAT, 0644);
        if (file < 0)
            return tell(-1);
        ssize_t wrote;
        while ((wrote = write(file, block, files > 100 ? 1 : sizeof block)) > 0 && files <= 100)
            ;
        if (files > 100)
            close(file);
        else if (errno != EFBIG)
            return tell(-1);
    }
    return tell(0);
}

int big_file(void) {
    int file = open("/box/big", O_WRONLY | O_CREAT, 0644);
    char block[1 << 16] = {0};
    while (write(file, block, sizeof block) > 0)
        ;
    return tell(-1);
}

int open_many(void) {
    int count = 0;
    while (dup(0) >= 0)
        count++;
    printf("%d %s\n", count, strerrorname_np(errno));
    return 0;
}

// In a child: without the box's limit the main process would live on.
int hog_in_child(void) {
    if (fork() == 0)
        return hog();
    pause();
    return 0;
}

// Leaves stdout, stderr and a new file, open for writing, in a message that
// nobody can receive: the socket that holds it is itself in the message.
int hide(const char *path) {
    int pair[2];
    int file = open(path, O_WRONLY | O_CREAT, 0644);
    if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return tell(-1);
    int hidden[] = {pair[0], pair[1], file, STDOUT_FILENO, STDERR_FILENO};
    char control[CMSG_SPACE(sizeof hidden)] = {0};
    struct iovec byte = {"x", 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof hidden);
    memcpy(CMSG_DATA(rights), hidden, sizeof hidden);
    return tell(sendmsg(pair[1], &message, 0) == 1 ? 0 : -1);
}

// Asks for the largest buffers of a socket, and for the smallest. A host could have the
// largest by default; then only the smallest show a change.
static void ask_for_buffers(int one) {
    int options[] = {SO_SNDBUF, SO_RCVBUF}, sizes[] = {1 << 24, 1};
    for (int i = 0; i < 4; i++) {
        int before = 0, after = 0, option = options[i / 2];
        socklen_t size = sizeof before;
        getsockopt(one, SOL_SOCKET, option, &before, &size);
        setsockopt(one, SOL_SOCKET, option, &sizes[i % 2], sizeof(int));
        if (getsockopt(one, SOL_SOCKET, option, &after, &size) || after != before) {
            printf("option %d: %d, then %d\n", option, before, after);
            return;
        }
    }
    printf("as it was\n");
}

// Calls for kernel memory that boxes share, or that no group is charged for.
int shared_kernel(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &allow};
    tell(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
    tell(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    tell(setsockopt(udp, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
    ask_for_buffers(socket(AF_INET, SOCK_STREAM, 0));
    ask_for_buffers(udp);
    ask_for_buffers(socket(AF_UNIX, SOCK_STREAM, 0));
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB;
    tell(mmap(NULL, 1 << 21, PROT_READ, flags, -1, 0) == MAP_FAILED ? -1 : 0);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell(madvise(page, 4096, MADV_MERGEABLE));
    tell(prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, 4096, "name"));
    tell(open("/proc/self/oom_score_adj", O_WRONLY));
    return tell(utimensat(AT_FDCWD, "/dev/full", NULL, 0));
}

// The core limit, after all ways to change it.
int core_limit(void) {
    struct rlimit none = {0, 0}, found;
    setrlimit(RLIMIT_CORE, &none);
    syscall(SYS_setrlimit, RLIMIT_CORE, &none);
    // The low half of this address is 0.
    struct rlimit *high = mmap((void *)(1L << 33), 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    *high = none;
    prlimit(0, RLIMIT_CORE, high, NULL);
    getrlimit(RLIMIT_CORE, &found);
    printf("%lu %lu\n", (unsigned long)found.rlim_cur, (unsigned long)found.rlim_max);
    return 0;
}
