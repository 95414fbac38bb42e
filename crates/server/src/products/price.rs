//! How a price is written.

/// Numbers from here on are written with an exponent.
const LARGE: f64 = 1e21;
/// Fractions below this are written with an exponent.
const SMALL: f64 = 1e-6;

/// The shortest number that reads back as `price`, which is finite; whole
/// numbers without fraction, minus zero as `0`.
pub(super) fn text(price: f64) -> String {
    // The fewest digits that read back the same; a number is always written.
    // Adding zero makes minus zero zero.
    let mut text = serde_json::to_string(&(price + 0.0)).unwrap_or_default();
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    } else if text.contains('e') {
        // It has an exponent sooner than we do, and writes it otherwise.
        let is_plain = (SMALL..LARGE).contains(&price.abs());
        text = if is_plain { price.to_string() } else { format!("{price:e}") };
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(price: f64, expected: &str) {
        assert_eq!(text(price), expected);
    }

    #[test]
    fn prices_are_short() {
        check(9.99, "9.99");
        check(10.0, "10");
        check(0.0, "0");
        check(-0.0, "0");
        check(-3.0, "-3");
        check(0.1, "0.1");
        check(0.1 + 0.2, "0.30000000000000004");
        check(1e20, "100000000000000000000");
        check(123_456_789_012_345_680_000.0, "123456789012345680000");
        check(9_007_199_254_740_993.0, "9007199254740992");
        check(-1e20, "-100000000000000000000");
        check(0.5, "0.5");
    }

    #[test]
    fn huge_and_tiny_prices_have_an_exponent() {
        check(1e21, "1e21");
        check(-1.5e300, "-1.5e300");
        check(f64::MAX, "1.7976931348623157e308");
        check(5e-324, "5e-324");
        check(1.25e-7, "1.25e-7");
        check(1e-6, "0.000001");
        check(1.5e-6, "0.0000015");
    }

    #[test]
    fn both_ways_to_write_a_price_agree() {
        for exponent in -6..21 {
            for digits in ["1", "-1.5", "9.999999999999999", "1.23456789"] {
                let price: f64 =
                    format!("{digits}e{exponent}").parse().unwrap();
                check(price, &price.to_string());
            }
        }
    }

    proptest! {
        #[test]
        fn every_price_reads_back(price in proptest::num::f64::NORMAL
            | proptest::num::f64::SUBNORMAL
            | proptest::num::f64::ZERO) {
            let text = text(price);
            prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), price);
        }
    }
}
