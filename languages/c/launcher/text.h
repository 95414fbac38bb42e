// Source text: files, blanks and comments.
#pragma once

// Reads a whole file, with an end mark; NULL when that fails.
char *read_file(const char *path);

const char *skip_blanks(const char *text);

// Behind a comment that begins here; `text` itself when none does.
const char *skip_comment(const char *text);
