// Exact fractions.
#pragma once

struct fraction {
    long top, bottom;
};

// The sum of two fractions, in lowest terms.
struct fraction add(struct fraction a, struct fraction b);
