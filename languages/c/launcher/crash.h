// The file that crash.c writes and `cc --crash` reads: an address a line.
#pragma once

#define ADDRESSES "/tmp/.crash"
// A recursion repeats the same few addresses.
#define MAX_ADDRESSES 256
