// Starts the database server of a run.
#ifndef SERVER_H
#define SERVER_H

struct server {
    const char *name; // in messages
    // Where the server keeps all that it writes, and the paths in there of its
    // data and of the socket for its word that it is ready (sd_notify(3)).
    const char *folder;
    const char *data;
    const char *ready;
    // A start that ended with less than this free ended for want of it.
    unsigned long least_disk;
    const char *program;
    char *const *arguments;
    char *const *environment;
};

// Brings the server to the point where it accepts connections. Ends this process
// if that fails.
void start_server(const struct server *server);

#endif
