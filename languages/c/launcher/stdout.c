// Linked into every program: its stdout is line-buffered as on a terminal, so
// that complete lines are there when the run is ended. Its stdin is, too: glibc
// flushes a line-buffered stdout when it reads from such a stream, so a prompt
// without a newline is there before the program waits.

#include <stdio.h>

__attribute__((constructor)) static void line_buffered(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IOLBF, 0);
}
