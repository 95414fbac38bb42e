//! Bodies that count as JSON, and how products are written.

use sandpiper_testkit::Server;

/// Creates a product from `body`; the answer must be `expected` behind the id.
fn check(server: &Server, body: impl AsRef<[u8]>, expected: &str) {
    let shown = String::from_utf8_lossy(body.as_ref()).into_owned();
    let reply = server.send("POST", "/products", &[], body);
    assert_eq!(reply.status, 201, "{shown:.100}: {reply:?}");
    let (_, rest) = reply.text().split_once(',').expect("fields");
    assert_eq!(rest, expected, "{shown:.100}");
}

#[test]
fn prices_are_the_shortest_that_read_back() {
    let server = Server::start();
    let price = |sent: &str, written: &str| {
        let body = format!(r#"{{"name":"a","price":{sent}}}"#);
        let expected = format!(r#""name":"a","price":{written}}}"#);
        check(&server, body, &expected);
    };
    price("9.99", "9.99");
    price("9.990", "9.99");
    price("10", "10");
    price("10.0", "10");
    price("1E+2", "100");
    price("0.1", "0.1");
    price("-0", "0");
    price("-0.0", "0");
    price("0e5", "0");
    price("1e-400", "0");
    price("-1e-400", "0");
    price("0.30000000000000004", "0.30000000000000004");
    price("1.7976931348623157e308", "1.7976931348623157e308");
    price("9007199254740993", "9007199254740992");
    price("18446744073709551615", "18446744073709552000");
    price("123456789012345678901", "123456789012345680000");
    price("999999999999999900000", "999999999999999900000");
    price("100000000000000000000.0", "100000000000000000000");
    price("null", "0");
    price("1e21", "1e21");
    price("5e-324", "5e-324");
}

#[test]
fn names_are_kept_as_they_are() {
    let server = Server::start();
    let name = |sent: &str, kept: &str| {
        let body = format!(r#"{{"name":"{sent}"}}"#);
        let reply = server.send("POST", "/products", &[], body);
        assert_eq!(reply.json()["name"].as_str(), Some(kept), "{sent}");
    };
    name("é", "é");
    name("😀", "😀");
    name(r"\u00e9\n\t\\\/\b", "é\n\t\\/\u{8}");
    name(r"\u0000", "\0");
    name(r"\ud83d\ude00", "😀");
    name(r"\ud83d", "\u{fffd}");
    name(r"\ude00\ud83d", "\u{fffd}\u{fffd}");
    name(r"\uD83Dx", "\u{fffd}x");
    name(r"\ud83d\u0041", "\u{fffd}A");
    name(r"\\ud83d", "\\ud83d");
    name(" ", " ");
    name("<script>", "<script>");
}

#[test]
fn other_fields_do_not_matter() {
    let server = Server::start();
    let extra = |extra: &str| {
        let body = format!(r#"{{{extra},"name":"a","price":1}}"#);
        check(&server, body, r#""name":"a","price":1}"#);
    };
    extra(r#""id":"x""#);
    extra(r#""x":1e999,"y":-1e999"#);
    extra(&format!(r#""x":{}"#, "9".repeat(100_000)));
    extra(r#""x":"\ud800","\udfff":1"#);
    extra(r#""Name":1,"PRICE":"x","names":[]"#);
    extra(r#""":null"#);
    for depth in [10_000, 100_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        extra(&format!(r#""x":{arrays}"#));
        let objects =
            format!("{}1{}", "{\"name\":".repeat(depth), "}".repeat(depth));
        extra(&format!(r#""x":{objects}"#));
    }
    extra(r#""name":"b","price":7"#);
    extra(r#""n\u0061me":"b""#);
}

/// Texts that are no JSON object with fields of the right types.
const NOT_A_PRODUCT: &[&str] = &[
    "",
    " ",
    "nonsense",
    "{",
    "}",
    "[]",
    "[{}]",
    "true",
    "1",
    "\"a\"",
    "{}{}",
    "{} {}",
    "{},",
    "null null",
    "nul",
    "NULL",
    r#"{"name":"a""#,
    r#"{"name":"a",}"#,
    r#"{"name" "a"}"#,
    r#"{name:"a"}"#,
    "{'name':'a'}",
    r#"{"name":"a"}x"#,
    r#"{"name":1}"#,
    r#"{"name":true}"#,
    r#"{"name":["a"]}"#,
    r#"{"name":{}}"#,
    r#"{"price":"1"}"#,
    r#"{"price":true}"#,
    r#"{"price":[]}"#,
    r#"{"price":{}}"#,
    r#"{"price":1e999}"#,
    r#"{"price":-1e999}"#,
    r#"{"price":01}"#,
    r#"{"price":1.}"#,
    r#"{"price":.1}"#,
    r#"{"price":+1}"#,
    r#"{"price":NaN}"#,
    r#"{"price":Infinity}"#,
    r#"{"price":0x10}"#,
    r#"{"price":1e}"#,
    r#"{"name":1,"name":"a"}"#,
    r#"{"name":"a","name":1}"#,
    r#"{"price":"1","price":1}"#,
    r#"{"x":01}"#,
    r#"{"x":[1,]}"#,
    r#"{"name":"\x"}"#,
    r#"{"name":"\u12g4"}"#,
    r#"{"name":"\u12"}"#,
    "{\"name\":\"a\nb\"}",
    "{\"x\":\"\t\"}",
    "{\"x\":\"\0\"}",
    "/* a */ {}",
    "{} // a",
    "\u{feff}{}",
    "\u{a0}{}",
    "{}\0",
];

#[test]
fn anything_else_is_no_json_body() {
    let server = Server::start();
    let refused = |body: &[u8]| {
        for method in ["POST", "PUT"] {
            let target =
                if method == "POST" { "/products" } else { "/products/1" };
            let reply = server.send(method, target, &[], body);
            reply.assert_failure(400, "invalid JSON body");
        }
    };
    for body in NOT_A_PRODUCT {
        refused(body.as_bytes());
    }
    refused(b"{\"name\":\"\xff\"}");
    refused(b"{\"x\":\"\xff\"}");
    refused(b"{\"name\":\"\xed\xa0\x80\"}");
    refused(b"{\"name\":\"\xc0\x80\"}");
    refused(b"\xff\xfe{\0}\0");
    refused(b"\xef\xbb\xbf{}");
    refused("[".repeat(100_000).as_bytes());
    refused("{\"a\":".repeat(100_000).as_bytes());
    server.ask("GET", "/products").assert_json(200, "[]");
}
