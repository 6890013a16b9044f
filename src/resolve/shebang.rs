//! Reads a `#!` line as the kernel does, and the arguments of `env` in one as GNU env does.

/// The kernel looks at this many bytes of a file (BINPRM_BUF_SIZE, Linux 5.1).
pub(super) const HEAD: usize = 256;

/// A kernel chain holds at most this many `#!` files; one more is ELOOP (measured on 6.18; fs/exec.c,
/// exec_binprm: depth 0 to 5, the last of them the binary).
pub(super) const MAX_SCRIPTS: usize = 5;

/// What the `#!` line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shebang {
    pub(super) interpreter: Vec<u8>,
    pub(super) argument: Option<Vec<u8>>,
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().take_while(|byte| is_blank(byte)).count();
    bytes.get(blanks..).unwrap_or_default()
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let blanks = bytes.iter().rev().take_while(|byte| is_blank(byte)).count();
    bytes
        .get(..bytes.len().saturating_sub(blanks))
        .unwrap_or_default()
}

/// The `#!` line at the start of a file, `None` when the kernel would refuse it with ENOEXEC: no
/// interpreter, or one that the 256 bytes may have cut. (fs/binfmt_script.c)
pub(super) fn shebang(file: &[u8]) -> Option<Shebang> {
    let head = file.get(..HEAD.min(file.len()))?;
    let text = head.strip_prefix(b"#!")?;
    let line_ends = text.iter().position(|byte| *byte == b'\n');
    let whole = line_ends.is_some() || file.len() < HEAD;
    let line = text.get(..line_ends.unwrap_or(text.len()))?;
    // The kernel handles the line as a C string.
    let cut = line.iter().position(|byte| *byte == 0);
    let line = trim_start(trim_end(line.get(..cut.unwrap_or(line.len()))?));
    if line.is_empty() {
        return None;
    }
    let Some(end) = line.iter().position(is_blank) else {
        return (whole || cut.is_some()).then(|| Shebang {
            interpreter: line.to_vec(),
            argument: None,
        });
    };
    let (interpreter, rest) = line.split_at_checked(end)?;
    Some(Shebang {
        interpreter: interpreter.to_vec(),
        argument: Some(trim_start(rest).to_vec()),
    })
}

/// The program that `#!/usr/bin/env ARGUMENT` starts, and its own arguments. An error is a form whose
/// program cannot be told in advance.
pub(super) fn env_program(argument: &[u8]) -> Result<Shebang, &'static str> {
    let split = [b"-S".as_slice(), b"-vS", b"--split-string="]
        .iter()
        .find_map(|option| argument.strip_prefix(*option));
    let Some(text) = split else {
        // Without -S the whole argument is one word.
        return if argument.starts_with(b"-") {
            Err("`env` gets an option that is not followed")
        } else if argument.contains(&b'=') {
            Err("`env` would set a variable and run the script itself again")
        } else {
            Ok(Shebang {
                interpreter: argument.to_vec(),
                argument: None,
            })
        };
    };
    if text
        .iter()
        .any(|byte| matches!(byte, b'\\' | b'$' | b'"' | b'\'' | b'#'))
    {
        return Err("`env -S` gets quotes, escapes or variables");
    }
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .skip_while(|word| word.contains(&b'=') && !word.starts_with(b"PATH="));
    let program = words.next().ok_or("`env -S` names no program")?;
    if program.starts_with(b"-") || program.contains(&b'=') {
        return Err("`env -S` gets an option that is not followed");
    }
    let arguments: Vec<&[u8]> = words.collect();
    Ok(Shebang {
        interpreter: program.to_vec(),
        argument: (!arguments.is_empty()).then(|| arguments.join(&b' ')),
    })
}

#[cfg(test)]
mod tests {
    use super::{Shebang, env_program, shebang};

    fn some(interpreter: &str, argument: Option<&str>) -> Option<Shebang> {
        Some(Shebang {
            interpreter: interpreter.into(),
            argument: argument.map(Into::into),
        })
    }

    #[test]
    fn reads_the_line_as_the_kernel_does() {
        for (file, expected) in [
            ("#!/bin/sh\necho", some("/bin/sh", None)),
            ("#!/bin/sh", some("/bin/sh", None)),
            ("#! \t/bin/sh -e  \n", some("/bin/sh", Some("-e"))),
            ("#!/bin/a b c\n", some("/bin/a", Some("b c"))),
            ("#!/bin/sh\r\n", some("/bin/sh\r", None)),
            ("#!/bin/sh\0x y\n", some("/bin/sh", None)),
            ("#!\n/bin/sh", None),
            ("#!  \t\n", None),
            ("#/bin/sh\n", None),
            ("", None),
        ] {
            assert_eq!(shebang(file.as_bytes()), expected, "{file:?}");
        }
    }

    #[test]
    fn a_cut_interpreter_is_none_and_a_cut_argument_is_taken() {
        let long = format!("#!/{}\n", "x".repeat(300));
        assert_eq!(shebang(long.as_bytes()), None);
        let argument = format!("#!/bin/sh {}\n", "x".repeat(300));
        let read = shebang(argument.as_bytes()).unwrap();
        assert_eq!(read.argument.unwrap().len(), 256 - "#!/bin/sh ".len());
    }

    #[test]
    fn env_is_followed_where_its_program_is_plain() {
        let of = |argument: &str| env_program(argument.as_bytes()).ok();
        assert_eq!(of("python3"), some("python3", None));
        // One word: env looks for a program with a blank in its name.
        assert_eq!(of("python3 -u"), some("python3 -u", None));
        assert_eq!(of("-S python3 -u -E"), some("python3", Some("-u -E")));
        assert_eq!(of("-SA=1 python3"), some("python3", None));
        for unknown in [
            "-i x",
            "A=1 x",
            "-S -i x",
            "-S PATH=/x y",
            "-S \"a b\"",
            "-S",
            "-S ${X}",
        ] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}
