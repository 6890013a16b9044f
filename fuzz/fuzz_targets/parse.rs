//! `cargo +nightly fuzz run parse`: any bytes, both dialects. Beside not crashing, whatever is found has
//! to lie inside the line, and what is called single has to be one plain argv.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tipstaff::model::script::Dialect;
use tipstaff::shell::parse;

fuzz_target!(|line: &[u8]| {
    for dialect in [Dialect::Bash, Dialect::Posix] {
        let Ok(script) = parse(line, dialect) else {
            continue;
        };
        for sub in &script.subcommands {
            assert!(sub.span.start <= sub.span.end && sub.span.end <= line.len());
            assert!(sub.carrier.is_none_or(|carrier| carrier < script.subcommands.len()));
        }
        for opaque in &script.opaque {
            assert!(opaque.span.start <= opaque.span.end && opaque.span.end <= line.len());
        }
        if script.single {
            assert!(script.subcommands.len() == 1 && script.opaque.is_empty());
            assert!(script.subcommands[0].static_argv().is_some_and(|argv| !argv.is_empty()));
        }
    }
});
