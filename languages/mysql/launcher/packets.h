// The packets of MySQL's classic protocol, and the values in them.
#ifndef PACKETS_H
#define PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A packet of this length goes on in the next one.
#define MAX_PACKET_BYTES 0xffffff
// More of a packet is not kept.
#define KEPT_BYTES (1 << 20)

// A packet that comes in pieces.
struct packet {
    unsigned char header[4];
    size_t header_length;
    // Bytes that are still to come.
    size_t missing;
    uint8_t number;
    // Of the whole packet, those included that are not kept.
    size_t length;
    unsigned char *data;
    size_t kept;
    size_t capacity;
    bool goes_on;
};

// Takes some of the bytes of `*from`, and moves it. True if the packet is complete
// then; the next call begins another one.
bool packet_take(struct packet *packet, const unsigned char **from,
                 const unsigned char *end);

// Values are read from here. Those beyond `end` are empty.
struct values {
    const unsigned char *at;
    const unsigned char *end;
};

struct bytes {
    const unsigned char *data;
    size_t length;
    bool is_null;
};

struct values packet_values(const struct packet *packet);
// An integer of so many bytes.
uint64_t take_fixed(struct values *values, size_t size);
// An integer that says its own length.
uint64_t take_integer(struct values *values);
// A text, or NULL.
struct bytes take_bytes(struct values *values);

#endif
