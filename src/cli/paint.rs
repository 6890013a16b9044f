//! Colour for people: only on a terminal, and never against `NO_COLOR` (no-color.org) or a dumb one.

use std::io::IsTerminal as _;

use crate::approval;

/// What a text says at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It is as it should be.
    Good,
    /// It is worth a look.
    Notice,
    /// It is wrong.
    Bad,
    /// It is beside the point.
    Faint,
    /// It names what follows.
    Strong,
}

/// Paints, or does not.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// For standard output.
    pub fn output() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    /// For standard error.
    pub fn error() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    /// Whether it paints.
    pub const fn is_on(self) -> bool {
        self.0
    }

    /// The text in its tone. It has to be escaped already.
    pub fn tone(self, tone: Tone, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Notice => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

fn wanted() -> bool {
    let variable = std::env::var_os;
    let choice =
        approval::Paint::choose(variable("NO_COLOR").as_deref(), variable("TERM").as_deref());
    choice == approval::Paint::Colour
}

#[cfg(test)]
mod tests {
    use super::{Paint, Tone};

    #[test]
    fn what_is_no_terminal_gets_no_byte_more() {
        assert_eq!(Paint(false).tone(Tone::Bad, "x"), "x");
        assert_eq!(Paint(true).tone(Tone::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
