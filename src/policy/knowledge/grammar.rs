//! The data format of `policies/programs/*.toml`; its language is explained in `policies/README.md`.

use serde::Deserialize;

/// How options are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `--long[=VALUE]` with abbreviations, `-abc` bundles, glued values, `--`.
    Gnu,
    /// `-word VALUE`, as in find and java.
    Single,
    /// No options: every word is an operand.
    None,
}

/// How options are written, as the data calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StyleText {
    /// getopt_long.
    Gnu,
    /// The same, but a long name is never abbreviated: clap, pflag, click, argparse without it.
    Exact,
    /// `-word VALUE`, and `-oVALUE` of a compiler.
    Single,
    /// `-word VALUE`, `-word=VALUE`, both with a second dash too, never glued: Go's package flag.
    Go,
    /// Every word is an operand.
    None,
}

impl StyleText {
    const fn style(self) -> Style {
        match self {
            Self::Gnu | Self::Exact => Style::Gnu,
            Self::Single | Self::Go => Style::Single,
            Self::None => Style::None,
        }
    }

    /// Whether an option is known by its whole name alone.
    const fn is_exact(self) -> bool {
        match self {
            Self::Exact | Self::Go => true,
            Self::Gnu | Self::Single | Self::None => false,
        }
    }
}

/// What an option or operand does when it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Proved to change nothing and start nothing.
    Harmless,
    /// Harmless, and an allow rule reaches past it to the sub-command.
    Neutral,
    /// Its grammar is known, its harmlessness is not claimed.
    Known,
    /// Writes or changes something.
    Writes,
    /// Starts a program or runs code that the argv or the workspace names.
    Executes,
}

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Text.
    Text,
    /// A file or folder that is read.
    Read,
    /// A file or folder that is written.
    Write,
    /// A folder the program goes to first.
    Folder,
    /// A program's name or path, which is started.
    Command,
    /// A command line that a shell reads.
    Shell,
    /// A program text in the language of `text`.
    Program,
    /// A file whose text the program runs.
    Script,
    /// A module that runs as a program of that name would: `python -m pip`.
    Module,
    /// An archive: read when the program lists or extracts, else written.
    Archive,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// None.
    None,
    /// Only glued: `-iSUFFIX`, `--color=WHEN`.
    Glued,
    /// Glued or the next word.
    Required,
}

/// One option with all its spellings.
#[derive(Clone, Debug)]
pub(crate) struct OptionSpec {
    pub(crate) spellings: Vec<String>,
    pub(crate) value: Value,
    /// Words between the option and the value of this kind, as in `--arg NAME VALUE`.
    pub(crate) before: usize,
    pub(crate) kind: ValueKind,
    pub(crate) effect: Effect,
    /// Values with which it is neutral; a `*` at the end stands for anything.
    pub(crate) neutral_values: Vec<String>,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    /// Text.
    Text,
    /// A file or folder that is read.
    Read,
    /// A file or folder that is written or removed.
    Write,
    /// `name=value` settings of dd: `if=` is read, `of=` is written.
    Assignment,
    /// Something that is changed but is no path.
    Effect,
    /// The name of a variable that gets a value.
    Variable,
    /// `NAME=VALUE` of make, whose value may be code; anything else is text.
    Setting,
    /// A file whose text the program runs: digest-bound, as a program is.
    Script,
}

/// The language of a program text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Language {
    /// Scripts of sed.
    Sed,
    /// Programs of awk.
    Awk,
    /// Filters of jq, which read the environment too.
    Jq,
    /// Expressions of yq: those of jq, behind an optional sub-command.
    Yq,
}

/// How a program runs another one named in its argv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CarrierKind {
    /// The operands are an argv.
    Argv,
    /// A shell: `-c TEXT`, a script file, or its input.
    Shell,
    /// The operands, joined by blanks, are a command line.
    Eval,
    /// The operands from the first on are a command line of `sh -c`.
    ShellOperands,
    /// find: `-exec … ;`.
    Find,
    /// The operands are an argv that runs elsewhere or is fetched first; a rule that spells it out
    /// covers it.
    Runner,
    /// The first operand is one of the program's own applets.
    Applet,
    /// What it starts stands in no argument.
    Unknown,
}

/// The carrier part of a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Carrier {
    pub(crate) kind: CarrierKind,
    /// Operands before the inner argv.
    #[serde(default)]
    pub(crate) skip: usize,
    /// `NAME=VALUE` operands before the inner argv set variables.
    #[serde(default)]
    pub(crate) assignments: bool,
    /// Words nobody knows yet are added to the inner argv.
    #[serde(default)]
    pub(crate) appends: bool,
    /// What it starts when no operand names it; empty for nothing.
    #[serde(default)]
    pub(crate) alone: Option<Vec<String>>,
    /// With one of these options nothing is started.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Only with one of these options something is started.
    #[serde(default)]
    pub(crate) only_with: Vec<String>,
    /// The words of the inner argv are joined to a text, which a shell reads where it runs.
    #[serde(default)]
    pub(crate) joins: bool,
    /// Any word may be the program or a text for a shell: deny rules see every one as both.
    #[serde(default)]
    pub(crate) guess: bool,
}

/// What is known of one program or sub-command.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its names, or the words of the sub-command.
    pub names: Vec<String>,
    /// Whether it only reads when all its options are harmless.
    pub read_only: bool,
    pub(crate) style: Style,
    /// An option is known by its whole name alone: no abbreviations, no value glued to a `-word`.
    pub(crate) exact: bool,
    pub(crate) stop_at_operand: bool,
    pub(crate) number_options: bool,
    pub(crate) bundle_first: bool,
    /// No value is glued to a letter: the values of a bundle are the words after it, in order.
    pub(crate) values_follow: bool,
    pub(crate) options: Vec<OptionSpec>,
    pub(crate) operands: Vec<OperandKind>,
    /// Which of `operands` repeats.
    pub(crate) repeated: Option<usize>,
    pub(crate) replaced_by: Vec<String>,
    pub(crate) text: Option<Language>,
    pub(crate) carrier: Option<Carrier>,
    /// Its sub-commands, each with a grammar of its own.
    pub subcommands: Vec<Program>,
    /// Lines that show what is claimed; `tests/knowledge.rs` judges every one.
    pub examples: Examples,
    pub(crate) plain_output: bool,
    pub(crate) reads_variables: bool,
    /// With one of these options it only lists or asks, and its operands only select.
    pub(crate) lists_with: Vec<String>,
    /// Whether it only reads with one of `lists_with` alone.
    pub(crate) lists_only: bool,
    /// It only reads with every one of these options.
    pub(crate) needs: Vec<String>,
    /// With one of these options alone it tells of itself and does nothing else.
    pub(crate) tells_with: Vec<String>,
    /// A first operand that is no sub-command is an operand.
    pub(crate) subcommand_optional: bool,
    /// Programs that it starts for its own work, by name; a `*` at the end stands for anything.
    pub helpers: Vec<String>,
    /// Whether it runs code that lies in the workspace: allowing it allows that code.
    pub(crate) runs_workspace_code: bool,
    /// Whether it changes the system itself.
    pub(crate) privileged: bool,
}

/// Lines about one program, each judged under the read-only defaults alone with the program a trusted
/// file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// It only reads: allowed.
    #[serde(default)]
    pub read_only: Vec<String>,
    /// It writes, sends or starts something: not allowed.
    #[serde(default)]
    pub acts: Vec<String>,
    /// An option or sub-command that nobody knows: not allowed.
    #[serde(default)]
    pub unknown: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    program: Vec<ProgramText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramText {
    names: Vec<String>,
    #[serde(default)]
    read_only: bool,
    style: Option<StyleText>,
    /// Its options may stand behind the name of a sub-command as well.
    #[serde(default)]
    inherited: bool,
    #[serde(default)]
    stop_at_operand: bool,
    #[serde(default)]
    number_options: bool,
    #[serde(default)]
    bundle_first: bool,
    #[serde(default)]
    values_follow: bool,
    #[serde(default)]
    harmless: Vec<String>,
    #[serde(default)]
    neutral: Vec<String>,
    #[serde(default)]
    known: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default)]
    executes: Vec<String>,
    /// `OPTION VALUE`: with this value the option is neutral.
    #[serde(default)]
    neutral_values: Vec<String>,
    operands: Option<Vec<String>>,
    #[serde(default)]
    operand_replaced_by: Vec<String>,
    text: Option<Language>,
    carrier: Option<Carrier>,
    #[serde(default)]
    subcommand: Vec<ProgramText>,
    #[serde(default)]
    plain_output: bool,
    #[serde(default)]
    reads_variables: bool,
    #[serde(default)]
    lists_with: Vec<String>,
    #[serde(default)]
    lists_only: bool,
    tells_with: Option<Vec<String>>,
    #[serde(default)]
    subcommand_optional: bool,
    #[serde(default)]
    helpers: Vec<String>,
    #[serde(default)]
    runs_workspace_code: bool,
    #[serde(default)]
    privileged: bool,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    examples: Examples,
}

/// Reads one file.
pub(crate) fn parse(text: &str) -> Result<Vec<Program>, String> {
    let file: FileText = toml::from_str(text).map_err(|error| error.to_string())?;
    file.program.into_iter().map(Program::try_from).collect()
}

impl Program {
    /// Whether it, or one of its sub-commands, can be proved to only read.
    pub fn can_be_read_only(&self) -> bool {
        self.read_only || self.subcommands.iter().any(Self::can_be_read_only)
    }

    /// Whether it, or one of its sub-commands, tells options from operands.
    pub fn has_options(&self) -> bool {
        self.style != Style::None || self.subcommands.iter().any(Self::has_options)
    }

    /// Takes the options of the level above, where it has none of the same name itself.
    fn inherit(&mut self, options: &[OptionSpec]) {
        for sub in &mut self.subcommands {
            sub.inherit(options);
        }
        for option in options {
            let mut option = option.clone();
            let taken = |name: &String| self.options.iter().any(|own| own.spellings.contains(name));
            option.spellings.retain(|name| !taken(name));
            if !option.spellings.is_empty() {
                self.options.push(option);
            }
        }
    }
}

impl OptionSpec {
    /// Whether this value makes it neutral.
    pub(crate) fn is_neutral_with(&self, value: &[u8]) -> bool {
        self.neutral_values.iter().any(|known| {
            known.strip_suffix('*').map_or_else(
                || known.as_bytes() == value,
                |start| value.starts_with(start.as_bytes()),
            )
        })
    }

    /// `-word` is `--word` too.
    fn take_two_dashes(&mut self) {
        let doubled: Vec<String> = self
            .spellings
            .iter()
            .filter(|name| !name.starts_with("--"))
            .map(|name| format!("-{name}"))
            .collect();
        self.spellings.extend(doubled);
    }
}

impl TryFrom<ProgramText> for Program {
    type Error = String;

    fn try_from(mut text: ProgramText) -> Result<Self, String> {
        if text.names.is_empty() || text.names.iter().any(String::is_empty) {
            return Err("a program without a name".to_owned());
        }
        let style = text.style.unwrap_or(StyleText::Gnu);
        for sub in &mut text.subcommand {
            sub.style.get_or_insert(style);
        }
        let mut options = Vec::new();
        let groups = [
            (&text.harmless, Effect::Harmless),
            (&text.neutral, Effect::Neutral),
            (&text.known, Effect::Known),
            (&text.writes, Effect::Writes),
            (&text.executes, Effect::Executes),
        ];
        for (texts, effect) in groups {
            for text in texts {
                options.push(option(text, effect)?);
            }
        }
        for text in &text.neutral_values {
            neutral_value(text, &mut options)?;
        }
        if style == StyleText::Go {
            options.iter_mut().for_each(OptionSpec::take_two_dashes);
        }
        let mut subcommands: Vec<Self> = text
            .subcommand
            .into_iter()
            .map(Self::try_from)
            .collect::<Result<_, _>>()?;
        if text.inherited {
            subcommands.iter_mut().for_each(|sub| sub.inherit(&options));
        }
        let (operands, repeated) = operands(text.operands.as_deref().unwrap_or(&[]))?;
        // Left out, the operands are unclaimed text; an empty list says that there are none.
        let (operands, repeated) = match text.operands {
            None => (vec![OperandKind::Text], Some(0)),
            Some(_) => (operands, repeated),
        };
        Ok(Self {
            names: text.names,
            read_only: text.read_only,
            style: style.style(),
            exact: style.is_exact(),
            stop_at_operand: text.stop_at_operand,
            number_options: text.number_options,
            bundle_first: text.bundle_first,
            values_follow: text.values_follow,
            options,
            operands,
            repeated,
            replaced_by: text.operand_replaced_by,
            text: text.text,
            carrier: text.carrier,
            subcommands,
            plain_output: text.plain_output,
            reads_variables: text.reads_variables,
            lists_with: text.lists_with,
            lists_only: text.lists_only,
            needs: text.needs,
            tells_with: text
                .tells_with
                .unwrap_or_else(|| vec!["--version".to_owned(), "--help".to_owned()]),
            subcommand_optional: text.subcommand_optional,
            helpers: text.helpers,
            runs_workspace_code: text.runs_workspace_code,
            privileged: text.privileged,
            examples: text.examples,
        })
    }
}

/// Adds a value to the option it belongs to.
fn neutral_value(text: &str, options: &mut [OptionSpec]) -> Result<(), String> {
    let (name, value) = text
        .split_once(' ')
        .ok_or_else(|| format!("`{text}` is no option with a value"))?;
    let option = options
        .iter_mut()
        .find(|option| option.spellings.iter().any(|known| known == name))
        .ok_or_else(|| format!("`{text}`: there is no option `{name}`"))?;
    option.neutral_values.push(value.to_owned());
    Ok(())
}

/// `-o, --output WRITE`, `--color[=WHEN]`, `-i[SUFFIX]`, `-v`.
fn option(text: &str, effect: Effect) -> Result<OptionSpec, String> {
    let bad = || format!("`{text}` is no option");
    let (spelled, value, places) = if let Some((spelled, place)) = text.split_once('[') {
        let place = place.strip_suffix(']').ok_or_else(bad)?;
        let place = place.strip_prefix('=').unwrap_or(place);
        (spelled, Value::Glued, place)
    } else {
        // The places of the values start behind the last spelling.
        let last = text.rfind(", ").map_or(0, |comma| comma + 2);
        match text.get(last..).and_then(|last| last.find(' ')) {
            Some(space) => {
                let (spelled, places) = text.split_at_checked(last + space).ok_or_else(bad)?;
                (spelled, Value::Required, places.trim_start())
            }
            None => (text, Value::None, ""),
        }
    };
    let place = places.rsplit(' ').next().unwrap_or(places);
    let before = places.split(' ').count().saturating_sub(1);
    let kind = match place {
        "READ" => ValueKind::Read,
        "WRITE" => ValueKind::Write,
        "FOLDER" => ValueKind::Folder,
        "COMMAND" => ValueKind::Command,
        "SHELL" => ValueKind::Shell,
        "PROGRAM" => ValueKind::Program,
        "SCRIPT" => ValueKind::Script,
        "MODULE" => ValueKind::Module,
        "ARCHIVE" => ValueKind::Archive,
        _ => ValueKind::Text,
    };
    let spellings: Vec<String> = spelled.split(", ").map(str::to_owned).collect();
    // A bare letter is one of `bundle_first`, where it means something else than behind a dash.
    let fine = |spelling: &String| {
        (spelling.starts_with(['-', '+']) || spelling.len() == 1)
            && !spelling.trim_end_matches(',').contains([' ', '=', ','])
    };
    if !spellings.iter().all(fine) {
        return Err(bad());
    }
    Ok(OptionSpec {
        spellings,
        value,
        before,
        kind,
        effect,
        neutral_values: Vec::new(),
    })
}

fn operands(texts: &[String]) -> Result<(Vec<OperandKind>, Option<usize>), String> {
    let mut kinds = Vec::new();
    let mut repeated = None;
    for text in texts {
        let kind = match text.strip_suffix("...") {
            Some(kind) => {
                if repeated.replace(kinds.len()).is_some() {
                    return Err("two operands repeat".to_owned());
                }
                kind
            }
            None => text,
        };
        kinds.push(match kind {
            "text" => OperandKind::Text,
            "read" => OperandKind::Read,
            "write" => OperandKind::Write,
            "assignment" => OperandKind::Assignment,
            "effect" => OperandKind::Effect,
            "variable" => OperandKind::Variable,
            "setting" => OperandKind::Setting,
            "script" => OperandKind::Script,
            other => return Err(format!("`{other}` is no kind of operand")),
        });
    }
    Ok((kinds, repeated))
}

#[cfg(test)]
mod tests {
    use super::super::reading::Reading;
    use super::{Effect, Program, parse};
    use crate::model::script::{Span, Word};

    fn programs(text: &str) -> Vec<Program> {
        parse(text).unwrap_or_default()
    }

    /// The spelling, effect and value of every option of `line`, whose words hold no blanks.
    fn options(program: &Program, line: &str) -> Vec<(String, Option<Effect>, Option<String>)> {
        let words: Vec<Word> = line
            .split(' ')
            .map(|word| Word::text(Span::default(), word))
            .collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Reading::new(Some(program), &words)
            .seen
            .iter()
            .map(|seen| {
                let value = seen.value.as_ref().and_then(Word::as_static).map(text);
                (text(&seen.spelling), seen.effect(), value)
            })
            .collect()
    }

    fn one(
        name: &str,
        effect: Option<Effect>,
        value: Option<&str>,
    ) -> (String, Option<Effect>, Option<String>) {
        (name.to_owned(), effect, value.map(str::to_owned))
    }

    #[test]
    fn an_exact_name_is_never_abbreviated() {
        let all = programs(
            "[[program]]\nnames = [\"a\"]\nharmless = [\"--list-all\"]\n\
             [[program]]\nnames = [\"b\"]\nstyle = \"exact\"\nharmless = [\"--list-all\", \"-n N\"]",
        );
        let [gnu, exact] = all.as_slice() else {
            panic!("two programs");
        };
        let harmless = Some(Effect::Harmless);
        assert_eq!(options(gnu, "a --list"), [one("--list", harmless, None)]);
        assert_eq!(options(exact, "b --list"), [one("--list", None, None)]);
        assert_eq!(
            options(exact, "b -n5 --list-all"),
            [
                one("-n", harmless, Some("5")),
                one("--list-all", harmless, None)
            ]
        );
    }

    #[test]
    fn options_of_go_take_one_dash_or_two_and_no_glued_value() {
        let all = programs(
            "[[program]]\nnames = [\"a\"]\nstyle = \"go\"\nharmless = [\"-f TEXT\", \"-json\"]\n\
             executes = [\"-exec SHELL\"]",
        );
        let [go] = all.as_slice() else {
            panic!("one program");
        };
        let harmless = Some(Effect::Harmless);
        assert_eq!(
            options(go, "a --json -f x --exec=y"),
            [
                one("--json", harmless, None),
                one("-f", harmless, Some("x")),
                one("--exec", Some(Effect::Executes), Some("y")),
            ]
        );
        assert_eq!(options(go, "a -fake"), [one("-fake", None, None)]);
        assert_eq!(options(go, "a -- -json"), []);
    }

    #[test]
    fn a_word_behind_one_dash_may_hold_its_value() {
        let all = programs(
            "[[program]]\nnames = [\"a\"]\nstyle = \"single\"\nknown = [\"-Wl,[TEXT]\", \"-J[TEXT]\"]\n\
             executes = [\"-Jagent[READ]\"]",
        );
        let [program] = all.as_slice() else {
            panic!("one program");
        };
        assert_eq!(
            options(program, "a -Wl,-z,now -Wlogical -Jx -Jagent:y=z"),
            [
                one("-Wl,", Some(Effect::Known), Some("-z,now")),
                one("-Wlogical", None, None),
                one("-J", Some(Effect::Known), Some("x")),
                one("-Jagent", Some(Effect::Executes), Some(":y=z")),
            ]
        );
    }

    #[test]
    fn a_file_of_arguments_is_an_option_where_the_program_takes_one() {
        let all = programs(
            "[[program]]\nnames = [\"a\"]\nexecutes = [\"@[READ]\"]\n[[program]]\nnames = [\"b\"]",
        );
        let [takes, plain] = all.as_slice() else {
            panic!("two programs");
        };
        assert_eq!(
            options(takes, "a x @y -- @z"),
            [one("@", Some(Effect::Executes), Some("y"))]
        );
        assert_eq!(options(plain, "b @y"), []);
    }

    #[test]
    fn options_of_a_program_stand_behind_the_sub_command_when_they_are_inherited() {
        let all = programs(
            "[[program]]\nnames = [\"a\"]\nstyle = \"exact\"\ninherited = true\n\
             harmless = [\"-q, --quiet\"]\nexecutes = [\"--config TEXT\"]\n\
             [[program.subcommand]]\nnames = [\"b\"]\nwrites = [\"-q\"]\n\
             [[program.subcommand.subcommand]]\nnames = [\"c\"]",
        );
        let [program] = all.as_slice() else {
            panic!("one program");
        };
        let (harmless, executes) = (Some(Effect::Harmless), Some(Effect::Executes));
        assert_eq!(
            options(program, "a b c -q --config x --conf y"),
            [
                one("-q", harmless, None),
                one("--config", executes, Some("x")),
                one("--conf", None, None),
            ]
        );
        // What it says of the name itself counts.
        assert_eq!(
            options(program, "a b -q --quiet"),
            [
                one("-q", Some(Effect::Writes), None),
                one("--quiet", harmless, None)
            ]
        );
    }
}
