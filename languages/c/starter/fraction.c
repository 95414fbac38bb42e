// Arithmetic with fractions.
#include "fraction.h"

static long greatest_common_divisor(long a, long b) {
    while (b != 0) {
        long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct fraction add(struct fraction a, struct fraction b) {
    long top = a.top * b.bottom + b.top * a.bottom;
    long bottom = a.bottom * b.bottom;
    long divisor = greatest_common_divisor(top, bottom);
    return (struct fraction){top / divisor, bottom / divisor};
}
