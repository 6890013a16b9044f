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
