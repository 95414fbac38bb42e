// Reads source text, as far as that needs no knowledge of the language.

#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *read_file(const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        text = size < 0 ? NULL : malloc((size_t)size + 1);
        if (text != NULL)
            text[fread(text, 1, (size_t)size, file)] = '\0';
    }
    fclose(file);
    return text;
}

const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

const char *skip_comment(const char *text) {
    if (text[0] == '/' && text[1] == '/')
        return text + strcspn(text, "\n");
    if (text[0] == '/' && text[1] == '*') {
        const char *end = strstr(text + 2, "*/");
        return end == NULL ? text + strlen(text) : end + 2;
    }
    return text;
}
