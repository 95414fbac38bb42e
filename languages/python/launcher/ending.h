// The end of the interpreter.
#pragma once

#include <stdbool.h>

// From here on objects are the program's: none is before this.
void begin_program(void);

// Whether the interpreter's end would do nothing but free memory, standard
// streams being flushed. Otherwise, it is as it was without begin_program().
bool nothing_is_left(void);
