// Reads packets of MySQL's classic protocol.

#include "packets.h"

#include <stdlib.h>
#include <string.h>

static void begin(struct packet *packet) {
    const unsigned char *header = packet->header;
    size_t length = header[0] | header[1] << 8 | header[2] << 16;
    packet->number = header[3];
    packet->missing = length;
    if (!packet->goes_on)
        packet->length = packet->kept = 0;
    packet->length += length;
    packet->goes_on = length == MAX_PACKET_BYTES;
}

static void keep(struct packet *packet, const unsigned char *data,
                 size_t size) {
    if (size > KEPT_BYTES - packet->kept)
        size = KEPT_BYTES - packet->kept;
    size_t needed = packet->kept + size;
    if (needed > packet->capacity) {
        size_t capacity = needed < KEPT_BYTES / 2 ? 2 * needed : KEPT_BYTES;
        unsigned char *larger = realloc(packet->data, capacity);
        if (larger == NULL)
            return;
        packet->data = larger;
        packet->capacity = capacity;
    }
    if (size > 0)
        memcpy(packet->data + packet->kept, data, size);
    packet->kept = needed;
}

bool packet_take(struct packet *packet, const unsigned char **from,
                 const unsigned char *end) {
    while (packet->header_length < sizeof packet->header && *from < end) {
        packet->header[packet->header_length++] = *(*from)++;
        if (packet->header_length == sizeof packet->header)
            begin(packet);
    }
    if (packet->header_length < sizeof packet->header)
        return false;
    size_t size = (size_t)(end - *from);
    if (size > packet->missing)
        size = packet->missing;
    keep(packet, *from, size);
    *from += size;
    packet->missing -= size;
    if (packet->missing > 0)
        return false;
    packet->header_length = 0;
    return !packet->goes_on;
}

struct values packet_values(const struct packet *packet) {
    return (struct values){packet->data, packet->data + packet->kept};
}

uint64_t take_fixed(struct values *values, size_t size) {
    uint64_t value = 0;
    if ((size_t)(values->end - values->at) < size) {
        values->at = values->end;
        return 0;
    }
    for (size_t byte = 0; byte < size; byte++)
        value |= (uint64_t)*values->at++ << (8 * byte);
    return value;
}

uint64_t take_integer(struct values *values) {
    uint64_t first = take_fixed(values, 1);
    switch (first) {
    case 0xfc:
        return take_fixed(values, 2);
    case 0xfd:
        return take_fixed(values, 3);
    case 0xfe:
        return take_fixed(values, 8);
    default:
        return first;
    }
}

struct bytes take_bytes(struct values *values) {
    if (values->at < values->end && *values->at == 0xfb) {
        values->at++;
        return (struct bytes){.is_null = true};
    }
    size_t length = take_integer(values);
    size_t left = (size_t)(values->end - values->at);
    struct bytes found = {values->at, length < left ? length : left, false};
    values->at += found.length;
    return found;
}
