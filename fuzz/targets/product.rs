//! Turns the body of a product into an answer.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_server::fuzzing::{self, text};
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    let accepted = product(body);
    if let Some((name, price, answer)) = &accepted {
        check_answer(name, *price, answer);
    }
    let Some(text) = text(body) else {
        assert!(accepted.is_none(), "not UTF-8");
        return;
    };
    let Ok(value) = serde_json::from_str::<Value>(&text) else { return };
    // Written again, since our reader refuses duplicate keys.
    let plain = product(value.to_string().as_bytes());
    let plain = plain.map(|(name, price, _)| (name, price));
    assert_eq!(plain, expected(&value), "{text}");
    if let Some((name, price, _)) = accepted {
        assert_eq!(Some((name, price)), plain, "{text}");
    }
});

/// Parses the body. The planted fault turns a negative price into zero.
fn product(body: &[u8]) -> Option<(String, f64, Bytes)> {
    let (name, price, answer) = fuzzing::product(body)?;
    let price = if PLANTED { price.max(0.0) } else { price };
    Some((name, price, answer))
}

/// Asserts that the answer has the sent values, in order and in the shortest form.
fn check_answer(name: &str, price: f64, answer: &[u8]) {
    assert!(price.is_finite());
    let text = std::str::from_utf8(answer).expect("an answer in UTF-8");
    let value: Value = serde_json::from_str(text).expect("an answer in JSON");
    assert_eq!(value["id"], 1, "{text}");
    assert_eq!(value["name"], name, "{text}");
    assert_eq!(value["price"].as_f64(), Some(price), "{text}");
    assert!(text.starts_with("{\"id\":1,\"name\":\""), "{text}");
    let number = text.rsplit_once(",\"price\":").expect("a price").1;
    let number = number.strip_suffix('}').expect("the end");
    if price.fract() == 0.0 && price.abs() < 1e21 {
        let digits = number.strip_prefix('-').unwrap_or(number);
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{text}");
        assert_ne!(number, "-0");
    }
    // An answer that is sent again gives the same answer.
    let (_, _, again) = product(answer).expect("an answer is a body");
    assert_eq!(again, answer, "{text}");
}

fn expected(value: &Value) -> Option<(String, f64)> {
    if value.is_null() {
        return Some((String::new(), 0.0));
    }
    let object = value.as_object()?;
    let name = match object.get("name") {
        None | Some(Value::Null) => String::new(),
        Some(name) => name.as_str()?.to_owned(),
    };
    let price = match object.get("price") {
        None | Some(Value::Null) => 0.0,
        Some(price) => price.as_f64()?,
    };
    Some((name, price))
}
