//! How a price is written.

use std::io::Write as _;

/// Whole numbers from here on are written with an exponent.
const LARGEST_PLAIN: f64 = 1e21;

/// Appends the shortest number that reads back as `price`, which is finite;
/// whole numbers without fraction, minus zero as `0`.
pub(super) fn write(price: f64, text: &mut Vec<u8>) {
    let whole = price.trunc() == price && price.abs() < LARGEST_PLAIN;
    // Writing to a Vec cannot fail.
    let _ = if whole {
        // Adding zero makes minus zero zero.
        write!(text, "{}", price + 0.0)
    } else {
        serde_json::to_writer(text, &price).map_err(Into::into)
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(price: f64) -> String {
        let mut text = Vec::new();
        write(price, &mut text);
        String::from_utf8(text).unwrap()
    }

    fn check(price: f64, expected: &str) {
        assert_eq!(written(price), expected);
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
        check(5e-324, "5e-324");
        check(0.5, "0.5");
    }

    #[test]
    fn huge_prices_have_an_exponent() {
        for price in [1e21, 1.5e300, f64::MAX] {
            assert!(written(price).contains('e'), "{price:e}");
            assert_eq!(written(price).parse(), Ok(price));
        }
    }

    proptest! {
        #[test]
        fn every_price_reads_back(price in proptest::num::f64::NORMAL
            | proptest::num::f64::SUBNORMAL
            | proptest::num::f64::ZERO) {
            let text = written(price);
            prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), price);
        }
    }
}
