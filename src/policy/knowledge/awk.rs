//! Programs of awk: whether one only reads and prints.
//!
//! awk starts programs by `system` and `|`, writes files by `>` in a print statement, and gawk loads and
//! calls by `@`. All four stand in code; strings, regular expressions and remarks are data.

/// What came before decides whether a `/` starts a regular expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value may start here.
    Start,
    /// A value ended.
    Value,
    /// `)`: of a condition, or of a value.
    Closed,
}

/// Whether the program starts nothing, writes no file and shows no environment.
pub(super) fn harmless(text: &[u8]) -> bool {
    let mut code = Code {
        rest: text,
        before: Before::Start,
        depth: 0,
        braces: 0,
        prints: false,
        joins: false,
    };
    while let Some(byte) = code.next() {
        if !code.step(byte) {
            return false;
        }
    }
    true
}

struct Code<'a> {
    rest: &'a [u8],
    before: Before,
    /// Open parentheses and brackets.
    depth: usize,
    /// Whether a brace was opened: before the first, a `>` compares.
    braces: usize,
    /// Whether the statement prints.
    prints: bool,
    /// What came last joins the next line to the statement.
    joins: bool,
}

impl Code<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, text: &[u8]) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else {
            return false;
        };
        self.rest = rest;
        true
    }

    /// Whether what starts with `byte` is harmless.
    fn step(&mut self, byte: u8) -> bool {
        if matches!(byte, b' ' | b'\t' | b'\r' | b'#' | b'\\') {
            return self.between(byte);
        }
        let joined = std::mem::replace(&mut self.joins, matches!(byte, b',' | b'&' | b'|'));
        match byte {
            b'\n' if joined => self.joins = true,
            b'\n' | b';' | b'{' | b'}' => {
                self.braces += usize::from(byte == b'{');
                // Of `for (;;)` only the statement goes on.
                self.prints = self.prints && self.depth > 0;
                self.before = Before::Start;
            }
            b'"' => {
                self.before = Before::Value;
                return self.until(b'"');
            }
            b'/' => return self.slash(),
            b'(' | b'[' => {
                self.depth += 1;
                self.before = Before::Start;
            }
            b')' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.before = if byte == b')' {
                    Before::Closed
                } else {
                    Before::Value
                };
            }
            b'|' => {
                self.before = Before::Start;
                return self.take(b"|") && !self.rest.starts_with(b"|");
            }
            b'>' => return self.greater(),
            b'@' | b'`' => return false,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => return self.word(byte),
            byte if byte.is_ascii_digit() || byte == b'.' => self.before = Before::Value,
            // `x++ / 2` divides, `x + /y/` does not.
            b'+' | b'-' => self.before = Before::Closed,
            _ => self.before = Before::Start,
        }
        true
    }

    /// Blanks, remarks and lines that go on: they end nothing.
    fn between(&mut self, byte: u8) -> bool {
        if byte == b'#' {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            self.rest = self
                .rest
                .get(end.unwrap_or(self.rest.len())..)
                .unwrap_or_default();
        }
        byte != b'\\' || self.take(b"\n")
    }

    /// Up to the end of a string or regular expression; a new line in it is an error of the program.
    fn until(&mut self, end: u8) -> bool {
        while let Some(byte) = self.next() {
            match byte {
                byte if byte == end => return true,
                b'\\' => {
                    self.next();
                }
                b'\n' => return false,
                // Whether a `/` in brackets ends it depends on the awk.
                b'[' if end == b'/' => {
                    let close = self.rest.iter().position(|byte| *byte == b']');
                    if close.is_none_or(|at| self.rest.iter().take(at).any(|byte| *byte == b'/')) {
                        return false;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// A division, or a regular expression. Where both are possible only a text without any danger in
    /// what is left is harmless.
    fn slash(&mut self) -> bool {
        match self.before {
            Before::Start => {
                self.before = Before::Value;
                self.until(b'/')
            }
            Before::Value => {
                self.before = Before::Start;
                true
            }
            Before::Closed => {
                self.before = Before::Start;
                !self
                    .rest
                    .iter()
                    .any(|byte| matches!(byte, b'>' | b'|' | b'@' | b'"'))
                    && !self.rest.windows(6).any(|window| window == b"system")
            }
        }
    }

    /// `>` writes in a print statement, where no parenthesis is open, and compares elsewhere. What goes
    /// to the output that is open already is no file.
    fn greater(&mut self) -> bool {
        self.before = Before::Start;
        if !self.prints {
            return true;
        }
        if self.depth > 0 && self.braces > 0 {
            // `print (a > b)`, but also `for (;; print > "f")`.
            return false;
        }
        self.take(b">");
        while self.take(b" ") {}
        self.before = Before::Value;
        let open = self.take(b"\"/dev/stderr\"") || self.take(b"\"/dev/stdout\"");
        // A name that goes on is another file.
        open && matches!(self.rest.first(), None | Some(b';' | b'}' | b'\n' | b' '))
            && !matches!(
                self.rest.iter().find(|byte| **byte != b' '),
                Some(byte) if !matches!(byte, b';' | b'}' | b'\n')
            )
    }

    fn word(&mut self, first: u8) -> bool {
        let length = self
            .rest
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
            .unwrap_or(self.rest.len());
        let (rest, after) = self.rest.split_at_checked(length).unwrap_or_default();
        self.rest = after;
        let word = [&[first], rest].concat();
        self.before = Before::Value;
        match word.as_slice() {
            b"system" | b"ENVIRON" | b"close" | b"fflush" => return false,
            b"print" | b"printf" => {
                self.prints = true;
                self.before = Before::Start;
            }
            b"in" | b"return" | b"else" | b"do" | b"case" => self.before = Before::Start,
            // Of a file, which may be a connection of gawk's.
            b"getline" if self.rest.contains(&b'<') => return false,
            b"getline" | b"next" | b"nextfile" | b"exit" | b"delete" | b"length" | b"break"
            | b"continue" | b"BEGIN" | b"END" | b"BEGINFILE" | b"ENDFILE" => {
                self.before = Before::Closed;
            }
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn printing_and_comparing_is_harmless() {
        for text in [
            "{print $1}",
            "$1 == 2 || /x/ {n += $2} END {print n}",
            "$1 > 3",
            "$1 >= 3 && $2 > $1 {print}",
            "{ if ($3 > 10) print $0 }",
            "{ n = $1 > 2; print n }",
            r#"{printf "%s\t%d\n", $1, $2}"#,
            r#"/a|b/ {print "x|y > z"}"#,
            r#"{gsub(/[|>]/, ""); print $1 / 2}"#,
            r#"{print "oops" > "/dev/stderr"}"#,
            "BEGIN {FS=\":\"} # a > b | c\n{print $1}",
            "NR>1 {print} ",
            "{x = y\nif (x > 1) print x\nz = x > 2}",
            "{print length / 2}",
            "{a[$1]++} END {for (k in a) if (a[k] > 1) print k, a[k]}",
        ] {
            assert!(harmless(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_rest_is_not() {
        for text in [
            "BEGIN{system(\"x\")}",
            "{print > \"f\"}",
            "{print >> \"f\"}",
            "{print $1 > $2}",
            "{print > \"/dev/stderr\" \"x\"}",
            "{print > (\"/dev/stderr\" \"x\")}",
            "$1 > 3 {x=\"}\"; print > \"f\"}",
            "/}/ {print > \"f\"}",
            "{if (1) print \"x\" > \"f\"}",
            "{for (;; print \"x\" > \"f\") ;}",
            "BEGIN{if (1) /\"/ ; print \"x\" > \"f\"; y=\"\"}",
            "{print (a)(b) > \"f\"}",
            "{\"id\" | getline}",
            "{\"id\" |& getline}",
            "@load \"x\"",
            "BEGIN{f=\"system\"; @f(\"id\")}",
            "BEGIN{print ENVIRON[\"TOKEN\"]}",
            // A run of three is an `or` and a pipe, wherever another pipe stands.
            "BEGIN{x=\"|||\"; print \"touch x\" | \"sh\"}",
            "BEGIN{print \"touch x\" ||| \"sh\"}",
            "{x = 1 /2; y = \"a\" / 3; print \"x\" > \"f\"}",
            "BEGIN{print /[/]/ > \"f\" # /}",
            "{print \"a\",\n\"b\" > \"f\"}",
            "{print \"a\" && # x\n\n1 > \"f\"}",
            "{print 1 \\\n > \"f\"}",
            "{x++ /2; print \"x\" > \"f\"; y = 3 / 4}",
            "{length /\"/ ; print \"x\" > \"f\"; z=\"\"}",
            "BEGIN{getline x < \"/inet/tcp/0/h/80\"}",
        ] {
            assert!(!harmless(text.as_bytes()), "{text}");
        }
    }
}
