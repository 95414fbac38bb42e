//! The path of a request, as the routes see it.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Returns the path percent-decoded, once. An invalid escape stays as it is, so
/// that no route matches it. Bytes, since an escape can be anything.
pub(crate) fn decoded(path: &str) -> Cow<'_, [u8]> {
    percent_decode_str(path).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &[u8]) {
        assert_eq!(&*decoded(path), expected, "{path}");
    }

    #[test]
    fn is_decoded_once() {
        check("", b"");
        check("*", b"*");
        check("/products", b"/products");
        check("/%70roducts", b"/products");
        check("/products/%31", b"/products/1");
        check("/products/1%2F2", b"/products/1/2");
        check("/products/%2531", b"/products/%31");
        check("/products/%ff", b"/products/\xff");
        check("/products/%zz", b"/products/%zz");
        check("/products/1%", b"/products/1%");
        check("/products/+1", b"/products/+1");
    }
}
