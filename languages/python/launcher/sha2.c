// Debian's static libpython calls SHA-2 functions that it does not hold. These
// stand in for them, on libmd; their signatures are those of CPython's
// Modules/_hacl/Hacl_Hash_SHA2.h.

#include <sha2.h>
#include <stdint.h>
#include <stdlib.h>

#define NAME(function) python_hashlib_Hacl_Hash_SHA2_##function

static SHA2_CTX *new_state(void (*start)(SHA2_CTX *)) {
    SHA2_CTX *state = malloc(sizeof *state);
    if (state != NULL)
        start(state);
    return state;
}

static SHA2_CTX *copy(const SHA2_CTX *state) {
    SHA2_CTX *other = malloc(sizeof *other);
    if (other != NULL)
        *other = *state;
    return other;
}

SHA2_CTX *NAME(malloc_224)(void) { return new_state(SHA224Init); }
SHA2_CTX *NAME(malloc_256)(void) { return new_state(SHA256Init); }
SHA2_CTX *NAME(malloc_384)(void) { return new_state(SHA384Init); }
SHA2_CTX *NAME(malloc_512)(void) { return new_state(SHA512Init); }

SHA2_CTX *NAME(copy_256)(const SHA2_CTX *state) { return copy(state); }
SHA2_CTX *NAME(copy_512)(const SHA2_CTX *state) { return copy(state); }

void NAME(free_256)(SHA2_CTX *state) { free(state); }
void NAME(free_512)(SHA2_CTX *state) { free(state); }

uint8_t NAME(update_256)(SHA2_CTX *state, const uint8_t *input,
                         uint32_t length) {
    SHA256Update(state, input, length);
    return 0;
}

uint8_t NAME(update_512)(SHA2_CTX *state, const uint8_t *input,
                         uint32_t length) {
    SHA512Update(state, input, length);
    return 0;
}

// A digest leaves the state as it is; SHA-224 and SHA-384 are the first bytes
// of what these write.
void NAME(digest_256)(const SHA2_CTX *state, uint8_t *digest) {
    SHA2_CTX last = *state;
    SHA256Final(digest, &last);
}

void NAME(digest_512)(const SHA2_CTX *state, uint8_t *digest) {
    SHA2_CTX last = *state;
    SHA512Final(digest, &last);
}
