//! Built-in commands that change how the rest of the line is read, where it runs, or what runs.

use super::{Parsed, Parser};
use crate::model::script::{Dynamic, Piece, Span, SyntaxError, Word};

/// Whether a function of this name replaces something rules know by name, or is called unasked.
pub(super) fn is_shadowed(name: &[u8]) -> bool {
    matches!(
        name,
        b"." | b":"
            | b"["
            | b"alias"
            | b"bg"
            | b"bind"
            | b"break"
            | b"builtin"
            | b"caller"
            | b"cd"
            | b"command"
            | b"command_not_found_handle"
            | b"compgen"
            | b"complete"
            | b"compopt"
            | b"continue"
            | b"declare"
            | b"dirs"
            | b"disown"
            | b"echo"
            | b"enable"
            | b"eval"
            | b"exec"
            | b"exit"
            | b"export"
            | b"false"
            | b"fc"
            | b"fg"
            | b"getopts"
            | b"hash"
            | b"help"
            | b"history"
            | b"jobs"
            | b"kill"
            | b"let"
            | b"local"
            | b"logout"
            | b"mapfile"
            | b"popd"
            | b"printf"
            | b"pushd"
            | b"pwd"
            | b"read"
            | b"readarray"
            | b"readonly"
            | b"return"
            | b"set"
            | b"shift"
            | b"shopt"
            | b"source"
            | b"suspend"
            | b"test"
            | b"times"
            | b"trap"
            | b"true"
            | b"type"
            | b"typeset"
            | b"ulimit"
            | b"umask"
            | b"unalias"
            | b"unset"
            | b"wait"
    )
}

/// A command's words as far as they are known.
pub(super) type Words = Vec<Option<Vec<u8>>>;

impl Parser<'_, '_> {
    /// Draws the conclusions from the sub-command at `index`, now that it is complete.
    pub(super) fn effects(&mut self, index: usize) -> Parsed<()> {
        let Some(subcommand) = self.state.script.subcommands.get(index) else {
            return Ok(());
        };
        let span = subcommand.span;
        let Some(program) = subcommand.argv.first() else {
            return Ok(());
        };
        if let Some(name) = program.as_static() {
            if self.state.values.is_function(name) {
                let name = name.to_vec();
                return self.call(&name, index);
            }
        } else {
            if !names_file(program) {
                self.state.values.fail();
            }
            let reason = program.dynamic();
            if matches!(
                reason,
                Some(Dynamic::Glob | Dynamic::Tilde | Dynamic::Brace)
            ) {
                self.opaque(
                    span,
                    "a command name that depends on what files or users exist",
                );
            }
            // It may turn out to be `cd`.
            self.state.whereabouts.forget();
            return Ok(());
        }
        self.builtin(index, span)
    }

    fn builtin(&mut self, index: usize, span: Span) -> Parsed<()> {
        let Some(words) = self.builtin_words(index) else {
            return Ok(());
        };
        let Some((Some(name), arguments)) = words.split_first() else {
            // `command $x`: a built-in whose name is not known.
            self.state.values.lose();
            self.state.whereabouts.forget();
            return Ok(());
        };
        self.note_subscripts(name, arguments);
        match name.as_slice() {
            b"cd" => self.change_folder(arguments, index),
            b"pushd" => self.push_folder(arguments, index),
            b"popd" if self.is_bash() && arguments.is_empty() => self.state.whereabouts.pop(false),
            b"popd" => self.state.whereabouts.forget(),
            b"dirs" if !arguments.is_empty() => self.state.whereabouts.meddle(),
            b"eval" => self.eval(arguments, index, span)?,
            b"trap" => self.trap(arguments, index, span)?,
            b"source" | b"." => self.source(arguments, span),
            b"set" => {
                self.state.values.shifted();
                self.set(arguments, span);
            }
            b"shift" => self.state.values.shifted(),
            b"return" | b"break" | b"continue" => self.state.returns += 1,
            b"alias" if lists(arguments) => {}
            b"alias" => self.opaque(span, "an alias"),
            b"shopt" => self.shell_options(arguments, span),
            b"enable" => self.opaque(span, "a change of the built-in commands"),
            b"hash" if lists(arguments) => {}
            b"hash" => self.opaque(span, "a change of where commands are found"),
            b"mapfile" | b"readarray" | b"read" | b"getopts" | b"unset" | b"let" | b"declare"
            | b"typeset" | b"local" | b"export" | b"readonly" => {
                self.assigning(name, arguments, index, span);
            }
            b"printf" | b"wait" => {
                self.vanishing_patterns(index, span);
                let option: &[u8] = if name == b"printf" { b"-v" } else { b"-p" };
                let operands = self.operands(index, arguments.len());
                self.optional_name(option, &operands);
                if name == b"printf" {
                    self.note_counted(arguments);
                }
                self.assigning(name, arguments, index, span);
            }
            b"compgen" if runs_by_option(arguments, b"WCFV") => {
                self.opaque(span, "commands that a completion runs");
            }
            b"jobs" if runs_by_option(arguments, b"x") => {
                self.opaque(span, "a command that `jobs` runs");
            }
            b"fc" => self.opaque(span, "commands of the history"),
            b"test" | b"[" => {
                self.vanishing_patterns(index, span);
                let operands = self.operands(index, arguments.len());
                self.tested(&operands);
            }
            _ => {}
        }
        Ok(())
    }

    /// The words of a built-in command, what `command` and `builtin` run included; none for a name
    /// that is no built-in.
    fn builtin_words(&mut self, index: usize) -> Option<Words> {
        let argv = &self.reserved(index)?.argv;
        let mut rest = argv.as_slice();
        loop {
            let (program, arguments) = rest.split_first()?;
            let Some(name) = program.as_static() else {
                break;
            };
            if !matches!(name, b"command" | b"builtin") {
                if !is_shadowed(name) {
                    return None;
                }
                break;
            }
            rest = arguments;
            while let Some((option, arguments)) = rest.split_first() {
                match option.as_static() {
                    Some(b"-p" | b"--") => rest = arguments,
                    // `-v` and `-V` only look a name up.
                    Some(text) if text.starts_with(b"-") => return None,
                    Some(_) | None => break,
                }
            }
        }
        Some(
            rest.iter()
                .map(|word| word.as_static().map(<[u8]>::to_vec))
                .collect(),
        )
    }

    /// The last `count` words of a sub-command.
    pub(super) fn operands(&mut self, index: usize, count: usize) -> Vec<Word> {
        let argv = self.reserved(index).map(|sub| sub.argv.as_slice());
        let argv = argv.unwrap_or_default();
        argv.get(argv.len().saturating_sub(count)..)
            .unwrap_or_default()
            .to_vec()
    }

    fn change_folder(&mut self, arguments: &[Option<Vec<u8>>], index: usize) {
        let mut rest = arguments;
        while let Some((Some(option), arguments)) = rest.split_first() {
            match option.as_slice() {
                b"-P" | b"-L" => rest = arguments,
                b"--" => {
                    rest = arguments;
                    break;
                }
                _ => break,
            }
        }
        match rest {
            [] => self.state.whereabouts.go_home(b""),
            [Some(target)] if target == b"-" => self.state.whereabouts.go_back(),
            [Some(target)] if !target.starts_with(b"-") => {
                self.state.whereabouts.enter(target);
            }
            [None] => self.enter_below_home(index),
            _ => self.state.whereabouts.forget(),
        }
    }

    /// `cd ~/x`, `cd "$HOME"`
    fn enter_below_home(&mut self, index: usize) {
        let words = self.operands(index, 1);
        let pieces = words.first().map(|word| word.pieces.as_slice());
        let home = |piece: &Piece| match piece {
            Piece::Dynamic { name, quoted, .. } => *quoted && name.as_deref() == Some(b"HOME"),
            Piece::Text(_) => false,
        };
        match pieces.unwrap_or_default() {
            [first] if home(first) => self.state.whereabouts.go_home(b""),
            [first, Piece::Text(below)] if home(first) && below.starts_with(b"/") => {
                let below = below.iter().skip_while(|byte| **byte == b'/');
                let below: Vec<u8> = below.copied().collect();
                self.state.whereabouts.go_home(&below);
            }
            _ => self.state.whereabouts.forget(),
        }
    }

    fn push_folder(&mut self, arguments: &[Option<Vec<u8>>], index: usize) {
        let leads = |target: &[u8]| !target.starts_with(b"-") && !target.starts_with(b"+");
        match arguments {
            _ if !self.is_bash() => self.state.whereabouts.forget(),
            [] => self.state.whereabouts.pop(true),
            [Some(target)] if leads(target) => {
                self.state.whereabouts.push();
                self.state.whereabouts.enter(target);
            }
            [None] => {
                self.state.whereabouts.push();
                self.enter_below_home(index);
            }
            _ => self.state.whereabouts.forget(),
        }
    }

    /// `eval WORD…`: the words joined by blanks are read as commands, here and now.
    fn eval(&mut self, arguments: &[Option<Vec<u8>>], index: usize, span: Span) -> Parsed<()> {
        let arguments = match arguments {
            [Some(first), rest @ ..] if first == b"--" => rest,
            all => all,
        };
        let Some(words) = arguments.iter().cloned().collect::<Option<Vec<_>>>() else {
            self.opaque(span, "`eval` of text known only at run time");
            self.state.whereabouts.forget();
            return Ok(());
        };
        let moves = self.state.whereabouts.moves();
        let point = self.state.values.point();
        self.carried(&words.join(&b' '), index, span)?;
        // An error in it ends the text, and what stands behind `eval` runs.
        if self.state.values.line_ends(point) && self.state.whereabouts.moves() != moves {
            self.state.whereabouts.forget();
        }
        Ok(())
    }

    /// Reads `text` as commands carried by the sub-command at `index`.
    fn carried(&mut self, text: &[u8], index: usize, span: Span) -> Parsed<()> {
        let carrier = self.state.carrier.replace(index);
        let context = self.state.context;
        self.state.context.depth += 1;
        let result = self.inner(text, span, |inner| inner.script());
        self.state.carrier = carrier;
        self.state.context = context;
        match result {
            Ok(()) => Ok(()),
            Err(SyntaxError::Syntax { .. }) => {
                // The commands before the mistake run.
                self.opaque(span, "text read as commands that does not parse");
                self.state.whereabouts.forget();
                Ok(())
            }
            Err(limit @ SyntaxError::Limit(_)) => Err(limit),
        }
    }

    /// `trap TEXT SIGNAL…`: the text runs at any moment from now on.
    fn trap(&mut self, arguments: &[Option<Vec<u8>>], index: usize, span: Span) -> Parsed<()> {
        let (text, signals) = match arguments {
            [Some(first), text, signals @ ..] if first == b"--" => (text, signals),
            [text, signals @ ..] => (text, signals),
            [] => return Ok(()),
        };
        match text {
            None => {
                self.opaque(span, "`trap` of text known only at run time");
                self.state.whereabouts.lose();
            }
            // With one word alone the signal gets back its meaning; options only print.
            Some(text) if text.starts_with(b"-") || signals.is_empty() => {}
            Some(text) => {
                let text = text.clone();
                let point = self.state.values.point();
                self.state.values.note_trap();
                let moves = self.deferred(|parser| parser.carried(&text, index, span))?;
                if moves {
                    self.state.whereabouts.lose();
                }
                if self.state.values.risked(point) {
                    // An error in it ends whatever it interrupts.
                    self.state.values.lose();
                }
            }
        }
        Ok(())
    }

    /// `source FILE`: what the file does to this shell is not known here.
    fn source(&mut self, arguments: &[Option<Vec<u8>>], span: Span) {
        if arguments.first().is_some_and(Option::is_none) {
            self.opaque(span, "`source` of a file known only at run time");
        }
        self.state.whereabouts.lose();
        self.state.values.lose();
    }

    /// `shopt`: harmless where it lists, or changes only what patterns become.
    fn shell_options(&mut self, arguments: &[Option<Vec<u8>>], span: Span) {
        let Some(change) = option_change(arguments) else {
            self.opaque(span, "a change of shell options");
            return;
        };
        for name in change {
            match name {
                // A pattern without a match ends the line, as an error does.
                b"failglob" => self.state.values.always_risky(),
                b"nullglob" => self.state.vanishing = true,
                _ => {}
            }
        }
    }

    /// With `nullglob` a pattern may be no word at all, so that another one stands behind `-v`.
    fn vanishing_patterns(&mut self, index: usize, span: Span) {
        let vanishes = |word: &Word| word.dynamic() == Some(Dynamic::Glob);
        if self.state.vanishing
            && self
                .reserved(index)
                .is_some_and(|sub| sub.argv.iter().any(vanishes))
        {
            self.opaque(span, "a pattern that may vanish where words are evaluated");
        }
    }

    /// `set`: harmless where it only makes the shell stricter, louder, or sets the arguments.
    fn set(&mut self, arguments: &[Option<Vec<u8>>], span: Span) {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let harmless = match argument.as_deref() {
                None => false,
                Some(b"--" | b"-") => return,
                Some([b'-' | b'+', letters @ ..]) if !letters.is_empty() => {
                    letters.iter().all(|letter| match letter {
                        b'o' => rest
                            .next()
                            .is_none_or(|option| option.as_deref().is_some_and(is_harmless_option)),
                        _ => b"euxvfnCETbhm".contains(letter),
                    })
                }
                Some(_) => return,
            };
            if !harmless {
                self.opaque(span, "a change of shell options");
                return;
            }
        }
    }
}

/// Whether a word known only at run time is one word with a slash, and so a file and no built-in.
fn names_file(word: &Word) -> bool {
    let mut slash = false;
    let whole = word.pieces.iter().all(|piece| match piece {
        Piece::Text(text) => {
            slash |= text.contains(&b'/');
            true
        }
        Piece::Dynamic { quoted, .. } => *quoted,
    });
    whole && slash
}

/// Whether options of a built-in command, or words from elsewhere, make it run what its words say.
fn runs_by_option(arguments: &[Option<Vec<u8>>], letters: &[u8]) -> bool {
    arguments.iter().any(|word| {
        word.as_deref().is_none_or(|word| {
            word.starts_with(b"-") && word.iter().any(|letter| letters.contains(letter))
        })
    })
}

/// Whether `alias` or `hash` only lists what there is.
fn lists(arguments: &[Option<Vec<u8>>]) -> bool {
    arguments
        .iter()
        .all(|word| matches!(word.as_deref(), Some(b"-p" | b"-l")))
}

/// The options that `shopt` turns on or off, where all of them only change what patterns match or what an
/// inner shell takes over; none of them where it lists.
fn option_change(arguments: &[Option<Vec<u8>>]) -> Option<Vec<&[u8]>> {
    let (mut changes, mut names) = (false, Vec::new());
    for word in arguments {
        match word.as_deref()? {
            [b'-', letters @ ..] if names.is_empty() => {
                if !letters.iter().all(|letter| b"suqp".contains(letter)) {
                    return None;
                }
                changes |= letters.iter().any(|letter| b"su".contains(letter));
            }
            name => names.push(name),
        }
    }
    if !changes {
        return Some(Vec::new());
    }
    let harmless = |name: &&[u8]| {
        matches!(
            *name,
            b"dotglob"
                | b"failglob"
                | b"globstar"
                | b"inherit_errexit"
                | b"nocaseglob"
                | b"nullglob"
        )
    };
    names.iter().all(harmless).then_some(names)
}

fn is_harmless_option(name: &[u8]) -> bool {
    matches!(
        name,
        b"errexit"
            | b"nounset"
            | b"pipefail"
            | b"xtrace"
            | b"verbose"
            | b"noglob"
            | b"noexec"
            | b"noclobber"
            | b"errtrace"
            | b"functrace"
            | b"notify"
            | b"monitor"
            | b"nolog"
    )
}
