//! The line where a program in C or C++ crashed, by `/api/run`.

use serde_json::{Value, json};

use crate::Case;
use crate::results::{request, result, send};
use crate::service::{self, Server, compile};

/// A program of these files, the first of which is the entry.
type Files<'a> = &'a [(&'a str, &'a str)];

/// Runs the program, which ends by this signal at this place.
fn check(
    server: &Server,
    language: &'static str,
    files: Files<'_>,
    signal: &str,
    place: Option<(&str, u32)>,
) {
    let asked = Case::new(language, files).request();
    let answer = result(server, &asked);
    let run = &answer["run"];
    assert_eq!(run["exit"], json!({"signal": signal}), "{answer}");
    let place = place.map(|(path, line)| json!({"path": path, "line": line}));
    assert_eq!(run["crash"], json!(place), "{asked} {answer}");
}

#[test]
#[ignore = "needs the images: make test"]
fn a_crash_has_its_line() {
    let server = service::start(&["--languages=c,cpp"]);
    crashes_of_c(&server);
    crashes_of_cpp(&server);
    programs_without_a_line(&server);
    the_other_answer_is_as_before(&server);
}

fn crashes_of_c(server: &Server) {
    let check = |body: &str, signal, line| {
        let source = format!(
            "#include <assert.h>\n#include <signal.h>\n#include <stdlib.h>\n\
             #include <string.h>\n{body}"
        );
        let place = Some(("main.c", line));
        check(server, "c", &[("main.c", &source)], signal, place);
    };
    let main = |statements: &str| {
        format!("int main(int n, char **a) {{\n{statements}\nreturn n;\n}}\n")
    };
    check(&main("int *p = 0;\n*p = n;"), "SIGSEGV", 7);
    check(&main("n = 5 / (n - 1);"), "SIGFPE", 6);
    check(&main("abort();"), "SIGABRT", 6);
    check(&main("assert(n == 2);"), "SIGABRT", 6);
    check(&main("__builtin_trap();"), "SIGILL", 6);
    check(&main("raise(SIGBUS);"), "SIGBUS", 6);
    // In a function of a library.
    check(&main("n = (int)strlen(a[n]);"), "SIGSEGV", 6);
    check(&main("free(a);"), "SIGABRT", 6);
    check(
        &main("char *volatile p = malloc(9);\nfree(p);\nfree(p);"),
        "SIGABRT",
        8,
    );
    // A function that is none.
    check(&main("void (*f)(void) = 0;\nf();"), "SIGSEGV", 7);
    let recursion = "int f(int n) {\nreturn n + f(n + 1);\n}\n";
    check(&(recursion.to_owned() + &main("n = f(n);")), "SIGSEGV", 6);
    // The handler of the program ends it.
    let own = "void own(int n) {\n(void)n;\nabort();\n}\n".to_owned();
    let body = own + &main("signal(SIGSEGV, own);\n*(int *)0 = n;");
    check(&body, "SIGABRT", 7);
}

fn crashes_of_cpp(server: &Server) {
    let source = "#include <algorithm>\n#include <cstdlib>\n#include <vector>\n\
                  int main() {\nstd::vector<int> all{1, 2};\nSTATEMENT\n}\n";
    let check = |statement: &str, signal| {
        let source = source.replace("STATEMENT", statement);
        let place = Some(("main.cpp", 6));
        check(server, "cpp", &[("main.cpp", &source)], signal, place);
    };
    check("return all.at(7);", "SIGABRT");
    check("throw 7;", "SIGABRT");
    check("int *p = nullptr; *p = all[0];", "SIGSEGV");
    check("std::fill(all.begin(), all.begin() + (1L << 40), 7);", "SIGSEGV");
    check("delete &all;", "SIGABRT");
    check("std::abort();", "SIGABRT");
    // It is compiled in another way.
    let more = json!({"warnings": true});
    let source = source.replace("STATEMENT", "return all.at(3);");
    let answer = result(server, &request("cpp", "a.cpp", &source, &more));
    let place = json!({"path": "a.cpp", "line": 6});
    assert_eq!(answer["run"]["crash"], place, "{answer}");
}

fn programs_without_a_line(server: &Server) {
    let main = "#include \"in/a b.h\"\nint main(void) {\nreturn at(0);\n}\n";
    // In another file, and in one that is included.
    let declared = "int at(long i);\n";
    let other = "#include \"a b.h\"\nint at(long i) {\n*(int *)i = 7;\n\
                 return 1;\n}\n";
    let files = [("main.c", main), ("in/a b.h", declared), ("in/b.c", other)];
    check(server, "c", &files, "SIGSEGV", Some(("in/b.c", 3)));
    let inline = "static int at(long i) {\n\n*(int *)i = 7;\nreturn 1;\n}\n";
    let files = [("main.c", main), ("in/a b.h", inline)];
    check(server, "c", &files, "SIGSEGV", Some(("in/a b.h", 3)));
    // A thread that the program's files have no part in.
    let elsewhere = "#include <pthread.h>\n#include <stdlib.h>\nint main(void) {\n\
                     pthread_t t;\n\
                     pthread_create(&t, 0, (void *(*)(void *))abort, 0);\n\
                     pthread_join(t, 0);\n}\n";
    check(server, "c", &[("main.c", elsewhere)], "SIGABRT", None);
    let killed = "#include <signal.h>\nint main(void) { raise(SIGKILL); }";
    check(server, "c", &[("main.c", killed)], "SIGKILL", None);
    // A child of the program crashes, and the program does not.
    let child = "#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
                 int main(void) {\nint status;\nif (fork() == 0) abort();\n\
                 wait(&status);\nreturn WTERMSIG(status);\n}\n";
    let asked = Case::new("c", &[("main.c", child)]).request();
    let answer = result(server, &asked);
    assert_eq!(answer["run"]["exit"], json!({"code": 6}), "{answer}");
    assert_eq!(answer["run"]["crash"], Value::Null, "{answer}");
}

/// A program that leaves more names than can be compared in time is an outcome: it
/// is no error in the log that nothing can be asked of its box any more.
#[test]
#[ignore = "needs the images: make test"]
fn a_box_that_was_ended_is_not_asked() {
    let server = service::start(&["--languages=c"]);
    let source = "#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\n\
                  int main(void) {\nchar name[256];\n\
                  for (int i = 0; i < 2000; i++) {\n\
                  sprintf(name, \"%0250d\", i);\n\
                  open(name, O_CREAT | O_CLOEXEC, 0600);\n}\n\
                  raise(SIGSEGV);\n}\n";
    let pattern = format!("**/{}!", "*?".repeat(120));
    let more = json!({"artifacts": {"paths": vec![pattern; 16]}});
    let answer = result(&server, &request("c", "main.c", source, &more));
    assert_eq!(answer["run"]["exit"], json!({"signal": "SIGSEGV"}), "{answer}");
    let skipped = json!([{"path": ".", "reason": "unreadable"}]);
    assert_eq!(answer["skipped"], skipped, "{answer}");
    assert_eq!(answer["run"]["crash"], Value::Null, "{answer}");
    let log = server.into_log();
    assert!(!log.contains(" ERROR "), "{log}");
}

/// Of what the program writes there, addresses in a file are taken, and no more
/// of them than a crash has.
#[test]
#[ignore = "needs the images: make test"]
fn what_is_read_is_bounded() {
    let server = service::start(&["--languages=c"]);
    let program = |statements: &str| {
        format!(
            "#include <signal.h>\n#include <stdio.h>\n#include <sys/stat.h>\n\
             #include <unistd.h>\nextern const char __ehdr_start[];\n\
             static void own(FILE *file) {{\n\
             fprintf(file, \"0x%lx\\n\", (long)own - (long)__ehdr_start);\n}}\n\
             int main(void) {{\n{statements}\nraise(SIGKILL);\n}}\n"
        )
    };
    let write = |statements: &str| {
        let open = "FILE *f = fopen(\"/tmp/.crash\", \"w\");";
        program(&format!("{open}\n{statements}\nfclose(f);"))
    };
    let found = |source: &str, is_found: bool| {
        let place = is_found.then_some(("main.c", 6));
        check(&server, "c", &[("main.c", source)], "SIGKILL", place);
    };
    found(&write("own(f);"), true);
    let after = |others: u32| {
        let other = "fputs(\"0x0\\n\", f);";
        write(&format!("for (int i = 0; i < {others}; i++) {other}\nown(f);"))
    };
    found(&after(255), true);
    found(&after(256), false);
    // Neither a pipe, which nobody writes to, nor a link.
    found(&program("mkfifo(\"/tmp/.crash\", 0600);"), false);
    let link = "symlink(\"/tmp/other\", \"/tmp/.crash\");\nraise(SIGKILL);\n}";
    let linked = write("own(f);").replace("/.crash", "/other");
    found(&linked.replace("raise(SIGKILL);\n}", link), false);
    // A large file, and many places behind its only line.
    let large = "a".repeat(1_900_000);
    let many = write("for (int i = 0; i < 7000; i++) own(f);");
    let many = many.replace("static", "#line 2 \"/box/a\"\nstatic");
    let files = [("main.c", many.as_str()), ("a", &large)];
    check(&server, "c", &files, "SIGKILL", None);
}

/// The texts of `/api/compile` have nothing of it. An event stream has it, of a
/// program that was kept.
fn the_other_answer_is_as_before(server: &Server) {
    let source = "#include <stdlib.h>\nint main(void) {\nabort();\n}\n";
    let asked = Case::new("c", &[("main.c", source)]).request();
    let beside = compile(server, &asked);
    assert_eq!(beside.stdout, "");
    assert_eq!(beside.stderr, "Aborted\n");
    let events: Vec<_> = server.stream(&[], &asked).unwrap().collect();
    let end = &events.last().unwrap().data;
    assert_eq!(end["crash"], json!({"path": "main.c", "line": 3}), "{end}");
    let fine = Case::new("c", &[("main.c", "int main(void) { return 3; }")]);
    let answer = send(server, &fine.request()).json();
    assert_eq!(answer["run"]["crash"], Value::Null);
}
