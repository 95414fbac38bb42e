//! A product's JSON: what a client may send.

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The fields that a client sets, each at its default where it is missing.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema)]
pub(crate) struct ProductFields {
    #[schemars(with = "Option<String>", default)]
    pub(super) name: String,
    /// A number that fits a finite double.
    #[schemars(with = "Option<f64>", default, range(min = f64::MIN, max = f64::MAX))]
    pub(super) price: f64,
}

/// What a client may create.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes ProductFields that are accepted")]
pub(crate) struct NewProduct {
    #[schemars(length(min = 1))]
    name: String,
    /// A number that fits a finite double.
    #[schemars(with = "Option<f64>", default, range(min = 0.0, max = f64::MAX))]
    price: f64,
}

/// A product as answers have it.
#[derive(JsonSchema)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(not(test), expect(dead_code, reason = "the store writes the text"))]
pub(crate) struct Product {
    /// Never used twice.
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) price: f64,
}

/// Reads one JSON value: an object, or `null`, which is an empty one.
pub(super) fn parse(text: &str) -> Option<ProductFields> {
    serde_json::from_str(text).ok()
}

impl<'de> Deserialize<'de> for ProductFields {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldsVisitor)
    }
}

/// A key of the object.
#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Name,
    Price,
    #[serde(other)]
    Other,
}

/// Written by hand since a derived one refuses a key that comes twice.
struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = ProductFields;

    fn expecting(
        &self,
        formatter: &mut std::fmt::Formatter<'_>,
    ) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ProductFields::default())
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> Result<Self::Value, A::Error> {
        let mut fields = ProductFields::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Name => {
                    let name: Option<String> = map.next_value()?;
                    fields.name = name.unwrap_or_default();
                }
                Key::Price => {
                    let price: Option<f64> = map.next_value()?;
                    fields.price = price.unwrap_or_default();
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, price: f64) {
        let expected = ProductFields { name: name.to_owned(), price };
        assert_eq!(parse(text), Some(expected), "{text:.80}");
    }

    fn check_invalid(text: &str) {
        assert_eq!(parse(text), None, "{text:.80}");
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
