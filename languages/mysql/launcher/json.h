// JSON text that is written into a bounded buffer.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json {
    char *data;
    size_t length;
    size_t capacity;
    // Something did not fit, and nothing is written any more. Whoever shortens the
    // text to what stood before may go on.
    bool is_full;
};

// Writes JSON as it stands.
void json_put(struct json *json, const char *text);
// Writes a few bytes that end what was begun. There is always room for them.
void json_end(struct json *json, const char *text);
// Writes a string. Bytes that are not UTF-8 become U+FFFD.
void json_string(struct json *json, const unsigned char *data, size_t length);
// Writes bytes as a string of hexadecimal digits, as in "0x00FF".
void json_hex(struct json *json, const unsigned char *data, size_t length);

#endif
