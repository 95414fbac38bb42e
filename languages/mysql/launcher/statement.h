// The first word of a statement.
#ifndef STATEMENT_H
#define STATEMENT_H

#include "packets.h"

// Copies it in capital letters; nothing if the statement begins otherwise. Comments
// and brackets may stand before it.
void first_word(struct values text, char *word, size_t size);

#endif
