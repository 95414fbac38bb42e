// Reads along what the client and the server say to each other. The client calls
// libc for it, so nothing stands between the two, and a run that asks for no
// results has none of the work.
//
// The client sends statements of its own, too, such as the `SELECT DATABASE()`
// before it changes the database. It draws no tables of their results. It asks for
// the time before it sends a statement of the submission, and only then.

#define _GNU_SOURCE
#include "results.h"
#include "json.h"
#include "packets.h"
#include "statement.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define DISPLAYS "/tmp/.display"
#define MAX_COLUMNS 4096

// First bytes of packets.
enum {
    COMMAND_QUERY = 0x03,
    OK = 0x00,
    WANTS_FILE = 0xfb,
    END = 0xfe,
    FAULT = 0xff,
};
// In the status of OK and END.
#define MORE_RESULTS 0x0008

enum kind { NUMBER, TEXT, BINARY };

static struct {
    bool is_on;
    int file;
    // The client has asked for the time.
    bool is_statement_next;
    // The socket of the last command.
    int connection;
    bool is_sending_file;
    struct packet sent;
    struct packet received;
    enum { NOTHING, RESPONSE, COLUMNS, ROWS } expected;
    // The first word of the statement.
    char word[16];
    struct json json;
    // The last result begins here.
    size_t start;
    bool is_first;
    uint64_t columns;
    uint64_t columns_known;
    unsigned char kinds[MAX_COLUMNS];
    uint64_t rows;
} noted = {.file = -1, .is_first = true};

void results_open(void) {
    mkdir(DISPLAYS, 0755);
    noted.file = open(DISPLAYS "/query.results",
                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

void results_begin(void) {
    noted.is_on = noted.file >= 0;
    json_put(&noted.json, "{\"results\":[");
}

static void put_number(void (*put)(struct json *, const char *),
                       uint64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    put(&noted.json, digits);
}

static void begin_result(void) {
    noted.start = noted.json.length;
    json_put(&noted.json, noted.is_first ? "\n" : ",\n");
}

// Takes the result back if it did not fit.
static bool is_kept(void) {
    if (noted.json.is_full)
        noted.json.length = noted.start;
    else
        noted.is_first = false;
    return !noted.json.is_full;
}

static void expect_more(uint64_t status) {
    noted.expected = status & MORE_RESULTS ? RESPONSE : NOTHING;
}

static void note_ok(struct values values) {
    take_fixed(&values, 1);
    uint64_t affected = take_integer(&values);
    take_integer(&values); // an id
    begin_result();
    json_put(&noted.json, "{\"affected\":");
    put_number(json_put, affected);
    json_put(&noted.json, ",\"statement\":\"");
    json_put(&noted.json, noted.word);
    json_put(&noted.json, "\"}");
    is_kept();
    expect_more(take_fixed(&values, 2));
}

static void begin_rows(void) {
    json_put(&noted.json, "],\"rows\":[");
    if (noted.json.is_full)
        noted.json.length = noted.start;
    noted.rows = 0;
    noted.expected = ROWS;
}

static void begin_set(uint64_t columns) {
    begin_result();
    json_put(&noted.json, "{\"columns\":[");
    noted.columns = columns;
    noted.columns_known = 0;
    noted.expected = COLUMNS;
}

// As the client decides on the side, and on bytes that it writes as 0x….
static enum kind kind_of(uint64_t type, uint64_t character_set) {
    enum { TIMESTAMP = 7, INT24 = 9, YEAR = 13, BIT = 16, VECTOR = 242,
           NEWDECIMAL = 246, TINY_BLOB = 249, GEOMETRY = 255,
           VARCHAR = 15, BINARY_SET = 63 };
    if ((type <= INT24 && type != TIMESTAMP) || type == YEAR ||
        type == NEWDECIMAL)
        return NUMBER;
    bool has_bytes = type == BIT || type == VARCHAR || type == VECTOR ||
                     (type >= TINY_BLOB && type <= GEOMETRY);
    return has_bytes && character_set == BINARY_SET ? BINARY : TEXT;
}

static void note_column(struct values values) {
    static const char *const names[] = {"number", "text", "binary"};
    // Catalog, schema, and two names of the table.
    for (int name = 0; name < 4; name++)
        take_bytes(&values);
    struct bytes name = take_bytes(&values);
    take_bytes(&values);
    take_integer(&values);
    uint64_t character_set = take_fixed(&values, 2);
    take_fixed(&values, 4);
    enum kind kind = kind_of(take_fixed(&values, 1), character_set);
    if (noted.columns_known < MAX_COLUMNS)
        noted.kinds[noted.columns_known] = (unsigned char)kind;
    else
        noted.json.is_full = true;
    json_put(&noted.json, noted.columns_known > 0 ? ",{\"name\":"
                                                  : "{\"name\":");
    json_string(&noted.json, name.data, name.length);
    json_put(&noted.json, ",\"type\":\"");
    json_put(&noted.json, names[kind]);
    json_put(&noted.json, "\"}");
    if (++noted.columns_known == noted.columns)
        begin_rows();
}

static void put_value(struct bytes value, enum kind kind) {
    if (value.is_null)
        json_put(&noted.json, "null");
    else if (kind == BINARY)
        json_hex(&noted.json, value.data, value.length);
    else
        json_string(&noted.json, value.data, value.length);
}

static void note_row(const struct packet *packet) {
    size_t start = noted.json.length;
    struct values values = packet_values(packet);
    // The rest of it was not kept.
    if (packet->kept < packet->length)
        noted.json.is_full = true;
    json_put(&noted.json, noted.rows++ > 0 ? ",\n[" : "\n[");
    for (uint64_t column = 0;
         column < noted.columns && !noted.json.is_full; column++) {
        if (column > 0)
            json_put(&noted.json, ",");
        put_value(take_bytes(&values), noted.kinds[column]);
    }
    json_put(&noted.json, "]");
    if (noted.json.is_full)
        noted.json.length = start;
}

static void end_rows(struct values values) {
    // Nothing of it fitted.
    if (noted.json.length > noted.start) {
        json_end(&noted.json, "],\"count\":");
        put_number(json_end, noted.rows);
        json_end(&noted.json, "}");
        noted.is_first = false;
    }
    take_fixed(&values, 1);
    take_integer(&values);
    take_integer(&values);
    expect_more(take_fixed(&values, 2));
}

// A set without its end is none: the client draws none of it either.
static void give_up_set(void) {
    if (noted.expected == COLUMNS || noted.expected == ROWS)
        noted.json.length = noted.start;
    noted.expected = NOTHING;
}

static void answer(const struct packet *packet) {
    struct values values = packet_values(packet);
    int first = packet->kept > 0 ? packet->data[0] : FAULT;
    noted.is_sending_file = false;
    if (first == FAULT)
        give_up_set();
    else if (noted.expected == COLUMNS)
        note_column(values);
    // A row that begins so is longer.
    else if (noted.expected == ROWS && first == END &&
             packet->length < MAX_PACKET_BYTES)
        end_rows(values);
    else if (noted.expected == ROWS)
        note_row(packet);
    else if (first == OK)
        note_ok(values);
    else if (first == WANTS_FILE)
        noted.is_sending_file = true;
    else
        begin_set(take_integer(&values));
}

static void command(int socket) {
    struct packet *packet = &noted.sent;
    // Parts of a login, or of a file.
    if (packet->number != 0)
        return;
    struct values values = packet_values(packet);
    bool is_noted = noted.is_statement_next &&
                    take_fixed(&values, 1) == COMMAND_QUERY;
    noted.is_statement_next = false;
    noted.connection = socket;
    noted.expected = is_noted ? RESPONSE : NOTHING;
    noted.received.header_length = 0;
    noted.received.goes_on = false;
    noted.word[0] = '\0';
    // Attributes would stand before the statement.
    bool has_attributes = take_integer(&values) > 0;
    take_integer(&values);
    if (is_noted && !has_attributes)
        first_word(values, noted.word, sizeof noted.word);
}

ssize_t send(int socket, const void *data, size_t size, int flags) {
    ssize_t sent =
        syscall(SYS_sendto, socket, data, size, flags, NULL, 0);
    if (!noted.is_on || noted.is_sending_file || sent <= 0)
        return sent;
    const unsigned char *at = data;
    const unsigned char *end = at + sent;
    while (at < end)
        if (packet_take(&noted.sent, &at, end))
            command(socket);
    return sent;
}

ssize_t recv(int socket, void *data, size_t size, int flags) {
    ssize_t got =
        syscall(SYS_recvfrom, socket, data, size, flags, NULL, NULL);
    if (!noted.is_on || socket != noted.connection || got <= 0 ||
        flags & MSG_PEEK)
        return got;
    const unsigned char *at = data;
    const unsigned char *end = at + got;
    while (at < end && noted.expected != NOTHING)
        if (packet_take(&noted.received, &at, end))
            answer(&noted.received);
    return got;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    noted.is_statement_next = true;
    return (int)syscall(SYS_gettimeofday, time, zone);
}

__attribute__((destructor)) static void write_results(void) {
    if (!noted.is_on)
        return;
    give_up_set();
    json_end(&noted.json, "\n],\"truncated\":");
    json_end(&noted.json, noted.json.is_full ? "true}\n" : "false}\n");
    const char *at = noted.json.data;
    const char *end = at + noted.json.length;
    while (at < end) {
        ssize_t written = write(noted.file, at, (size_t)(end - at));
        if (written <= 0)
            return;
        at += written;
    }
}
