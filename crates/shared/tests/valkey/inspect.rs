//! Facts about Valkeys with the users of packaging/fleet/users.acl.

use sandpiper_shared::{
    COMMANDS_OF_LIMITS, COMMANDS_OF_PRODUCTS, Rights, ServerUrl,
    ValkeySettings, inspect, is_open,
};
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

#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_operator_sees_the_rights_of_others() {
    let valkey = Valkey::start(&[]);
    let url = |login: &str| valkey.url(login).parse().unwrap();
    // As Valkey is installed: whoever reaches it may do all.
    assert_eq!(is_open(&url("")).await, Ok(true));
    let rights = async |operator: &ServerUrl, node: &ServerUrl| {
        let needed = [COMMANDS_OF_LIMITS, COMMANDS_OF_PRODUCTS].concat();
        sandpiper_shared::rights(operator, node, &needed).await
    };
    let seen = rights(&url(""), &url("")).await.unwrap().unwrap();
    assert_eq!((seen.needless.len(), seen.can_replay), (13, true));
    let all = ["test", "on", ">x", "allkeys", "allcommands"];
    valkey.cli(&[&["ACL", "SETUSER"], &all[..]].concat());
    set_users(&valkey);
    let [node, operator] =
        ["sandpiper", "operator"].map(|user| url(&format!("{user}:{user}@")));
    assert_eq!(is_open(&node).await, Ok(false));
    let packaged = Rights { can_replay: true, ..Rights::default() };
    assert_eq!(rights(&operator, &node).await, Ok(Some(packaged.clone())));
    assert_eq!(rights(&node, &node).await, Ok(None));
    assert!(rights(&url("operator:other@"), &node).await.is_err());
    let set = |words: &[&str]| {
        let login = ["--user", "test", "--pass", "x", "--no-auth-warning"];
        let set = [&login[..], &["ACL", "SETUSER"], words].concat();
        assert_eq!(valkey.cli(&set), "OK\n");
    };
    set(&["sandpiper", "+flushall"]);
    let wide = Rights { needless: vec!["FLUSHALL"], ..packaged.clone() };
    assert_eq!(rights(&operator, &node).await, Ok(Some(wide)));
    set(&["sandpiper", "-flushall"]);
    set(&["sandpiper", "-fcall", "resetkeys"]);
    let seen = rights(&operator, &node).await.unwrap().unwrap();
    assert!(seen.lacking.contains(&"FCALL x 1 sp1:x"), "{seen:?}");
    assert!(seen.lacking.contains(&"ZREM sp1:x x"), "{seen:?}");
    set(&["sandpiper", "+fcall", "~sp1:*"]);
    set(&["default", "reset", "off"]);
    let lossy = Rights { can_replay: false, ..packaged };
    assert_eq!(rights(&operator, &node).await, Ok(Some(lossy)));
}
