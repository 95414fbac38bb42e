use std::fmt;

/// A bird, with the span of its wings in metres.
pub struct Bird {
    name: String,
    pub wingspan: f64,
}

impl Bird {
    pub fn new(name: &str, wingspan: f64) -> Self {
        Self { name: name.to_owned(), wingspan }
    }
}

impl fmt::Display for Bird {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:<9} {:.2} m", self.name, self.wingspan)
    }
}
