// Locks the client up in what it needs: the submission, and no new process.
#ifndef CONFINE_H
#define CONFINE_H

// From here on this process can run `program`, with `library` loaded into it,
// read the submission in the current folder and the program's libraries, and
// start no process. What the kernel cannot forbid is left as it is: the box is
// around all of it.
void confine(const char *program, const char *library);

#endif
