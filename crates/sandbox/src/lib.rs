//! One untrusted command in a Linux box.
