//! The progress of several builds. On a terminal each has one line, which is
//! updated in place; otherwise each step is printed as a line.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandpiper_images::ImageProgress;

/// The width of a terminal that does not report its own.
const WIDTH: usize = 80;

/// The running builds, shown on standard error.
pub(super) struct ProgressDisplay {
    on_terminal: bool,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    /// The name of each image, and its progress.
    lines: Vec<(String, String)>,
    /// The number of lines above the cursor that the next output replaces.
    drawn: usize,
}

impl ProgressDisplay {
    pub(super) fn new() -> Self {
        let on_terminal = io::stderr().is_terminal();
        Self { on_terminal, shown: Mutex::default() }
    }

    /// Shows the progress of `image`.
    pub(super) fn show(&self, image: &str, progress: &ImageProgress) {
        let text = if self.on_terminal {
            progress.to_string()
        } else {
            // A line for every percent would be noise.
            let progress = progress.clone();
            ImageProgress { done: 0, total: 0, ..progress }.to_string()
        };
        let mut shown = self.shown();
        let line = shown.lines.iter_mut().find(|(name, _)| name == image);
        match line {
            Some((_, old)) if *old == text => return,
            Some((_, old)) => old.clone_from(&text),
            None => shown.lines.push((image.to_owned(), text.clone())),
        }
        let above = format!("{image}: {text}\n");
        self.draw(&mut shown, if self.on_terminal { "" } else { &above });
    }

    /// Shows the result of `image`.
    pub(super) fn end(&self, image: &str, text: &str) {
        let mut shown = self.shown();
        shown.lines.retain(|(name, _)| name != image);
        self.draw(&mut shown, &format!("{image}: {text}\n"));
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints `above`, which stays, and below it the running builds.
    fn draw(&self, shown: &mut Shown, above: &str) {
        let mut text = String::new();
        if self.on_terminal {
            text = shown.redrawn(above, width());
        } else {
            text.push_str(above);
        }
        // A build goes on even if its progress cannot be shown.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

impl Shown {
    fn redrawn(&mut self, above: &str, width: usize) -> String {
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\x1b[{}A", self.drawn);
        }
        let _ = write!(text, "\r\x1b[J{above}");
        for (image, line) in &self.lines {
            // A line that wraps would count as two.
            let line = format!("{image}: {line}");
            text.extend(line.chars().take(width.saturating_sub(1)));
            text.push('\n');
        }
        self.drawn = self.lines.len();
        text
    }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { WIDTH } else { columns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_change_in_place_and_results_stay() {
        let mut shown = Shown::default();
        shown.lines.push(("java".to_owned(), "installing".to_owned()));
        assert_eq!(shown.redrawn("", 80), "\r\x1b[Jjava: installing\n");
        shown.lines.push(("php".to_owned(), "finishing".to_owned()));
        assert_eq!(
            shown.redrawn("", 10),
            "\x1b[1A\r\x1b[Jjava: ins\nphp: fini\n"
        );
        shown.lines.remove(0);
        assert_eq!(
            shown.redrawn("java: ready\n", 80),
            "\x1b[2A\r\x1b[Jjava: ready\nphp: finishing\n"
        );
    }
}
