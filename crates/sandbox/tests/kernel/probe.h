// What the files of the probe have in common.
#pragma once

// Prints "ok", or the name of the error that a negative result left.
int tell(long result);

// probe_limits.c: programs that want more than they may have.

