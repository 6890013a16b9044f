//! The pages say what the program does: the man page is made from the option table, and every verb and
//! option stands in it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use std::path::Path;

/// The man page of the program and of every verb, in one file.
fn man_page() -> String {
    let mut table = tipstaff::cli::table();
    table.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(table.clone())
        .render(&mut page)
        .unwrap();
    verbs(&table, &mut page);
    String::from_utf8(page).unwrap()
}

fn verbs(table: &clap::Command, page: &mut Vec<u8>) {
    for verb in table
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
    {
        page.extend(
            format!(
                ".SH \"{}\"\n",
                verb.get_display_name()
                    .unwrap()
                    .to_uppercase()
                    .replace('-', " ")
            )
            .bytes(),
        );
        let man = clap_mangen::Man::new(verb.clone());
        man.render_synopsis_section(page).unwrap();
        man.render_description_section(page).unwrap();
        man.render_options_section(page).unwrap();
        verbs(verb, page);
    }
}

/// `TIPSTAFF_BLESS=1 cargo test --test pages` writes it anew.
#[test]
fn the_man_page_is_the_option_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tipstaff.1");
    let made = man_page();
    if std::env::var_os("TIPSTAFF_BLESS").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(
        kept == made,
        "docs/tipstaff.1 is not what the option table says; bless it"
    );
}

#[test]
fn every_option_of_the_design_is_there() {
    let page = man_page().replace("\\-", "-");
    for option in [
        "--policy",
        "--profile",
        "--network",
        "--mode",
        "--workspace",
        "--cwd",
        "--timeout",
        "--approver",
        "--user",
        "--session",
        "--run",
        "--task",
        "--agent",
        "--conversation",
        "--call",
        "--json",
        "--status-fd",
        "--jsonl",
    ] {
        assert!(page.contains(option), "{option}");
    }
}

/// Every `$ tipstaff …` of the README's console blocks says what the README says. Digests and the place
/// of the system's programs differ from host to host and are not compared; of `explain` every line the
/// README shows has to be there, in order.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "the program under test is started plainly"
)]
fn the_console_blocks_of_the_readme_are_true() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let scratch = std::env::temp_dir().join(format!("tipstaff-readme-{}", std::process::id()));
    std::fs::create_dir_all(scratch.join("demo")).unwrap();
    let policy = fenced(&readme, "<!-- file: policy.toml -->\n```toml\n");
    std::fs::write(scratch.join("demo/policy.toml"), policy).unwrap();
    let mut run = 0;
    for block in readme.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        for example in block.split("$ tipstaff ").skip(1) {
            let (command, expected) = example.split_once('\n').unwrap();
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_tipstaff"))
                .args(shell_words::split(command).unwrap())
                .env_clear()
                .env("HOME", scratch.join("home"))
                .env("PATH", "/usr/bin:/bin")
                .current_dir(scratch.join("demo"))
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let said = said.replace(scratch.to_str().unwrap(), "/srv");
            let mut lines = said.lines().map(comparable);
            for line in expected
                .lines()
                .filter(|line| !line.is_empty())
                .map(comparable)
            {
                assert!(
                    lines.any(|said| said == line),
                    "`{line}` is not what `{command}` says:\n{said}"
                );
            }
            run += 1;
        }
    }
    std::fs::remove_dir_all(&scratch).unwrap();
    assert!(
        run >= 3,
        "the README has fewer examples than this test knows"
    );
}

fn fenced<'a>(page: &'a str, opening: &str) -> &'a str {
    let start = page.find(opening).unwrap() + opening.len();
    page[start..].split("```").next().unwrap()
}

fn comparable(line: &str) -> String {
    let line = line.replace("/usr/bin/", "/bin/");
    match line.split_once("sha256:") {
        Some((before, _)) => before.to_owned(),
        None => line,
    }
}
