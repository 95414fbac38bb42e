// Loaded into mysqld ahead of libc: takes two busy or idle waits, 150 ms in
// all, out of its start. The results of the server stay the same.

#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static atomic_bool listening;

// Before anything else the server measures how long a tick of times() is, and
// spins until ten have passed: 100 ms if a tick is 10 ms. Here it is a
// microsecond, and the server finds that out.
clock_t times(struct tms *used) {
    if (used != NULL)
        *used = (struct tms){0};
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

// While it starts, the server sleeps only to look again whether a thread of
// its own is ready, for up to 50 ms. It may look every half millisecond.
int nanosleep(const struct timespec *wanted, struct timespec *left) {
    const struct timespec moment = {.tv_nsec = 500000};
    if (!atomic_load(&listening))
        wanted = &moment;
    return (int)syscall(SYS_nanosleep, wanted, left);
}

// The start is over.
int listen(int socket, int backlog) {
    atomic_store(&listening, true);
    return (int)syscall(SYS_listen, socket, backlog);
}
