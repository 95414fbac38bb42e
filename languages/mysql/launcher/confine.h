// Locks the client up in what it needs: the submission, and no new process.
#ifndef CONFINE_H
#define CONFINE_H

// From here on this process can read the files of the current folder and no
// others, and start no process and no program. An access that the kernel cannot forbid is
// left as it is: the box is around all of it.
void confine(void);

#endif
