# Builds the launcher of Rust inside the image.
mkdir /opt/sandpiper/rust
gcc -O2 -static -s -Wall -Wextra -Werror -o /opt/sandpiper/rust/build build.c
