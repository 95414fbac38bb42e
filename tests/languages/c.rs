//! C.

use crate::{Case, run};

fn c(source: &str) -> Case {
    Case::new("c", &[("main.c", source)])
}

#[test]
fn hello() {
    run(&c("#include <stdio.h>\nint main(void) { puts(\"Hello\"); }"))
        .prints("Hello\n");
}

#[test]
fn reads_stdin_and_links_the_maths_library() {
    let program = "#include <math.h>\n#include <stdio.h>\n\
        int main(void) { double x; while (scanf(\"%lf\", &x) == 1) \
        printf(\"%.3f\\n\", sqrt(x)); }";
    run(&c(program).stdin("2 9\n16")).prints("1.414\n3.000\n4.000\n");
}

#[test]
fn several_files_in_folders() {
    run(&Case::new(
        "c",
        &[
            (
                "main.c",
                "#include \"lib/add.h\"\n#include <stdio.h>\n\
                 int main(void) { printf(\"%d\\n\", add(2, 3)); }",
            ),
            ("lib/add.h", "int add(int a, int b);\n"),
            (
                "lib/add.c",
                "#include \"add.h\"\nint add(int a, int b) { return a + b; }\n",
            ),
        ],
    ))
    .prints("5\n");
}

#[test]
fn an_included_source_is_not_compiled_again() {
    run(&Case::new(
        "c",
        &[
            (
                "main.c",
                "#include <stdio.h>\n#include \"util.c\"\n\
                 int main(void) { printf(\"%d\\n\", twice(4)); }",
            ),
            ("util.c", "int twice(int a) { return 2 * a; }\n"),
        ],
    ))
    .prints("8\n");
}

#[test]
fn two_mains_are_told_in_a_sentence() {
    let main = "int main(void) { return 0; }\n";
    let answer = run(&Case::new("c", &[("main.c", main), ("b/other.c", main)]));
    answer.stderr_has(&["main.c", "b/other.c"]).ends("stage=compile; code=1");
    assert_eq!(answer.stderr.lines().count(), 1, "{answer:?}");
}

#[test]
fn compile_errors_name_the_place() {
    run(&c("int main(void) {\n    return x;\n}\n"))
        .stdout("")
        .stderr_has(&["main.c:2:12: error: ‘x’ undeclared"])
        .ends("stage=compile; code=1");
    run(&c("int missing(void);\nint main(void) { return missing(); }"))
        .stderr_has(&["undefined reference to `missing'", "main.c"])
        .ends("stage=compile; code=1");
}

#[test]
fn warnings_stay_out() {
    run(&c("int main(void) { int x = \"a\" == \"b\"; printf(\"hi\\n\"); }"))
        .stderr_has(&["error"]);
    run(&c(
        "#include <stdio.h>\n#warning look\nint main(void) { puts(\"a\"); }",
    ))
    .prints("a\n");
}

#[test]
fn crashes_are_named() {
    let check = |body: &str, words: &str, signal: &str| {
        let source = format!(
            "#include <stdio.h>\n#include <stdlib.h>\n\
             int zero;\nint main(void) {{ puts(\"before\"); {body} }}"
        );
        run(&c(&source))
            .stdout("before\n")
            .stderr_ends(words)
            .ends(&format!("stage=run; signal={signal}"));
    };
    check("*(volatile int *)8 = 1;", "Segmentation fault", "SIGSEGV");
    check("abort();", "Aborted", "SIGABRT");
    check("return 10 / zero;", "Floating point exception", "SIGFPE");
}

#[test]
fn failed_assertions_name_the_submitted_file() {
    run(&c("#include <assert.h>\nint main(void) { assert(1 == 2); }"))
        .stderr_has(&["main.c:2: main: Assertion `1 == 2' failed."])
        .stderr_ends("Aborted");
}

#[test]
fn exit_codes() {
    run(&c("int main(void) { return 42; }"))
        .stderr("")
        .ends("stage=run; code=42");
}

#[test]
fn what_was_printed_survives_the_end() {
    run(&c(
        "#include <stdio.h>\nint main(void) {\n    printf(\"one\\n\");\n    \
            printf(\"two\\n\");\n    for (;;);\n}",
    ))
    .stdout("one\ntwo\n")
    .ends("stage=run; limit=time");
}

#[test]
fn endless_recursion_is_a_segmentation_fault() {
    run(&c("int f(int n) { return n + f(n + 1); }\n\
            int main(void) { return f(1); }"))
    .stderr("Segmentation fault\n")
    .ends("stage=run; signal=SIGSEGV");
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
