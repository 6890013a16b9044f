//! The data format of `policies/programs/*.toml`; its language is explained in `policies/README.md`.

use serde::Deserialize;

/// How options are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Style {
    /// `--long[=VALUE]` with abbreviations, `-abc` bundles, glued values, `--`.
    #[default]
    Gnu,
    /// `-word VALUE`, as in find and java.
    Single,
    /// No options: every word is an operand.
    None,
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
    pub(crate) kind: ValueKind,
    pub(crate) effect: Effect,
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
}

/// The language of a program text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Language {
    /// Scripts of sed.
    Sed,
    /// Programs of awk.
    Awk,
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
    /// With one of these options nothing is started.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Only with one of these options something is started.
    #[serde(default)]
    pub(crate) only_with: Vec<String>,
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
    #[serde(default)]
    style: Style,
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
}

impl TryFrom<ProgramText> for Program {
    type Error = String;

    fn try_from(text: ProgramText) -> Result<Self, String> {
        if text.names.is_empty() || text.names.iter().any(String::is_empty) {
            return Err("a program without a name".to_owned());
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
        let (operands, repeated) = operands(text.operands.as_deref().unwrap_or(&[]))?;
        // Left out, the operands are unclaimed text; an empty list says that there are none.
        let (operands, repeated) = match text.operands {
            None => (vec![OperandKind::Text], Some(0)),
            Some(_) => (operands, repeated),
        };
        Ok(Self {
            names: text.names,
            read_only: text.read_only,
            style: text.style,
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
            subcommands: text
                .subcommand
                .into_iter()
                .map(Self::try_from)
                .collect::<Result<_, _>>()?,
            plain_output: text.plain_output,
            reads_variables: text.reads_variables,
            lists_with: text.lists_with,
            lists_only: text.lists_only,
            examples: text.examples,
        })
    }
}

/// `-o, --output WRITE`, `--color[=WHEN]`, `-i[SUFFIX]`, `-v`.
fn option(text: &str, effect: Effect) -> Result<OptionSpec, String> {
    let bad = || format!("`{text}` is no option");
    let (spelled, value, place) = if let Some((spelled, place)) = text.split_once('[') {
        let place = place.strip_suffix(']').ok_or_else(bad)?;
        let place = place.strip_prefix('=').unwrap_or(place);
        (spelled, Value::Glued, place)
    } else {
        match text.rsplit_once(' ') {
            Some((spelled, place)) if !place.starts_with(['-', '+']) => {
                (spelled, Value::Required, place)
            }
            Some(_) | None => (text, Value::None, ""),
        }
    };
    let kind = match place {
        "READ" => ValueKind::Read,
        "WRITE" => ValueKind::Write,
        "FOLDER" => ValueKind::Folder,
        "COMMAND" => ValueKind::Command,
        "SHELL" => ValueKind::Shell,
        "PROGRAM" => ValueKind::Program,
        _ => ValueKind::Text,
    };
    let spellings: Vec<String> = spelled.split(", ").map(str::to_owned).collect();
    let fine =
        |spelling: &String| spelling.starts_with(['-', '+']) && !spelling.contains([' ', '=', ',']);
    if !spellings.iter().all(fine) {
        return Err(bad());
    }
    Ok(OptionSpec {
        spellings,
        value,
        kind,
        effect,
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
            other => return Err(format!("`{other}` is no kind of operand")),
        });
    }
    Ok((kinds, repeated))
}
