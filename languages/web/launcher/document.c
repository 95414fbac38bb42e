// The two steps of a document: built, and shown.
//
// usage: document build (pages|applications) LANGUAGE
//        document show [FRAMEWORK]

#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gate.h"

#define NODE "/opt/sandpiper/node"
#define DOCUMENT "/artifacts/document"
// The byte that Node sends before its status: see gate.js.
#define ASK '?'
#define PASS '!'

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static void start_node(const char *name, char *language, int end) {
    char snapshot[PATH_MAX];
    snprintf(snapshot, sizeof snapshot, "/opt/sandpiper/%s.snapshot", name);
    char *command[] = {NODE, "--snapshot-blob", snapshot, language, NULL};
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        // In the place of the gate, which stays here.
        if (dup2(end, GATE) < 0)
            fail("dup2");
        execv(NODE, command);
        fail(NODE);
    }
    close(end);
}

// The next byte from Node; there is none if it has failed.
static unsigned char heard(int node) {
    unsigned char word;
    if (read(node, &word, 1) != 1)
        exit(EXIT_FAILURE);
    return word;
}

// Builds in a child, and ends as soon as that tells how it went: the work that Node
// would then do for milliseconds is cut off.
static int build(const char *name, char *language) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        fail("socketpair");
    start_node(name, language, ends[1]);
    unsigned char word;
    while ((word = heard(ends[0])) == ASK) {
        unsigned char is_open = gate_is_open();
        send(ends[0], &is_open, 1, MSG_NOSIGNAL);
    }
    if (word != PASS)
        return EXIT_FAILURE;
    const char *entry = pass_gate()[0];
    send(ends[0], entry, strlen(entry), MSG_NOSIGNAL);
    shutdown(ends[0], SHUT_WR);
    return heard(ends[0]);
}

static void send_part(int file, off_t from, off_t end) {
    while (from < end) {
        char bytes[65536];
        size_t rest = (size_t)(end - from);
        ssize_t got = pread(file, bytes, rest < sizeof bytes ? rest : sizeof bytes, from);
        if (got <= 0)
            fail("pread");
        for (ssize_t sent = 0; sent < got;) {
            ssize_t more = write(STDOUT_FILENO, bytes + sent, (size_t)(got - sent));
            if (more <= 0)
                fail("write");
            sent += more;
        }
        from += got;
    }
}

static int opened(const char *path, off_t *size) {
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &about) != 0)
        fail(path);
    *size = about.st_size;
    return file;
}

// The document: its first line tells at which byte of the rest the framework's
// script goes, or -1.
static int show(const char *framework) {
    off_t script_size = 0, size;
    int script = framework == NULL ? -1 : opened(framework, &script_size);
    pass_gate();
    int document = opened(DOCUMENT, &size);
    char line[32];
    ssize_t got = pread(document, line, sizeof line - 1, 0);
    char *end = got <= 0 ? NULL : memchr(line, '\n', (size_t)got);
    if (end == NULL)
        fail(DOCUMENT);
    off_t start = end + 1 - line;
    long at = strtol(line, NULL, 10);
    if (at >= 0 && script >= 0) {
        send_part(document, start, start + at);
        send_part(script, 0, script_size);
        start += at;
    }
    send_part(document, start, size);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    keep_gate();
    if (argc == 4 && strcmp(argv[1], "build") == 0)
        return build(argv[2], argv[3]);
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "show") == 0)
        return show(argc == 3 ? argv[2] : NULL);
    fputs("usage: document build (pages|applications) LANGUAGE\n"
          "       document show [FRAMEWORK]\n",
          stderr);
    return 2;
}
