//! What a compiler is made to do by hostile sources. What C and C++ programs
//! print stands in tests/programs.

use crate::case::Answer;
use crate::{Case, run};

fn c(source: &str) -> Case {
    Case::new("c", &[("main.c", source)])
}

#[test]
fn compiling_is_bounded() {
    // The preprocessor doubles its input 40 times.
    let mut bomb = "#define A0 x x\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        bomb += &format!("#define A{level} A{below} A{below}\n");
    }
    bomb += "int main(void) { A39 }";
    let answer = run(&c(&bomb));
    assert!(answer.exit.starts_with("stage=compile; limit="), "{answer:?}");
    assert!(answer.stderr.contains("Compile "), "{answer:?}");
}

#[test]
fn a_template_bomb_is_bounded() {
    let bomb = "template <int N> struct F { static const unsigned long v = \
                F<N - 1>::v + F<N - 2>::v; F<N * 3> *p; };\n\
                template <int N> void g() { g<N + 1>(); g<N * 2 + 1>(); }\n\
                int main() { g<0>(); }";
    let answer = run(&Case::new("cpp", &[("main.cpp", bomb)]));
    assert!(answer.exit.starts_with("stage=compile"), "{answer:?}");
}

#[test]
fn a_compiler_cannot_read_the_host() {
    run(&c("#include \"/etc/shadow\"\nint main(void) {}"))
        .stdout("")
        .ends("stage=compile; code=1");
    run(&c("__asm__(\".incbin \\\"/etc/hostname\\\"\");\nint main(void) {}"))
        .ends("stage=compile; code=1");
}

#[test]
fn an_object_file_of_any_make_is_linked_or_refused() {
    // A section that says it is a symbol table, and names far outside of it.
    let odd = "__asm__(\".section .odd,\\\"\\\",@0x2\\n\"\n\
               \".long 0xfffffff0\\n.byte 0x10,0\\n.short 1\\n.quad 0,0\\n.text\");";
    let answer = run(&Case::new(
        "c",
        &[("main.c", "int main(void) { return 3; }"), ("odd.c", odd)],
    ));
    assert!(!answer.exit.contains("signal"), "{answer:?}");
}

#[test]
fn what_was_compiled_is_kept_unless_the_time_is_in_it() {
    let check = |language: &'static str, line: &str, is_kept: bool| {
        let source = format!("#include <stdio.h>\nint main() {{ {line} }}\n");
        let case = Case::new(language, &[("main.c", &source)]);
        let [first, second] = [run(&case), run(&case)];
        let compiled = |answer: &Answer| answer.timing.contains("compile");
        assert!(compiled(&first), "{first:?}");
        assert_eq!(compiled(&second), !is_kept, "{line}: {second:?}");
        if is_kept {
            assert_eq!(second.stdout, first.stdout);
        }
    };
    check("c", "puts(\"one\");", true);
    check("cpp", "puts(\"one\");", true);
    check("c", "puts(__TIME__);", false);
    check("cpp", "puts(__DATE__);", false);
    check("c", "\n#define JOIN(a, b) a##b\nputs(JOIN(__TI, ME__));", false);
    check("c", "puts(__TI\\\nME__);", false);
    // A failure is no artifact.
    let broken = Case::new("c", &[("main.c", "int main(void) { return x; }")]);
    let [first, second] = [run(&broken), run(&broken)];
    assert_eq!(first.stderr, second.stderr);
    assert!(second.exit.starts_with("stage=compile"), "{second:?}");
}
