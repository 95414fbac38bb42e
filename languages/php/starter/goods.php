<?php
// The goods of the shop.

enum Good: string
{
    case Bread = 'bread';
    case Milk = 'milk';
    case Cheese = 'cheese';

    /** The price of one, in cents. */
    public function price(): int
    {
        return match ($this) {
            self::Bread => 240,
            self::Milk => 119,
            self::Cheese => 385,
        };
    }

    public function label(): string
    {
        return ucfirst($this->value);
    }
}
