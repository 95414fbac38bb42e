//! Facts about Valkeys with the users of packaging/fleet/users.acl.

use sandpiper_shared::{ValkeySettings, inspect};
use sandpiper_testkit::Valkey;

/// Gives a Valkey the users of a fleet, with their names as passwords.
fn set_users(valkey: &Valkey) {
    let users = include_str!("../../../../packaging/fleet/users.acl");
    let users = users.replace("#NODES", ">sandpiper");
    let users = users.replace("#OPERATOR", ">operator");
    // The first line takes the rights of whoever does not log in.
    for user in users.lines().rev() {
        let words: Vec<&str> = user.split(' ').skip(1).collect();
        let answer = valkey.cli(&[&["ACL", "SETUSER"], &words[..]].concat());
        assert_eq!(answer, "OK\n", "{user}");
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_operator_sees_the_settings_and_a_node_does_not() {
    let valkey = Valkey::start(&[
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--maxmemory",
        "64mb",
    ]);
    set_users(&valkey);
    let ask =
        async |login: &str| inspect(&valkey.url(login).parse().unwrap()).await;
    let seen = ask("operator:operator@").await.unwrap();
    assert!(seen.version.starts_with("valkey 8."), "{}", seen.version);
    let expected = ValkeySettings {
        append_only: true,
        append_fsync: "always".to_owned(),
        save: String::new(),
        max_memory: 64 << 20,
        max_memory_policy: "noeviction".to_owned(),
    };
    assert_eq!(seen.settings, Some(expected));
    let by_node = ask("sandpiper:sandpiper@").await.unwrap();
    assert_eq!((by_node.version, by_node.settings), (seen.version, None));
    assert!(by_node.clock >= seen.clock);
    for login in ["sandpiper:other@", ""] {
        let refused = ask(login).await.unwrap_err().to_string();
        assert!(!refused.contains("other"), "{refused}");
    }
}
