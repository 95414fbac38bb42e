//! The results of SQL statements as data, which `POST /api/run` returns beside
//! the tables.

use serde_json::{Value, json};

use crate::results::{request, result};
use crate::service::{self, Server, compile};

/// Returns the results of statements, and whether some are missing.
fn results(server: &Server, files: &[(&str, &str)]) -> Value {
    let (path, source) = files[0];
    let mut asked = request("mysql", path, source, &json!({"artifacts": true}));
    for (path, content) in &files[1..] {
        let file = json!({"path": path, "content": content});
        asked["files"].as_array_mut().unwrap().push(file);
    }
    let answer = result(server, &asked);
    let display = &answer["artifacts"][0];
    assert_eq!(answer["artifacts"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(display["path"], "query.results");
    assert_eq!(display["display"], 1);
    assert_eq!(display["type"], "application/vnd.sandpiper.results+json");
    serde_json::from_str(display["content"].as_str().unwrap()).unwrap()
}

/// Returns a set of rows. A column is `name`, or with its kind `name:number`.
fn set(columns: &[&str], rows: &Value) -> Value {
    let columns: Vec<_> = columns
        .iter()
        .map(|column| {
            let (name, kind) =
                column.split_once(':').unwrap_or((column, "text"));
            json!({"name": name, "type": kind})
        })
        .collect();
    let count = rows.as_array().unwrap().len();
    json!({"columns": columns, "rows": rows, "count": count})
}

fn change(statement: &str, affected: u64) -> Value {
    json!({"affected": affected, "statement": statement})
}

#[test]
#[ignore = "needs the images: make test"]
fn statements_have_results() {
    let server = &service::start(&["--languages=mysql", service::COLD]);
    let check = |source: &str, expected: &[Value]| {
        let found = results(server, &[("main.sql", source)]);
        assert_eq!(found["results"], json!(expected), "{source}");
        assert_eq!(found["truncated"], false, "{source}");
    };
    values(&check);
    changes(&check);
    scripts(&check);
    own_statements_do_not_show(&check);
    they_change_no_text(server);
    files(server);
    large_results_are_cut(server);
}

type Check<'a> = dyn Fn(&str, &[Value]) + 'a;

fn values(check: &Check<'_>) {
    let mut source = String::new();
    let mut expected = Vec::new();
    let mut one = |query: &str, columns: &[&str], rows: Value| {
        source.push_str(&format!("{query};\n"));
        expected.push(set(columns, &rows));
    };
    one(
        "SELECT NULL a, 'NULL' b, '' c, ' lead ' d",
        &["a:number", "b", "c", "d"],
        json!([[null, "NULL", "", " lead "]]),
    );
    one("SELECT 1 n, 'a' t WHERE FALSE", &["n:number", "t"], json!([]));
    one(
        "SELECT 18446744073709551615 a, -9223372036854775808 b, 1.50 c, 1e300 d",
        &["a:number", "b:number", "c:number", "d:number"],
        json!([[
            "18446744073709551615",
            "-9223372036854775808",
            "1.50",
            "1e300"
        ]]),
    );
    one(
        "SELECT x'00ff27' a, x'' b, CAST('é' AS BINARY) c, b'101' d, \
         ST_GeomFromText('POINT(0 0)') IS NULL e",
        &["a:binary", "b:binary", "c:binary", "d:binary", "e:number"],
        json!([["0x00FF27", "0x", "0xC3A9", "0x05", "0"]]),
    );
    one(
        "SELECT 'ñ 😀 \\0 \\n\\t \"\\\\' a, 'x' AS `名前 \"`, 1 AS ``",
        &["a", "名前 \"", ":number"],
        json!([["ñ 😀 \u{0} \n\t \"\\", "x", "1"]]),
    );
    one(
        "SELECT JSON_OBJECT('a', NULL) j, DATE'2026-02-28' d, \
         TIMESTAMP'2026-02-28 01:02:03.5' t, TIME'-01:02' m",
        &["j", "d", "t", "m"],
        json!([[
            "{\"a\": null}",
            "2026-02-28",
            "2026-02-28 01:02:03.5",
            "-01:02:00"
        ]]),
    );
    let many: Vec<_> = (0..1000).map(|n| format!("{n} c{n}")).collect();
    let names: Vec<_> = (0..1000).map(|n| format!("c{n}:number")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let row: Vec<_> = (0..1000).map(|n| n.to_string()).collect();
    one(&format!("SELECT {}", many.join(",")), &names, json!([row]));
    let long = "x".repeat(200_000);
    one("SELECT REPEAT('x', 200000) a", &["a"], json!([[long]]));
    check(&source, &expected);
    // Bytes that are not UTF-8.
    check(
        "SET NAMES latin1; SELECT CONVERT(_utf8mb4 x'C3A9' USING latin1) a",
        &[change("SET", 0), set(&["a"], &json!([["\u{fffd}"]]))],
    );
}

fn changes(check: &Check<'_>) {
    check(
        "CREATE TABLE t (a INT);\n\
         -- a comment\nINSERT INTO t VALUES (1), (2), (3);\n\
         /* another */ update t SET a = 5 WHERE a > 1;\n\
         UPDATE t SET a = 5;\nDELETE FROM t WHERE a = 7;\n\
         REPLACE t VALUES (1);\nWITH c AS (SELECT 5 n) DELETE FROM t WHERE a IN (SELECT n FROM c);\n\
         (SELECT a FROM t LIMIT 1)",
        &[
            change("CREATE", 0),
            // The client sends the comment by itself.
            change("", 0),
            change("INSERT", 3),
            change("UPDATE", 2),
            change("UPDATE", 1),
            change("DELETE", 0),
            change("REPLACE", 1),
            change("WITH", 3),
            set(&["a:number"], &json!([["1"]])),
        ],
    );
    check("", &[]);
    // Those before an error stay.
    check(
        "SELECT 1 a; SELECT nothing; SELECT 2 b",
        &[set(&["a:number"], &json!([["1"]]))],
    );
}

fn scripts(check: &Check<'_>) {
    let number = |name: &str, value: &str| {
        set(&[&format!("{name}:number")], &json!([[value]]))
    };
    check(
        "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1 a; SELECT 2 b WHERE FALSE;\n\
         CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2); SELECT 3 c; END//\n\
         CALL p()//\nSELECT 4 d; SELECT 5 e//\nDELIMITER ;\nSELECT 6\nf\n\\G\n\
         PREPARE s FROM 'SELECT ? g'; SET @v = 7; EXECUTE s USING @v;",
        &[
            change("CREATE", 0),
            number("a", "1"),
            set(&["b:number"], &json!([])),
            number("c", "3"),
            change("CALL", 0),
            number("d", "4"),
            number("e", "5"),
            number("f", "6"),
            change("PREPARE", 0),
            change("SET", 0),
            number("g", "7"),
        ],
    );
}

/// The client's `SELECT DATABASE()` and others.
fn own_statements_do_not_show(check: &Check<'_>) {
    let database = |name: &str| set(&["DATABASE()"], &json!([[name]]));
    check(
        "SELECT DATABASE();\nUSE sandbox;\nCREATE DATABASE other;\nUSE other;\n\
         SELECT DATABASE();\nrehash\nhelp select\n\\W\nconnect\nSELECT 1 / 0 a;\n\
         USE other",
        &[
            database("sandbox"),
            change("CREATE", 1),
            database("other"),
            set(&["a:number"], &json!([[null]])),
        ],
    );
}

/// The client prints the same with and without them.
fn they_change_no_text(server: &Server) {
    let source = "SELECT 1 a, NULL b; SELECT 1 a WHERE FALSE;\n\
                  CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2);\n\
                  SELECT n, 'ñ\\n' s FROM t; SELECT 1 / 0 c; SELECT nothing";
    let beside = request("mysql", "main.sql", source, &json!({}));
    let beside = compile(server, &beside);
    let more = json!({"artifacts": true});
    let answer = result(server, &request("mysql", "main.sql", source, &more));
    assert!(beside.stdout.contains("ñ"), "{beside:?}");
    assert!(beside.stderr.contains("nothing"), "{beside:?}");
    assert_eq!(answer["run"]["stdout"], beside.stdout);
    assert_eq!(answer["run"]["stderr"], beside.stderr);
}

fn files(server: &Server) {
    let lines = "1,a\n2,b\n".repeat(20_000);
    let found = results(
        server,
        &[
            (
                "main.sql",
                "CREATE TABLE t (n INT, s TEXT);\nSOURCE more.sql\n\
                 LOAD DATA LOCAL INFILE 'more.csv' INTO TABLE t FIELDS TERMINATED BY ',';\n\
                 SELECT COUNT(*) c FROM t;",
            ),
            ("more.sql", "SELECT 1 a;\n"),
            ("more.csv", &lines),
        ],
    );
    let expected = [
        change("CREATE", 0),
        set(&["a:number"], &json!([["1"]])),
        change("LOAD", 40_000),
        set(&["c:number"], &json!([["40000"]])),
    ];
    assert_eq!(found["results"], json!(expected));
}

fn large_results_are_cut(server: &Server) {
    // A character that is printed takes six bytes of JSON.
    let source = "SELECT 1 a;\n\
                  WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400)\n\
                  SELECT n, REPEAT(CHAR(1 USING utf8mb4), 1000) s FROM c;\nSELECT 4 e;";
    let found = results(server, &[("main.sql", source)]);
    let sets = found["results"].as_array().unwrap();
    let rows = |set: &Value| set["rows"].as_array().unwrap().len();
    assert_eq!(found["truncated"], true);
    assert_eq!(sets.len(), 2);
    assert_eq!((rows(&sets[0]), &sets[0]["count"]), (1, &json!(1)));
    assert!((300..400).contains(&rows(&sets[1])), "{}", rows(&sets[1]));
    assert_eq!(sets[1]["count"], 400);
}
