//! Compile steps, and the compile artifacts that are kept. The output of C and C++
//! programs is in tests/programs.

use crate::Case;
use crate::case::Answer;
use crate::service::{compile, start};

/// Headers whose macros join words; the last one's not with extensions of GNU.
const HEADERS: &str = "#include <linux/const.h>
#include <link.h>
#include <stdio.h>
#undef _GNU_SOURCE
#undef __USE_GNU
#include <regex.h>
";

#[test]
#[ignore = "needs the images: make test"]
fn an_object_file_of_any_make_is_linked_or_refused() {
    // A section that says it is a symbol table, and names far outside of it.
    let odd = "__asm__(\".section .odd,\\\"\\\",@0x2\\n\"\n\
               \".long 0xfffffff0\\n.byte 0x10,0\\n.short 1\\n.quad 0,0\\n.text\");";
    let files = [("main.c", "int main(void) { return 3; }"), ("odd.c", odd)];
    let server = start(&["--languages=c"]);
    let answer = compile(&server, &Case::new("c", &files).request());
    assert!(!answer.exit.contains("signal"), "{answer:?}");
}

#[test]
#[ignore = "needs the images: make test"]
fn what_was_compiled_is_kept_unless_the_time_is_in_it() {
    let server = start(&["--languages=c,cpp"]);
    let run = |case: &Case| compile(&server, &case.request());
    let check_in = |language: &'static str, lines: &str, is_kept: bool| {
        let source = format!("{HEADERS}int main() {{\n{lines}\n}}\n");
        let case = Case::new(language, &[("main.c", &source)]);
        let [first, second] = [run(&case), run(&case)];
        let compiled = |answer: &Answer| answer.timing.contains("compile");
        assert!(compiled(&first), "{first:?}");
        assert_eq!(first.exit, "stage=run; code=0", "{lines}: {first:?}");
        let is_again = compiled(&second);
        assert_eq!(is_again, !is_kept, "{language}, {lines}: {second:?}");
        if is_kept {
            assert_eq!(second.stdout, first.stdout);
        }
    };
    // Each language has a list of its own.
    let check = |lines: &str, is_kept: bool| {
        for language in ["c", "cpp"] {
            check_in(language, lines, is_kept);
        }
    };
    check("puts(\"one\");", true);
    check("puts(__TIME__);", false);
    check("puts(__DATE__);", false);
    check("puts(__TIMESTAMP__);", false);
    check("#define JOIN(a, b) a##b\nputs(JOIN(__TI, ME__));", false);
    check("%:define JOIN(a, b) a%:%:b\nputs(JOIN(__TI, ME__));", false);
    check("puts(__CONCAT(__TI, ME__));", false);
    check("puts(_AC(__TI, ME__));", false);
    check("puts(_ElfW(__TI, ME, _));", false);
    check("puts(__REPB_PREFIX(TIME__));", false);
    // GCC joins lines if nothing but these follows the backslash.
    for blanks in ["", "\r", " ", "\t", "\x0b", "\x0c", "\0", " \t \r"] {
        check(&format!("puts(__TI\\{blanks}\nME__);"), false);
    }
    // A failure is not kept.
    let broken = Case::new("c", &[("main.c", "int main(void) { return x; }")]);
    let [first, second] = [run(&broken), run(&broken)];
    assert_eq!(first.stderr, second.stderr);
    assert!(second.exit.starts_with("stage=compile"), "{second:?}");
}
