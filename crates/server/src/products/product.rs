//! A product as JSON: the fields that a client sends, and the text it gets back.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::http::{json_fields, json_text};

/// The fields that a client sets. A missing field has its default.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
pub(crate) struct ProductFields {
    #[schemars(with = "Option<String>", default)]
    pub(super) name: String,
    /// A number that fits a finite double.
    #[schemars(with = "Option<f64>", default, range(min = f64::MIN, max = f64::MAX))]
    pub(super) price: f64,
}

/// The fields of a product to be created.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the ProductFields that POST accepts")]
pub(crate) struct NewProduct {
    #[schemars(length(min = 1))]
    name: String,
    /// A number that fits a finite double.
    #[schemars(with = "Option<f64>", default, range(min = 0.0, max = f64::MAX))]
    price: f64,
}

/// A product in an answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Product<'a> {
    /// Never used twice.
    id: i64,
    name: &'a str,
    #[schemars(with = "f64")]
    price: Box<RawValue>,
}

/// Reads a body: a JSON object, or `null`, which stands for an empty one.
/// Returns `None` for anything else.
pub(super) fn parse(body: &[u8]) -> Option<ProductFields> {
    let text = json_text(body)?;
    // The white space of JSON.
    if text.trim_matches([' ', '\t', '\n', '\r']) == "null" {
        return Some(ProductFields::default());
    }
    let [name, price] = json_fields(&text, ["name", "price"])?;
    Some(ProductFields { name: last(&name)?, price: last(&price)? })
}

/// Returns a product as JSON text.
pub(super) fn text(id: i64, fields: &ProductFields) -> Vec<u8> {
    let name = &fields.name;
    // A number is JSON, and neither it nor a string can fail to be written.
    let price = RawValue::from_string(price_text(fields.price));
    let product = Product { id, name, price: price.unwrap_or_default() };
    serde_json::to_vec(&product).unwrap_or_default()
}

/// Returns the JSON text of a product behind its id.
pub(super) fn text_behind_id(fields: &ProductFields) -> Vec<u8> {
    text(0, fields).split_off(r#"{"id":0"#.len())
}

/// Returns whether this is the JSON text that [`text`] makes of a product.
pub(super) fn is_text_of(id: i64, found: &[u8]) -> bool {
    parse(found).is_some_and(|fields| text(id, &fields) == found)
}

/// Returns the last of the values that a key has, or the default if there is
/// none or it is `null`. Each value must have the right type.
fn last<T: Default + DeserializeOwned>(values: &[&RawValue]) -> Option<T> {
    values.iter().try_fold(T::default(), |_, value| {
        let value: Option<T> = serde_json::from_str(value.get()).ok()?;
        Some(value.unwrap_or_default())
    })
}

/// Returns the shortest number that reads back as `price`. Only numbers below
/// 0.000001 and from 1e21 on have an exponent.
fn price_text(price: f64) -> String {
    // This turns minus zero into zero.
    let price = price + 0.0;
    if price == 0.0 || (1e-6..1e21).contains(&price.abs()) {
        price.to_string()
    } else {
        format!("{price:e}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_price(price: f64, expected: &str) {
        assert_eq!(price_text(price), expected);
    }

    #[test]
    fn prices_are_short() {
        check_price(9.99, "9.99");
        check_price(10.0, "10");
        check_price(0.0, "0");
        check_price(-0.0, "0");
        check_price(-3.0, "-3");
        check_price(0.1, "0.1");
        check_price(0.1 + 0.2, "0.30000000000000004");
        check_price(1e20, "100000000000000000000");
        check_price(123_456_789_012_345_680_000.0, "123456789012345680000");
        check_price(9_007_199_254_740_993.0, "9007199254740992");
        check_price(-1e20, "-100000000000000000000");
        check_price(0.5, "0.5");
        check_price(1e-6, "0.000001");
        check_price(1.5e-6, "0.0000015");
        check_price(1e21, "1e21");
        check_price(-1.5e300, "-1.5e300");
        check_price(f64::MAX, "1.7976931348623157e308");
        check_price(5e-324, "5e-324");
        check_price(1.25e-7, "1.25e-7");
    }

    proptest! {
        #[test]
        fn every_price_reads_back(price in proptest::num::f64::NORMAL
            | proptest::num::f64::SUBNORMAL
            | proptest::num::f64::ZERO) {
            let text = price_text(price);
            prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), price);
        }
    }

    #[test]
    fn a_text_is_of_one_product() {
        let check = |id: i64, text: &str, expected: bool| {
            assert_eq!(is_text_of(id, text.as_bytes()), expected, "{text}");
        };
        check(1, r#"{"id":1,"name":"a\"\u0000é","price":0.1}"#, true);
        check(1, r#"{"id":2,"name":"a","price":0.1}"#, false);
        check(1, r#"{"id":1,"price":0.1,"name":"a"}"#, false);
        check(1, r#"{"id":1,"name":"a","price":1.0}"#, false);
        check(1, r#"{"id":1,"name":"a","price":1,"x":1}"#, false);
        check(1, r#"{"id":1,"name":"a","price":1} "#, false);
        check(1, "null", false);
        check(1, "", false);
        assert!(!is_text_of(1, b"\xff"));
        let fields = ProductFields { name: "a".to_owned(), price: 1.5 };
        let text = [br#"{"id":-7"#, &text_behind_id(&fields)[..]].concat();
        assert!(is_text_of(-7, &text));
    }

    fn check(text: &str, name: &str, price: f64) {
        let expected = ProductFields { name: name.to_owned(), price };
        assert_eq!(parse(text.as_bytes()), Some(expected), "{text:.80}");
    }

    fn check_invalid(text: &str) {
        assert_eq!(parse(text.as_bytes()), None, "{text:.80}");
    }

    #[test]
    fn fields_are_read() {
        check(r#"{"name":"a","price":9.99}"#, "a", 9.99);
        check(r#" {"price" : 1 , "name" : "b"} "#, "b", 1.0);
        check(r#"{"n\u0061me":"a"}"#, "a", 0.0);
        check(r#"{"price":-1e-400}"#, "", 0.0);
        check(r#"{"price":18446744073709551616}"#, "", 18446744073709551616.0);
        check(r#"{"name":"\u0000\ud83d\ude00"}"#, "\0😀", 0.0);
    }

    #[test]
    fn missing_is_empty() {
        check("{}", "", 0.0);
        check("null", "", 0.0);
        check(r#"{"name":null,"price":null}"#, "", 0.0);
        check(r#"{"Name":"a","PRICE":1}"#, "", 0.0);
    }

    #[test]
    fn the_last_of_a_key_wins() {
        check(r#"{"name":"a","name":"b","price":1,"price":2}"#, "b", 2.0);
        check(r#"{"name":"a","name":null}"#, "", 0.0);
        check_invalid(r#"{"name":1,"name":"b"}"#);
        check_invalid(r#"{"price":"1","price":2}"#);
    }

    #[test]
    fn other_fields_are_ignored() {
        check(r#"{"id":7,"x":[{"name":1}],"name":"a"}"#, "a", 0.0);
        check(r#"{"x":1e999,"y":-1e999}"#, "", 0.0);
        check(
            &format!(r#"{{"x":{},"name":"a"}}"#, "9".repeat(10_000)),
            "a",
            0.0,
        );
        for depth in [10_000, 100_000] {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            check(&format!(r#"{{"x":{open}{close},"name":"a"}}"#), "a", 0.0);
            let open = "{\"a\":".repeat(depth);
            let close = "}".repeat(depth);
            check(&format!(r#"{{"x":{open}1{close},"name":"a"}}"#), "a", 0.0);
        }
    }

    #[test]
    fn anything_else_is_invalid() {
        for text in [
            "",
            " ",
            "[]",
            "1",
            "\"a\"",
            "true",
            "{",
            "}",
            "{}{}",
            "{} x",
            "nul",
            "{\"name\":\"a\"",
            "{\"name\":\"a\",}",
            "{name:\"a\"}",
            "{'name':'a'}",
            "{\"name\":\"a\" \"price\":1}",
            "// {}",
            "{}//",
            r#"{"name":1}"#,
            r#"{"name":["a"]}"#,
            r#"{"name":true}"#,
            r#"{"price":"1"}"#,
            r#"{"price":true}"#,
            r#"{"price":[1]}"#,
            r#"{"price":1e999}"#,
            r#"{"price":-1e999}"#,
            r#"{"price":NaN}"#,
            r#"{"price":01}"#,
            r#"{"price":1.}"#,
            r#"{"price":.5}"#,
            r#"{"price":+1}"#,
            r#"{"price":0x1}"#,
            r#"{"price":1e}"#,
            "{\"name\":\"a\nb\"}",
            "{\"name\":\"\\x\"}",
            "{\"x\":\"\t\"}",
            r#"{"name":"\u12"}"#,
            "\u{feff}{}",
            "{\"x\":01}",
            "{\"x\":nul}",
            "{\"x\":[1,]}",
            "{\"x\":tru}",
            "{\"x\"}",
            "{\"x\":}",
            "\0{}",
        ] {
            check_invalid(text);
        }
        check_invalid(&"[".repeat(100_000));
    }
}
