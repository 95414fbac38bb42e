// Adds up the harmonic series exactly; fractions are in fraction.c.
#include <stdio.h>

#include "fraction.h"

int main(void) {
    struct fraction sum = {0, 1};
    for (long n = 1; n <= 10; n++) {
        sum = add(sum, (struct fraction){1, n});
        printf("H(%2ld) = %4ld/%-4ld = %.6f\n", n, sum.top, sum.bottom,
               (double)sum.top / sum.bottom);
    }
}
