// Declarations that the files of the probe share.
#pragma once

// Prints "ok", or the name of the error in errno if the result is negative.
int tell(long result);

// probe_limits.c: programs that exceed limits.

int hog(void);
int touch(int mebibytes);
int hog_memfd(void);
int fork_until_refused(void);
int threads_until_refused(void);
int fork_bomb(void);
int spin(int processes);
int stubborn(void);
int flood(int fd);
int daemonise(void);
int fill(const char *path, int files);
int big_file(void);
int open_many(void);
int hog_in_child(void);
int hide(const char *path);
int shared_kernel(void);
int core_limit(void);

// probe_left.c: programs that leave files.

int leave(const char *what, int number);
