# Builds the launcher of SQLite inside the image.
gcc -O2 -s -Wall -Wextra -Werror -o /opt/sandpiper/sqlite \
    sqlite.c script.c -lsqlite3
