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
    let compiled = |answer: &Answer| answer.timing.contains("compile");
    let case = |language: &'static str, lines: &str| {
        let source = format!("{HEADERS}int main() {{\n{lines}\n}}\n");
        Case::new(language, &[("main.c", &source)])
    };
    for language in ["c", "cpp"] {
        let time = case(language, "puts(__TIME__);");
        assert!([run(&time), run(&time)].iter().all(compiled), "{language}");
        let other = case(language, "puts(\"one\");");
        let [first, second] = [run(&other), run(&other)];
        assert!(compiled(&first) && !compiled(&second), "{language}");
        second.prints(&first.stdout);
    }
    // A failure is not kept.
    let broken = Case::new("c", &[("main.c", "int main(void) { return x; }")]);
    let [first, second] = [run(&broken), run(&broken)];
    assert_eq!(first.stderr, second.stderr);
    assert!(second.exit.starts_with("stage=compile"), "{second:?}");

    // Each spells the time in a way that no list of words would have.
    let check = |lines: &str| {
        for language in ["c", "cpp"] {
            let case = case(language, lines);
            let answers = [run(&case), run(&case)];
            for answer in &answers {
                answer.prints("00:00:00\n");
            }
            let was_compiled = answers.each_ref().map(compiled);
            assert_eq!(was_compiled, [true, false], "{language}, {lines}");
        }
    };
    check("#define JOIN(a, b) a##b\nputs(JOIN(__TI, ME__));");
    check("%:define JOIN(a, b) a%:%:b\nputs(JOIN(__TI, ME__));");
    check("puts(__CONCAT(__TI, ME__));");
    check("puts(_AC(__TI, ME__));");
    check("puts(_ElfW(__TI, ME, _));");
    check("puts(__REPB_PREFIX(TIME__));");
    // GCC joins lines if nothing but these follows the backslash.
    for blanks in ["", "\r", " ", "\t", "\x0b", "\x0c", "\0", " \t \r"] {
        check(&format!("puts(__TI\\{blanks}\nME__);"));
    }
    // In C++ this header is a precompiled one.
    let joined = "#include <iostream>\n#define JOIN(a, b) a##b\n\
                  int main() { std::cout << JOIN(__TIMEST, AMP__); }\n";
    let stamped = run(&Case::new("cpp", &[("main.cpp", joined)]));
    stamped.prints("Thu Jan  1 00:00:00 1970");
}
