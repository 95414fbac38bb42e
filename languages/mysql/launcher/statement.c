// Finds the first word of a statement.

#define _GNU_SOURCE
#include "statement.h"

#include <ctype.h>
#include <string.h>

static bool begins(const struct values *text, const char *with) {
    size_t length = strlen(with);
    return (size_t)(text->end - text->at) >= length &&
           memcmp(text->at, with, length) == 0;
}

static void skip_past(struct values *text, const char *what) {
    size_t length = strlen(what);
    const unsigned char *found = memmem(
        text->at, (size_t)(text->end - text->at), what, length);
    text->at = found != NULL ? found + length : text->end;
}

void first_word(struct values text, char *word, size_t size) {
    size_t length = 0;
    while (text.at < text.end) {
        if (begins(&text, "/*"))
            skip_past(&text, "*/");
        else if (begins(&text, "--") || begins(&text, "#"))
            skip_past(&text, "\n");
        else if (isspace(*text.at) || *text.at == '(')
            text.at++;
        else
            break;
    }
    for (; text.at < text.end && isalpha(*text.at); text.at++)
        if (length + 1 < size)
            word[length++] = (char)toupper(*text.at);
    word[length] = '\0';
}
