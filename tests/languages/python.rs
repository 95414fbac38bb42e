//! Python.

use crate::{Case, run};

fn python(source: &str) -> Case {
    Case::new("python", &[("main.py", source)])
}

#[test]
fn hello() {
    run(&python("print('Hello, wörld')")).prints("Hello, wörld\n");
}

#[test]
fn reads_stdin() {
    let program = "name = input()\nprint(f'{name}!', input())";
    run(&python(program).stdin("Ada\n36")).prints("Ada! 36\n");
    let answer = run(&python("input()"));
    answer
        .stderr_has(&["File \"main.py\", line 1, in <module>", "EOFError"])
        .ends("stage=run; code=1");
}

#[test]
fn several_files_in_folders() {
    run(&Case::new(
        "python",
        &[
            ("app/main.py", "from shapes import area\nprint(area.square(3))"),
            ("app/shapes/__init__.py", ""),
            ("app/shapes/area.py", "def square(a):\n    return a * a\n"),
            ("app/data.txt", "unused"),
        ],
    ))
    .prints("9\n");
    run(&Case::new(
        "python",
        &[
            ("main.py", "print(open('data/in put.txt').read())"),
            ("data/in put.txt", "from a file"),
        ],
    ))
    .prints("from a file\n");
}

#[test]
fn traceback_names_submitted_files_only() {
    let answer = run(&Case::new(
        "python",
        &[
            ("main.py", "import pkg.util\n\npkg.util.fail(0)\n"),
            ("pkg/util.py", "def fail(n):\n    return 1 / n\n"),
        ],
    ));
    let frames: Vec<_> = answer
        .stderr
        .lines()
        .filter(|line| line.trim_start().starts_with("File "))
        .collect();
    assert_eq!(
        frames,
        [
            "  File \"main.py\", line 3, in <module>",
            "  File \"pkg/util.py\", line 2, in fail",
        ]
    );
    answer
        .stderr_has(&["    return 1 / n\n"])
        .stderr_ends("ZeroDivisionError: division by zero")
        .ends("stage=run; code=1");
}

#[test]
fn syntax_errors() {
    run(&python("print('a'\n"))
        .stdout("")
        .stderr_has(&["File \"main.py\", line 1", "SyntaxError"])
        .ends("stage=run; code=1");
    run(&Case::new(
        "python",
        &[("main.py", "import broken"), ("broken.py", "def f(:\n")],
    ))
    .stderr_has(&["File \"broken.py\", line 1", "SyntaxError"]);
}

#[test]
fn exit_codes() {
    run(&python("import sys; sys.exit(3)"))
        .stderr("")
        .ends("stage=run; code=3");
    run(&python("import sys; sys.exit('bye')"))
        .stderr("bye\n")
        .ends("stage=run; code=1");
    run(&python("import os; os._exit(7)")).ends("stage=run; code=7");
}

#[test]
fn behaves_as_a_script() {
    run(&python(
        "import sys, os\n\
         print(__name__, sys.argv, os.getcwd())\n\
         print(sys.path[0] == os.getcwd(), __file__.endswith('main.py'))\n\
         print(sorted(os.listdir('.')))",
    ))
    .prints("__main__ ['main.py'] /box\nTrue True\n['main.py']\n");
}

#[test]
fn what_was_printed_survives_the_end() {
    run(&python(
        "import time\nprint('line')\nprint('part', end='')\n\
         print()\ntime.sleep(60)",
    ))
    .stdout("line\npart\n")
    .stderr_ends("Time limit exceeded: 10 s")
    .ends("stage=run; limit=time");
    run(&python("import os\nprint('before')\nos.abort()"))
        .stdout("before\n")
        .stderr_ends("Aborted")
        .ends("stage=run; signal=SIGABRT");
}

#[test]
fn endless_recursion() {
    run(&python("def f():\n    f()\nf()"))
        .stderr_has(&["RecursionError: maximum recursion depth exceeded"])
        .ends("stage=run; code=1");
}

#[test]
fn threads_processes_and_asyncio() {
    run(&python(
        "from multiprocessing import Pool\n\
         def double(x):\n    return 2 * x\n\
         if __name__ == '__main__':\n    \
             with Pool(2) as pool:\n        print(pool.map(double, [1, 2, 3]))",
    ))
    .prints("[2, 4, 6]\n");
    run(&python(
        "import asyncio, sys\n\
         async def main():\n    \
             loop = asyncio.get_running_loop()\n    \
             reader = asyncio.StreamReader()\n    \
             protocol = asyncio.StreamReaderProtocol(reader)\n    \
             await loop.connect_read_pipe(lambda: protocol, sys.stdin)\n    \
             print((await reader.readline()).decode())\n\
         asyncio.run(main())",
    )
    .stdin("through a pipe"))
    .prints("through a pipe\n");
    run(&python(
        "import subprocess, sys\n\
         print(subprocess.run([sys.executable, '-c', 'print(1+1)'],\n    \
             capture_output=True, text=True).stdout)",
    ))
    .prints("2\n\n");
}

#[test]
fn odd_names() {
    run(&Case::new("python", &[("-c.py", "print(__file__[-5:])")]))
        .prints("-c.py\n");
    run(&Case::new("python", &[("a b/ü.py", "print('odd')")])).prints("odd\n");
}
