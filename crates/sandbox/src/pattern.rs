//! Patterns of paths: `*` and `?` within a segment, `**` for whole segments.

/// Returns whether `path` matches `pattern`. Both have `/` between their
/// segments.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    // Which numbers of segments the pattern so far can match. Trying each way
    // one after the other would take exponential time.
    let mut ends = vec![false; segments.len() + 1];
    ends[0] = true;
    for part in pattern.split('/') {
        let mut next = vec![false; segments.len() + 1];
        for (end, _) in ends.iter().enumerate().filter(|&(_, &is)| is) {
            if part == "**" {
                next[end..].fill(true);
                break;
            }
            let segment = segments.get(end);
            if segment.is_some_and(|segment| matches_segment(part, segment)) {
                next[end + 1] = true;
            }
        }
        ends = next;
    }
    ends[segments.len()]
}

fn matches_segment(pattern: &str, segment: &str) -> bool {
    let text: Vec<char> = segment.chars().collect();
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for character in pattern.chars() {
        if character == '*' {
            let first = ends.iter().position(|&is| is).unwrap_or(ends.len());
            ends[first..].fill(true);
            continue;
        }
        // From the last, so that each end moves on by one character.
        for end in (0..text.len()).rev() {
            let is_one = character == '?' || character == text[end];
            ends[end + 1] = ends[end] && is_one;
        }
        ends[0] = false;
    }
    ends[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        };
        check("a.png", "a.png", true);
        check("a.png", "b/a.png", false);
        check("a.png", "a.pngx", false);
        check("*.png", "a.png", true);
        check("*.png", ".png", true);
        check("*.png", "b/a.png", false);
        check("*", "b/a.png", false);
        check("?.p*g", "ü.png", true);
        check("?.png", ".png", false);
        check("a*b*c", "aXXbYYc", true);
        check("a*b*c", "aXXcYYb", false);
        check("out/**", "out/a", true);
        check("out/**", "out/a/b", true);
        check("out/**", "outer/a", false);
        check("**/*.csv", "a.csv", true);
        check("**/*.csv", "a/b/c.csv", true);
        check("**/b/*", "a/b/c", true);
        check("a/**/z", "a/z", true);
        check("a/**/z", "a/b/c/z", true);
        check("", "a", false);
        check("a/", "a", false);
        check(&"*a".repeat(120), &"a".repeat(119), false);
        check(&"**/".repeat(80), &"a/".repeat(500), true);
    }
}
