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
    let man = clap_mangen::Man::new(table.clone());
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    page.extend(b".SH SYNOPSIS\n\\fBtipstaff\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR]\n");
    man.render_description_section(&mut page).unwrap();
    man.render_options_section(&mut page).unwrap();
    verbs(&table, &mut page);
    let files = table.get_after_help().unwrap().to_string();
    after("FILES", files.split_once("Files:\n").unwrap().1, &mut page);
    String::from_utf8(page).unwrap()
}

/// What stands below a verb's options in its help, line for line.
fn after(heading: &str, text: &str, page: &mut Vec<u8>) {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    page.extend(format!(".SH \"{heading}\"\n.nf\n").bytes());
    for line in text.lines() {
        // A line that starts with a quote or a dot would be a request (groff(7)).
        page.extend(format!("\\&{line}\n").bytes());
    }
    page.extend(b".fi\n");
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
        man.render_description_section(page).unwrap();
        let mut named = verb.clone();
        let usage = named.render_usage().to_string();
        after("SYNOPSIS", usage.trim_start_matches("Usage: "), page);
        man.render_options_section(page).unwrap();
        if let Some(text) = verb.get_after_help() {
            after("EXIT STATUS", &text.to_string(), page);
        }
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
    let cases = fenced(&readme, "<!-- file: policy.test.toml -->\n```toml\n");
    std::fs::write(scratch.join("demo/policy.test.toml"), cases).unwrap();
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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The first cells of the table below `heading`, without their backticks, and split at commas.
fn first_cells(page: &str, heading: &str) -> Vec<String> {
    page.lines()
        .skip_while(|line| !line.starts_with(heading))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .flat_map(|row| row.split('|').nth(1).unwrap().split(','))
        .map(|name| name.trim().trim_matches('`').to_owned())
        .collect()
}

/// The tables of one kind of dependency in the manifest.
fn manifest(kind: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    table[kind].as_table().unwrap().keys().cloned().collect()
}

#[test]
fn the_table_of_dependencies_is_the_manifest() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let mut told = first_cells(&page, "| crate |");
    told.sort();
    let mut there = manifest("dependencies");
    there.sort();
    assert_eq!(told, there);
    for name in manifest("dev-dependencies") {
        let last = page.split("Tests add").nth(1).unwrap();
        assert!(last.contains(&name), "{name}");
    }
}

/// Every dependency is named by a source file, so that none stays when its use has gone.
#[test]
fn every_dependency_is_used() {
    let mut sources = String::new();
    read_all(&root().join("src"), &mut sources);
    for name in manifest("dependencies") {
        let path = format!("{}::", name.replace('-', "_"));
        assert!(sources.contains(&path), "`{name}` is used nowhere");
    }
}

fn read_all(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, text);
        } else {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

/// The stage table, the import law and the tree name what is there, and nothing else.
#[test]
fn the_architecture_page_names_every_part_of_the_source() {
    let page = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let tree = fenced(&page, "## The tree\n\n```text\n");
    let law = page.split("## The import law").nth(1).unwrap();
    let law = law.split("## ").next().unwrap();
    let mut there: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let part = name.trim_end_matches(".rs").to_owned();
        if !["lib", "main"].contains(&part.as_str()) {
            assert!(law.contains(&format!("`{part}`")), "{part}: no law");
        }
        let shown = if entry.file_type().unwrap().is_dir() {
            // A folder beside a file of its name is part of that file's module.
            if root().join("src").join(format!("{name}.rs")).exists() {
                continue;
            }
            format!("{name}/")
        } else {
            name
        };
        there.push(shown);
    }
    there.sort();
    let mut told: Vec<String> = tree
        .lines()
        .skip_while(|line| *line != "src/")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect();
    told.sort();
    assert_eq!(told, there);
    for line in tree.lines().filter(|line| !line.starts_with(' ')) {
        let path = line.split_whitespace().next().unwrap();
        assert!(root().join(path).exists(), "{path} is not there");
    }
    for row in page.lines().filter(|line| line.contains("| `src/")) {
        let path = row.split('|').nth(2).unwrap().trim().trim_matches('`');
        assert!(root().join(path).exists(), "{path} is not there");
    }
}

/// Links between the pages lead to files.
#[test]
fn every_link_of_the_pages_leads_somewhere() {
    for page in [
        "README.md",
        "CHANGELOG.md",
        "docs/ARCHITECTURE.md",
        "docs/SECURITY.md",
        "docs/performance.md",
        "docs/reasons.md",
        "integration/README.md",
        "policies/README.md",
    ] {
        let file = root().join(page);
        let text = std::fs::read_to_string(&file).unwrap();
        for link in text.split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap();
            let there = link.contains("://") || file.parent().unwrap().join(link).exists();
            assert!(there, "{page}: {link}");
        }
    }
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
