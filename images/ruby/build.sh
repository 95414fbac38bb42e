# Builds the launcher of Ruby inside the image.
gcc -O2 -s -Wall -Wextra -Werror -isystem /usr/include/ruby-3.3.0 \
    -isystem "/usr/include/$(gcc -print-multiarch)/ruby-3.3.0" \
    -o /opt/sandpiper/ruby ruby.c -lruby-3.3
