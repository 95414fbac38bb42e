// Writes JSON.

#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// As much as a run may print, twice: quotes in values are escaped.
#define MAX_BYTES (2 << 20)
// For what json_end() writes.
#define RESERVE 256

static void add(struct json *json, const void *data, size_t size,
                size_t most) {
    size_t needed = json->length + size;
    if (json->is_full || needed > most) {
        json->is_full = true;
        return;
    }
    if (needed > json->capacity) {
        size_t capacity = needed + needed / 2 + RESERVE;
        char *larger = realloc(json->data, capacity);
        if (larger == NULL) {
            json->is_full = true;
            return;
        }
        json->data = larger;
        json->capacity = capacity;
    }
    memcpy(json->data + json->length, data, size);
    json->length = needed;
}

void json_put(struct json *json, const char *text) {
    add(json, text, strlen(text), MAX_BYTES - RESERVE);
}

void json_end(struct json *json, const char *text) {
    bool is_full = json->is_full;
    json->is_full = false;
    add(json, text, strlen(text), MAX_BYTES);
    json->is_full = is_full;
}

static void put_bytes(struct json *json, const void *data, size_t size) {
    add(json, data, size, MAX_BYTES - RESERVE);
}

// Returns the length of the character at `data`, or 0 if there is none.
static size_t character(const unsigned char *data, size_t left) {
    unsigned char first = data[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > left)
        return 0;
    for (size_t at = 1; at < length; at++)
        if ((data[at] & 0xc0) != 0x80)
            return 0;
    // Longer than needed, a surrogate, or beyond the last character.
    bool is_wrong = (first == 0xe0 && data[1] < 0xa0) ||
                    (first == 0xed && data[1] > 0x9f) ||
                    (first == 0xf0 && data[1] < 0x90) ||
                    (first == 0xf4 && data[1] > 0x8f);
    return is_wrong ? 0 : length;
}

static void put_escaped(struct json *json, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    char escaped[] = {'\\', 'u', '0', '0', digits[byte >> 4],
                      digits[byte & 15]};
    char quoted[] = {'\\', (char)byte};
    if (byte == '"' || byte == '\\')
        put_bytes(json, quoted, sizeof quoted);
    else
        put_bytes(json, escaped, sizeof escaped);
}

void json_string(struct json *json, const unsigned char *data,
                 size_t length) {
    json_put(json, "\"");
    size_t at = 0;
    while (at < length && !json->is_full) {
        // As many as need no escape.
        size_t start = at;
        size_t size = 0;
        while (at < length && data[at] >= ' ' && data[at] != '"' &&
               data[at] != '\\' &&
               (size = character(data + at, length - at)) > 0)
            at += size;
        if (at > start)
            put_bytes(json, data + start, at - start);
        if (at == length)
            break;
        if (data[at] < 0x80)
            put_escaped(json, data[at]);
        else
            json_put(json, "\xef\xbf\xbd");
        at++;
    }
    json_put(json, "\"");
}

void json_hex(struct json *json, const unsigned char *data, size_t length) {
    static const char digits[] = "0123456789ABCDEF";
    json_put(json, "\"0x");
    for (size_t at = 0; at < length && !json->is_full; at++) {
        char pair[] = {digits[data[at] >> 4], digits[data[at] & 15]};
        put_bytes(json, pair, sizeof pair);
    }
    json_put(json, "\"");
}
