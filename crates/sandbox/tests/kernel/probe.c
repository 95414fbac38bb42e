// The hostile program of the kernel tests: its first argument says what to try.
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "hello")) {
        puts("hello");
        return 0;
    }
    return 99;
}
