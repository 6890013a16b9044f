//! Tests of the shapes of secrets.

use super::find;

/// The text with every secret written as `#`.
fn shown(text: &str) -> String {
    let mut spans = find(text.as_bytes());
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut out = String::new();
    let mut at = 0;
    for span in spans {
        if span.start >= at {
            out.push_str(&text[at..span.start]);
            out.push('#');
        }
        at = at.max(span.end);
    }
    out.push_str(&text[at..]);
    out
}

#[test]
fn known_shapes() {
    let forty = "a1B2".repeat(10);
    for prefix in [
        "ghp_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "npm_",
        "sk-",
        "AKIA",
        "sk-proj-",
    ] {
        assert_eq!(
            shown(&format!("echo {prefix}{forty}; ls")),
            "echo #; ls",
            "{prefix}"
        );
    }
    assert_eq!(
        shown("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln y"),
        "x # y"
    );
    assert_eq!(
        shown(&format!("https://x/?t=glpat-{forty}")),
        "https://x/?t=#"
    );
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nbnNz\n-----END OPENSSH PRIVATE KEY-----";
    assert_eq!(shown(&format!("a {key} b")), "a # b");
    assert_eq!(shown("-----BEGIN RSA PRIVATE KEY-----\nMIIE"), "#");
}

#[test]
fn names_before_values() {
    for (text, expected) in [
        ("API_TOKEN=abc make", "API_TOKEN=# make"),
        (
            "export DB_PASSWORD='a b c'; ls",
            "export DB_PASSWORD='#'; ls",
        ),
        ("DB_PASSWORD=\"a\\\"b\" ls", "DB_PASSWORD=\"#\" ls"),
        ("X_KEY=ab\"c d\"e ls", "X_KEY=# ls"),
        (
            "curl -d '{\"token\": \"abc\", \"x\": 1}'",
            "curl -d '{\"token\": \"#\", \"x\": 1}'",
        ),
        ("login --password hunter2 -v", "login --password # -v"),
        ("login --token=hunter2 -v", "login --token=# -v"),
        (
            "curl -H 'Authorization: Bearer abc' u",
            "curl -H 'Authorization: Bearer #' u",
        ),
        (
            "curl -H \"authorization: Basic dTpw\"",
            "curl -H \"authorization: Basic #\"",
        ),
        ("curl -H 'Authorization: raw'", "curl -H 'Authorization: #'"),
        ("curl -H 'X-Api-Key: abc'", "curl -H 'X-Api-Key: #'"),
        ("echo Bearer abcdefgh1", "echo Bearer #"),
        (
            "git clone https://ana:pw@host/x",
            "git clone https://ana:#@host/x",
        ),
        ("psql postgres://u:p@w@db/x", "psql postgres://u:#@db/x"),
        (
            "sh -c 'T_TOKEN=abc' && rm -rf 'x'",
            "sh -c 'T_TOKEN=#' && rm -rf 'x'",
        ),
        (
            "sh -c \"T_TOKEN='a b' x\" && ls",
            "sh -c \"T_TOKEN='#' x\" && ls",
        ),
        ("curl -u ana:pw x", "curl -u ana:# x"),
        (
            "wget 'http://x/?access_token=abc&y=1'",
            "wget 'http://x/?access_token=#&y=1'",
        ),
    ] {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "git log --oneline | head -3",
        "cargo test task-list-of-many-long-words-here",
        "API_TOKEN=$API_TOKEN make",
        "API_TOKEN=\"${API_TOKEN}\" make",
        "API_TOKEN=$(cat f) make",
        "docker run -u 1000:1000 image",
        "kubectl --token-file ./ci/token get pods",
        "login --password-stdin registry",
        "curl https://host:8080/a@b",
        "-----BEGIN CERTIFICATE-----\nMIIE",
        "echo sk-short",
    ] {
        assert_eq!(shown(text), text);
    }
}
