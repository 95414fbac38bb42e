//! C++.

use crate::{Case, run};

fn cpp(source: &str) -> Case {
    Case::new("cpp", &[("main.cpp", source)])
}

#[test]
fn hello() {
    run(&cpp("#include <iostream>\n\
              int main() { std::cout << \"Hello\\n\"; }"))
    .prints("Hello\n");
}

#[test]
fn is_of_this_decade() {
    run(&cpp("#include <print>\n#include <ranges>\n#include <vector>\n\
              int main() {\n    for (auto n : std::views::iota(1, 4))\n        \
              std::println(\"{}\", n * n);\n}"))
    .prints("1\n4\n9\n");
}

#[test]
fn reads_stdin() {
    run(&cpp("#include <iostream>\n#include <string>\nint main() {\n    \
              std::string line;\n    while (std::getline(std::cin, line))\n        \
              std::cout << '[' << line << \"]\\n\";\n}")
        .stdin("a\nb c\n"))
    .prints("[a]\n[b c]\n");
}

#[test]
fn several_files_and_every_suffix() {
    run(&Case::new(
        "cpp",
        &[
            (
                "src/main.cpp",
                "#include \"a.h\"\n#include <iostream>\n\
                 int main() { std::cout << a() + b() + c() << '\\n'; }",
            ),
            ("src/a.h", "int a();\nint b();\nint c();\n"),
            ("src/a.cc", "#include \"a.h\"\nint a() { return 1; }\n"),
            ("lib/b.cxx", "int b() { return 20; }\n"),
            ("lib/c.c++", "int c() { return 300; }\n"),
        ],
    ))
    .prints("321\n");
}

#[test]
fn threads_work() {
    run(&cpp("#include <atomic>\n#include <iostream>\n#include <thread>\n\
              int main() {\n    std::atomic<int> n;\n    \
              std::thread a([&] { n += 1; }), b([&] { n += 2; });\n    \
              a.join();\n    b.join();\n    std::cout << n << '\\n';\n}"))
    .prints("3\n");
}

#[test]
fn an_uncaught_exception_says_what() {
    run(&cpp("#include <iostream>\n#include <stdexcept>\nint main() {\n    \
              std::cout << \"before\" << std::endl;\n    \
              throw std::runtime_error(\"broken\");\n}"))
    .stdout("before\n")
    .stderr_has(&["what():  broken"])
    .stderr_ends("Aborted")
    .ends("stage=run; signal=SIGABRT");
}

#[test]
fn compile_errors_name_the_place() {
    run(&cpp("int main() {\n    int x = \"text\";\n}\n"))
        .stderr_has(&["main.cpp:2:13: error: invalid conversion"])
        .ends("stage=compile; code=1");
}

#[test]
fn two_mains_are_told_in_a_sentence() {
    let main = "int main() {}\n";
    let answer = run(&Case::new("cpp", &[("one.cpp", main), ("two.cc", main)]));
    answer.stderr_has(&["one.cpp", "two.cc"]).ends("stage=compile; code=1");
    assert_eq!(answer.stderr.lines().count(), 1, "{answer:?}");
}

#[test]
fn a_template_bomb_is_bounded() {
    let answer = run(&cpp(
        "template <int N> struct F { static const unsigned long v = \
         F<N - 1>::v + F<N - 2>::v; F<N * 3> *p; };\n\
         template <int N> void g() { g<N + 1>(); g<N * 2 + 1>(); }\n\
         int main() { g<0>(); }",
    ));
    assert!(answer.exit.starts_with("stage=compile"), "{answer:?}");
}

#[test]
fn what_was_printed_survives_the_end() {
    run(&cpp("#include <iostream>\nint main() {\n    \
              std::cout << \"one\\ntwo\\n\";\n    for (volatile int i = 0;;) i++;\n}"))
    .stdout("one\ntwo\n")
    .ends("stage=run; limit=time");
}

#[test]
fn an_included_source_is_not_compiled_again() {
    run(&Case::new(
        "cpp",
        &[
            (
                "main.cpp",
                "#include \"util.cpp\"\n#include <iostream>\n\
                 int main() { std::cout << twice(4) << '\\n'; }",
            ),
            ("util.cpp", "int twice(int a) { return 2 * a; }\n"),
        ],
    ))
    .prints("8\n");
}

#[test]
fn memory_and_recursion_end_as_they_should() {
    run(&cpp(
        "#include <vector>\nint main() {\n    std::vector<long> v;\n    \
              for (;;) v.push_back(1);\n}",
    ))
    .stderr("Memory limit exceeded: 512 MiB\n");
    run(&cpp(
        "int f(int n) { return 1 + f(n + 1); }\nint main() { return f(0); }",
    ))
    .stderr("Segmentation fault\n")
    .ends("stage=run; signal=SIGSEGV");
    run(&cpp("int main() { return 9; }")).ends("stage=run; code=9");
}
