# Builds the launcher of C and C++ inside the image.
gcc -O2 -static -s -D_GNU_SOURCE -Wall -Wextra -Werror -o /opt/sandpiper/cc \
    cc.c diagnostics.c includes.c sources.c symbols.c
gcc -O2 -Wall -Wextra -Werror -c -o /opt/sandpiper/stdout.o stdout.c
