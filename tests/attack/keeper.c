// Keeps the secret where processes of one host could meet: in its memory, in
// System V shared memory and a message queue, in a POSIX queue, and in the
// user's keyring. Says where, and removes it all when its input ends.
//
// usage: keeper VARIABLE, which holds the secret

#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEYCTL_REVOKE 3
#define KEYCTL_SETPERM 5
#define USER_KEYRING (-4)
#define ANYBODY_MAY_ALL 0x3f3f3f3f

static struct {
    long type;
    char text[64];
} message = {1, ""};

// At a place that is printed.
static char memory[64];

int main(int argc, char **argv) {
    const char *secret = argc > 1 ? getenv(argv[1]) : NULL;
    if (!secret || strlen(secret) >= sizeof memory)
        return 2;
    strcpy(memory, secret);
    strcpy(message.text, secret);
    key_t number = 0x5a000000 | getpid();

    int segment = shmget(number, sizeof memory, IPC_CREAT | IPC_EXCL | 0666);
    char *shared = shmat(segment, NULL, 0);
    if (segment < 0 || shared == (void *)-1)
        return 3;
    strcpy(shared, secret);

    int queue = msgget(number, IPC_CREAT | IPC_EXCL | 0666);
    if (queue < 0 || msgsnd(queue, &message, sizeof message.text, 0) != 0)
        return 4;

    char name[64];
    snprintf(name, sizeof name, "/sandpiper-attack-%d", getpid());
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = sizeof memory};
    mqd_t posix = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0666, &attributes);
    if (posix < 0 || mq_send(posix, secret, strlen(secret) + 1, 0) != 0)
        return 5;

    // A kernel may be without keys; the number is then nobody's.
    long key = syscall(SYS_add_key, "user", name, secret, strlen(secret), USER_KEYRING);
    syscall(SYS_keyctl, KEYCTL_SETPERM, key, ANYBODY_MAY_ALL);

    // An attack that is tried bare must be able to read this process.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    printf("pid=%d address=%lu ipc=%d queue=%s key=%ld key_name=%s\n", getpid(),
           (unsigned long)memory, number, name, key, name);
    fflush(stdout);

    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    shmctl(segment, IPC_RMID, NULL);
    msgctl(queue, IPC_RMID, NULL);
    mq_unlink(name);
    syscall(SYS_keyctl, KEYCTL_REVOKE, key);
    return 0;
}
