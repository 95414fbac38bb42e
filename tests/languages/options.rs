//! The options of a request of `/api/run`, in the languages that can give it.

use serde_json::{Value, json};

use crate::results::{request, result, send};
use crate::service::Server;

pub(crate) fn warnings_are_returned(server: &Server) {
    let check = |language, file: &str, source: &str, warning: &str| {
        let shown = |warnings: bool| {
            let more = json!({"warnings": warnings});
            let answer =
                result(server, &request(language, file, source, &more));
            assert_eq!(answer["run"]["stdout"], "44", "{answer}");
            assert_eq!(answer["run"]["stderr"], "", "{answer}");
            answer["compile"].clone()
        };
        // Nobody sees those of others, who asked for the same program.
        for _ in 0..2 {
            assert_eq!(shown(false), Value::Null);
            let compile = shown(true);
            assert_eq!(compile["exit"], json!({"code": 0}));
            let stderr = compile["stderr"].as_str().unwrap();
            assert!(stderr.contains(warning), "{stderr}");
        }
    };
    let c = "#include <stdio.h>\nint main(void) { int no; printf(\"44\"); }";
    check("c", "main.c", c, "main.c:2:22: warning: unused variable");
    let cpp = c.replace("stdio.h", "cstdio");
    check("cpp", "main.cpp", &cpp, "main.cpp:2:22: warning: unused variable");
    let java = "import java.util.*;\nclass Main { static List of(List raw) {\n\
                raw.add(44); return raw; } public static void main(String[] no)\n\
                { System.out.print(of(new ArrayList()).get(0)); } }";
    check("java", "Main.java", java, "Main.java:3: warning: [unchecked]");
    let csharp = "string no = null;\nSystem.Console.Write(44);";
    let both = "main.cs(1,8): warning CS0219: The variable 'no' is assigned but \
                its value is never used\nmain.cs(1,13): warning CS8600";
    check("csharp", "main.cs", csharp, both);
}

pub(crate) fn programs_get_arguments(server: &Server) {
    let args =
        ["", "ñ 😀", "-x", "--help", "a  b", "\"'\\$(id)", "{entry}", "*"];
    let printed: String = args.iter().map(|arg| format!("[{arg}]")).collect();
    let check = |language, file, source: &str| {
        let asked = request(language, file, source, &json!({"args": args}));
        let answer = result(server, &asked);
        assert_eq!(answer["run"]["stdout"], printed, "{language}: {answer}");
    };
    check(
        "c",
        "m.c",
        "#include <stdio.h>\nint main(int n, char **a) {\n\
         for (int i = 1; i < n; i++) printf(\"[%s]\", a[i]); }",
    );
    check(
        "cpp",
        "m.cpp",
        "#include <iostream>\nint main(int n, char **a) {\n\
         for (int i = 1; i < n; i++) std::cout << '[' << a[i] << ']'; }",
    );
    check(
        "python",
        "m.py",
        "import sys\nfor a in sys.argv[1:]: print(end=f'[{a}]')",
    );
    check(
        "java",
        "M.java",
        "class M { public static void main(String[] args) {\n\
         for (var a : args) System.out.print(\"[\" + a + \"]\"); } }",
    );
    check(
        "php",
        "m.php",
        "<?php foreach (array_slice($argv, 1) as $a) echo \"[$a]\";",
    );
    check(
        "csharp",
        "m.cs",
        "foreach (var a in args) Console.Write($\"[{a}]\");",
    );
    for language in ["mysql", "mongodb", "web", "react", "vue"] {
        let asked = request(language, "m", "", &json!({"args": ["a"]}));
        let message = format!("language {language} takes no args");
        send(server, &asked).assert_failure(400, &message);
    }
}

pub(crate) fn programs_leave_files(server: &Server) {
    let check = |language, file, source: &str, path: &str, kind: &str| {
        let more = json!({"artifacts": true});
        let answer = result(server, &request(language, file, source, &more));
        let files = answer["artifacts"].as_array().unwrap().iter();
        let files = files.map(|it| json!([it["path"], it["type"]]));
        let expected = json!([[path, kind]]);
        assert_eq!(Value::from_iter(files), expected, "{language}: {answer}");
        assert_eq!(answer["run"]["stderr"], "", "{language}");
    };
    check(
        "c",
        "m.c",
        "#include <stdio.h>\nint main(void) { fputs(\"x,y\", fopen(\"a.csv\", \"w\")); }",
        "a.csv",
        "text/csv",
    );
    check(
        "cpp",
        "m.cpp",
        "#include <fstream>\nint main() { std::ofstream(\"a.txt\") << \"a\"; }",
        "a.txt",
        "text/plain",
    );
    check(
        "java",
        "M.java",
        "import java.awt.image.BufferedImage;\nimport java.io.File;\n\
         class M { public static void main(String[] a) throws Exception {\n\
         var picture = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB);\n\
         javax.imageio.ImageIO.write(picture, \"png\", new File(\"a.png\")); } }",
        "a.png",
        "image/png",
    );
    check(
        "php",
        "m.php",
        "<?php file_put_contents('a.json', '[1]');",
        "a.json",
        "application/json",
    );
    check(
        "csharp",
        "m.cs",
        "System.IO.File.WriteAllText(\"a.md\", \"a\");",
        "a.md",
        "text/markdown",
    );
}
