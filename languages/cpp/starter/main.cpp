// Plays the game of life; the board is in board.hpp.
#include <iostream>

#include "board.hpp"

int main() {
    Board glider{{
        ".#......",
        "..#.....",
        "###.....",
        "........",
        "........",
    }};
    for (int generation = 0; generation < 4; ++generation) {
        std::cout << "generation " << generation << '\n' << glider << '\n';
        glider = glider.next();
    }
}
