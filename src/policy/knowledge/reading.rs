//! An argv read by a program's option grammar.

use super::grammar::{
    CarrierKind, Effect, Language, OperandKind, OptionSpec, Program, Style, Value, ValueKind,
};
use super::text::{Safety, safety};
use crate::model::script::Word;
use crate::policy::words::{could_be_option, is_many, without_prefix};

/// An option that is present.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'g> {
    /// What is known of it.
    pub(crate) spec: Option<&'g OptionSpec>,
    /// As written, without a value: `--forc`, `-x` out of a bundle.
    pub(crate) spelling: Vec<u8>,
    /// The word it stands in.
    pub(crate) index: usize,
    /// Its value, if it has one.
    pub(crate) value: Option<Word>,
}

impl Seen<'_> {
    pub(crate) fn effect(&self) -> Option<Effect> {
        let spec = self.spec?;
        let value = self.value.as_ref().and_then(Word::as_static);
        if value.is_some_and(|value| spec.is_neutral_with(value)) {
            return Some(Effect::Neutral);
        }
        Some(spec.effect)
    }

    pub(crate) fn kind(&self) -> Option<ValueKind> {
        self.spec.map(|spec| spec.kind)
    }

    /// Whether it has a value although it takes none: `--check=false` of some programs undoes it, others
    /// refuse it.
    pub(crate) fn has_odd_value(&self) -> bool {
        self.value.is_some() && self.spec.is_some_and(|spec| spec.value == Value::None)
    }

    /// Whether it is the option `name`, or an alias of it.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.spec.map_or_else(
            || self.spelling == name.as_bytes(),
            |spec| spec.spellings.iter().any(|spelling| spelling == name),
        )
    }
}

/// An operand and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandUse {
    /// The word.
    pub(crate) index: usize,
    /// What it is; `None` when the program or sub-command is not known.
    pub(crate) kind: Option<OperandKind>,
}

/// The whole argv, read.
#[derive(Debug)]
pub(crate) struct Reading<'g> {
    /// The program and its sub-commands, outermost first; empty for an unknown program.
    pub(crate) levels: Vec<&'g Program>,
    /// Where each sub-command's word stands.
    pub(crate) names_at: Vec<usize>,
    /// A sub-command the knowledge does not have stands here.
    pub(crate) unknown_name_at: Option<usize>,
    /// Options in order.
    pub(crate) seen: Vec<Seen<'g>>,
    /// Operands of the innermost level, in order.
    pub(crate) operands: Vec<usize>,
    /// Words that could become options when the shell expands them.
    pub(crate) loose: Vec<usize>,
    argv: Vec<Word>,
    ended: bool,
}

impl<'g> Reading<'g> {
    /// Reads `argv`, whose first word is the program.
    pub(crate) fn new(program: Option<&'g Program>, argv: &[Word]) -> Self {
        let mut reading = Self {
            levels: program.into_iter().collect(),
            names_at: Vec::new(),
            unknown_name_at: None,
            seen: Vec::new(),
            operands: Vec::new(),
            loose: Vec::new(),
            argv: argv.to_vec(),
            ended: false,
        };
        let mut at = 1;
        while at < argv.len() {
            at = reading.word(at);
        }
        reading
    }

    /// The innermost known level.
    pub(crate) fn level(&self) -> Option<&'g Program> {
        if self.unknown_name_at.is_some() {
            return None;
        }
        self.levels.last().copied()
    }

    /// Whether the option `name`, or an alias of it, is surely present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.seen.iter().any(|seen| seen.is(name))
    }

    fn style(&self) -> Style {
        self.level().map_or(Style::Gnu, |level| level.style)
    }

    fn is_exact(&self) -> bool {
        self.level().is_some_and(|level| level.exact)
    }

    fn get(&self, at: usize) -> Option<&Word> {
        self.argv.get(at)
    }

    /// Reads the word at `at` and returns where the next one starts.
    fn word(&mut self, at: usize) -> usize {
        let Some(word) = self.get(at).cloned() else {
            return at + 1;
        };
        let style = self.style();
        if self.ended || style == Style::None {
            self.operand(at);
            return at + 1;
        }
        let known = word.static_prefix().to_vec();
        let first = self.level().is_some_and(|level| level.bundle_first) && at == 1;
        match (style, known.as_slice()) {
            (Style::Gnu | Style::Single, b"--")
                if word.as_static().is_some() && (style == Style::Gnu || self.is_exact()) =>
            {
                self.ended = true;
                at + 1
            }
            // `env -` is `env -i`.
            (Style::Gnu, b"-") if word.as_static().is_some() && self.spec("-").is_some() => {
                self.note(self.spec("-"), known.as_slice(), at, None);
                at + 1
            }
            (Style::Gnu, [b'-', b'-', _, ..]) => self.long(at, &word, &known),
            (Style::Gnu, [b'-', rest @ ..]) if !rest.is_empty() => {
                self.bundle(at, &word, &known, 1)
            }
            (Style::Gnu, letters) if first && !letters.is_empty() => {
                self.bundle(at, &word, &known, 0)
            }
            // `+TOOLCHAIN`, and `@FILE`: more arguments.
            (Style::Gnu | Style::Single, [mark @ (b'+' | b'@'), ..])
                if self.spec(mark_name(*mark)).is_some() =>
            {
                let value = Some(without_prefix(&word, 1));
                let spec = self.spec(mark_name(*mark));
                self.note(spec, &[*mark], at, value);
                at + 1
            }
            (Style::Single, [b'-', _, ..]) => self.single(at, &word, &known),
            (Style::Gnu | Style::Single | Style::None, _) => {
                let input = known == b"-" && word.as_static().is_some() && self.reads_input();
                if !input && could_be_option(&word) {
                    self.loose.push(at);
                }
                self.operand(at);
                at + 1
            }
        }
    }

    /// Whether a lone dash is standard input, as any program reads it that starts nothing: to a shell it
    /// ends the options.
    fn reads_input(&self) -> bool {
        self.level().is_some_and(|level| {
            level.carrier.is_none() && !level.operands.contains(&OperandKind::Script)
        })
    }

    fn operand(&mut self, at: usize) {
        let Some(level) = self.level() else {
            self.operands.push(at);
            return;
        };
        if !level.subcommands.is_empty() && self.operands.is_empty() {
            let name = self.get(at).and_then(Word::as_static);
            let found = name.and_then(|name| {
                level
                    .subcommands
                    .iter()
                    .find(|sub| sub.names.iter().any(|known| known.as_bytes() == name))
            });
            match found {
                Some(sub) => {
                    self.names_at.push(at);
                    self.levels.push(sub);
                    self.ended = false;
                }
                None if level.subcommand_optional => {}
                None => self.unknown_name_at = Some(at),
            }
            if found.is_some() || !level.subcommand_optional {
                return;
            }
        }
        if level.stop_at_operand {
            self.ended = true;
        }
        self.operands.push(at);
    }

    fn spec(&self, spelling: &str) -> Option<&'g OptionSpec> {
        let level = self.level()?;
        level
            .options
            .iter()
            .find(|spec| spec.spellings.iter().any(|known| known == spelling))
    }

    fn note(
        &mut self,
        spec: Option<&'g OptionSpec>,
        spelling: &[u8],
        index: usize,
        value: Option<Word>,
    ) {
        self.seen.push(Seen {
            spec,
            spelling: spelling.to_vec(),
            index,
            value,
        });
    }

    /// `--name`, `--name=value`, and every abbreviation of a name.
    fn long(&mut self, at: usize, word: &Word, known: &[u8]) -> usize {
        let equals = known.iter().position(|byte| *byte == b'=');
        let name = known
            .get(..equals.unwrap_or(known.len()))
            .unwrap_or_default();
        if equals.is_none() && word.as_static().is_none() {
            // The rest of the name is not known.
            self.loose.push(at);
            self.note(None, name, at, None);
            return at + 1;
        }
        let glued = equals.map(|equals| without_prefix(word, equals + 1));
        let text = String::from_utf8_lossy(name).into_owned();
        let mut specs: Vec<&'g OptionSpec> = self.spec(&text).into_iter().collect();
        if specs.is_empty()
            && let Some(level) = self.level().filter(|level| !level.exact)
        {
            let abbreviated = |spec: &&OptionSpec| {
                spec.spellings
                    .iter()
                    .any(|known| known.starts_with("--") && known.starts_with(&text))
            };
            specs = level.options.iter().filter(abbreviated).collect();
        }
        match specs.as_slice() {
            [] => {
                self.note(None, name, at, glued);
                at + 1
            }
            [spec] if spec.value == Value::Required && glued.is_none() => {
                self.valued(spec, name, at, at + 1)
            }
            // An ambiguous abbreviation is refused by the program; every candidate counts.
            several => {
                let several = several.to_vec();
                for spec in several {
                    self.note(Some(spec), name, at, glued.clone());
                }
                at + 1
            }
        }
    }

    /// An option whose value is the word at `value_at`.
    fn valued(&mut self, spec: &'g OptionSpec, name: &[u8], at: usize, value_at: usize) -> usize {
        for passed in value_at..value_at + spec.before {
            if self.get(passed).is_some_and(is_many) {
                self.loose.push(passed);
            }
        }
        let value_at = value_at + spec.before;
        let value = self.get(value_at).cloned();
        if value.as_ref().is_some_and(is_many) {
            // It may become more than the value.
            self.loose.push(value_at);
        }
        self.note(Some(spec), name, at, value);
        value_at + 1
    }

    /// `-abc`: letters until one takes a value. `from` is where the letters start.
    fn bundle(&mut self, at: usize, word: &Word, known: &[u8], from: usize) -> usize {
        let letters = known.get(from..).unwrap_or_default();
        if from == 1
            && self.level().is_some_and(|level| level.number_options)
            && word.as_static().is_some()
            && letters.iter().all(u8::is_ascii_digit)
        {
            return at + 1;
        }
        let mut next = at + 1;
        let follow = from == 0 || self.level().is_some_and(|level| level.values_follow);
        for (position, letter) in letters.iter().enumerate() {
            let spelling = format!("-{}", char::from(*letter));
            let rest = from + position + 1;
            let last = rest >= known.len();
            let glued = !last || word.as_static().is_none();
            let bare = spelling.get(1..).filter(|_| from == 0);
            let spec = bare
                .and_then(|bare| self.spec(bare))
                .or_else(|| self.spec(&spelling));
            match spec.map(|spec| (spec, spec.value)) {
                Some((spec, Value::Required)) if follow => {
                    // tar's first word, every bundle of tree: values follow in order.
                    next = self.valued(spec, spelling.as_bytes(), at, next);
                }
                Some((spec, Value::Required)) if !glued => {
                    return self.valued(spec, spelling.as_bytes(), at, at + 1);
                }
                Some((spec, Value::Required | Value::Glued)) => {
                    let value = glued.then(|| without_prefix(word, rest));
                    if value.as_ref().is_some_and(is_many) {
                        self.loose.push(at);
                    }
                    self.note(Some(spec), spelling.as_bytes(), at, value);
                    return next;
                }
                Some((_, Value::None)) | None => {
                    self.note(spec, spelling.as_bytes(), at, None);
                }
            }
        }
        if word.as_static().is_none() {
            self.loose.push(at);
        }
        next
    }

    /// `-word`, for programs without bundles.
    fn single(&mut self, at: usize, word: &Word, known: &[u8]) -> usize {
        let equals = known.iter().position(|byte| *byte == b'=');
        if word.as_static().is_none() && equals.is_none() {
            self.loose.push(at);
            self.note(None, known, at, None);
            return at + 1;
        }
        let text = String::from_utf8_lossy(known).into_owned();
        if let Some(equals) = equals
            && let Some(spec) = text.get(..equals).and_then(|name| self.spec(name))
            && spec.value != Value::None
        {
            // `-exec=PROGRAM`
            let name = known.get(..equals).unwrap_or_default();
            self.note(Some(spec), name, at, Some(without_prefix(word, equals + 1)));
            return at + 1;
        }
        match self.spec(&text) {
            spec if self.starts_another(known) => {
                self.note(spec, known, at, None);
                self.past_other(at + 1)
            }
            Some(spec) if spec.value == Value::Required => self.valued(spec, known, at, at + 1),
            None if !self.is_exact()
                && let Some(spec) = text.get(..2).and_then(|name| self.spec(name))
                && spec.value == Value::Required =>
            {
                // `-oFILE` of a compiler.
                let name = known.get(..2).unwrap_or_default();
                self.note(Some(spec), name, at, Some(without_prefix(word, 2)));
                at + 1
            }
            None if let Some(spec) = self.beginning_of(&text) => {
                // `-J-Xmx1g`, `-javaagent:x.jar`
                let (spec, name) = spec;
                let value = without_prefix(word, name.len());
                self.note(Some(spec), name.as_bytes(), at, Some(value));
                at + 1
            }
            spec => {
                self.note(spec, known, at, None);
                at + 1
            }
        }
    }

    /// The option with a glued value that `text` starts with, and its spelling: the longest.
    fn beginning_of(&self, text: &str) -> Option<(&'g OptionSpec, &'g str)> {
        let level = self.level().filter(|level| !level.exact)?;
        level
            .options
            .iter()
            .filter(|spec| spec.value == Value::Glued)
            .flat_map(|spec| spec.spellings.iter().map(move |name| (spec, name.as_str())))
            .filter(|(_, name)| name.len() > 1 && text.starts_with(name))
            .max_by_key(|(_, name)| name.len())
    }

    /// Whether an action of find follows that starts a program.
    fn starts_another(&self, known: &[u8]) -> bool {
        matches!(known, b"-exec" | b"-execdir" | b"-ok" | b"-okdir")
            && self.level().is_some_and(|level| {
                level
                    .carrier
                    .as_ref()
                    .is_some_and(|carrier| carrier.kind == CarrierKind::Find)
            })
    }

    /// Behind the words of such an action. One that is not known could be the end, too.
    fn past_other(&mut self, from: usize) -> usize {
        let mut at = from;
        let mut before: Option<Vec<u8>> = None;
        while let Some(word) = self.get(at) {
            let text = word.as_static().map(<[u8]>::to_vec);
            at += 1;
            match text.as_deref() {
                None => self.loose.push(at - 1),
                Some(b";") => break,
                Some(b"+") if before.as_deref() == Some(b"{}") => break,
                Some(_) => {}
            }
            before = text;
        }
        at
    }

    /// The operands with what each is.
    pub(crate) fn uses(&self) -> Vec<OperandUse> {
        let Some(level) = self.level() else {
            let unknown = |index: &usize| OperandUse {
                index: *index,
                kind: None,
            };
            return self.operands.iter().map(unknown).collect();
        };
        let replaced = level.replaced_by.iter().any(|option| self.has(option));
        let kinds = if replaced {
            level.operands.get(1..).unwrap_or_default()
        } else {
            level.operands.as_slice()
        };
        let repeated = level
            .repeated
            .map(|at| at.saturating_sub(usize::from(replaced)));
        let extra = self.operands.len().saturating_sub(kinds.len());
        let count = self.operands.len();
        self.operands
            .iter()
            .enumerate()
            .map(|(position, index)| {
                let slot = match repeated {
                    Some(at) if position > at + extra => position - extra,
                    Some(at) if position >= at => {
                        // Fewer operands than places: the last places are filled first.
                        let missing = kinds.len().saturating_sub(count);
                        if missing > 0 { position + missing } else { at }
                    }
                    Some(_) | None => position,
                };
                OperandUse {
                    index: *index,
                    kind: kinds.get(slot).copied(),
                }
            })
            .collect()
    }

    /// Whether the program is known at every level and has an option that writes or starts something.
    pub(crate) fn has_dangerous_options(&self) -> bool {
        self.level().is_some_and(|level| {
            level
                .options
                .iter()
                .any(|spec| matches!(spec.effect, Effect::Writes | Effect::Executes))
        })
    }

    /// The program texts of the argv with what they do.
    pub(crate) fn texts(&self) -> Vec<(usize, Safety)> {
        let Some((level, language)) = self.level().and_then(|level| Some((level, level.text?)))
        else {
            return Vec::new();
        };
        let judge = |word: Option<&Word>| {
            word.and_then(Word::as_static)
                .map_or(Safety::Unknown, |text| safety(language, text))
        };
        let mut texts: Vec<(usize, Safety)> = self
            .seen
            .iter()
            .filter(|seen| seen.kind() == Some(ValueKind::Program))
            .map(|seen| (seen.index, judge(seen.value.as_ref())))
            .collect();
        let replaced = level.replaced_by.iter().any(|option| self.has(option));
        let operands = match language {
            _ if replaced => 0,
            Language::Sed | Language::Awk | Language::Jq => 1,
            // Which of them is the text depends on the version.
            Language::Yq => 2,
        };
        for index in self.operands.iter().take(operands) {
            texts.push((*index, judge(self.get(*index))));
        }
        texts
    }
}

const fn mark_name(mark: u8) -> &'static str {
    if mark == b'@' { "@" } else { "+" }
}
