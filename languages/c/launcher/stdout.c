// Linked into every program: its stdout is line-buffered as on a terminal, so
// that complete lines are there when the run is ended.

#include <stdio.h>

__attribute__((constructor)) static void line_buffered(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
}
