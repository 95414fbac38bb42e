// A board of living and dead cells whose edges meet.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

class Board {
public:
    explicit Board(std::vector<std::string> rows) : rows_(std::move(rows)) {}

    // The board one generation later.
    Board next() const {
        Board result = *this;
        for (int y = 0; y < height(); ++y)
            for (int x = 0; x < width(); ++x) {
                int count = neighbours(x, y);
                bool lives = count == 3 || (count == 2 && alive(x, y));
                result.rows_[y][x] = lives ? '#' : '.';
            }
        return result;
    }

    friend std::ostream &operator<<(std::ostream &out, const Board &board) {
        for (const auto &row : board.rows_)
            out << row << '\n';
        return out;
    }

private:
    int height() const { return static_cast<int>(rows_.size()); }
    int width() const { return static_cast<int>(rows_.front().size()); }

    bool alive(int x, int y) const {
        auto wrap = [](int at, int size) { return (at + size) % size; };
        return rows_[wrap(y, height())][wrap(x, width())] == '#';
    }

    int neighbours(int x, int y) const {
        int count = 0;
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
                count += (dx != 0 || dy != 0) && alive(x + dx, y + dy);
        return count;
    }

    std::vector<std::string> rows_;
};
