<?php
// Reads a small shopping list and prints a receipt; the goods are in goods.php.
declare(strict_types=1);

require 'goods.php';

const BASKET = 'bread:2, milk:1, cheese:3';

$total = 0;
foreach (explode(', ', BASKET) as $entry) {
    [$name, $count] = explode(':', $entry);
    $good = Good::from($name);
    $price = $good->price() * (int) $count;
    $total += $price;
    printf("%-8s x%d %7.2f €\n", $good->label(), $count, $price / 100);
}

echo str_repeat('-', 20), "\n";
printf("%-11s %6.2f €\n", 'Total', $total / 100);
