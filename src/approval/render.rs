//! The question as text for a terminal. Nothing is cut: what does not fit is wrapped.

use std::ffi::OsStr;
use std::time::Duration;

use crate::model::judgement::Reason;
use crate::model::verdict::Verdict;

use super::question::{File, Part, Question};
use super::risk::{Risk, Severity};

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// None.
    Plain,
    /// Colours and bold.
    Colour,
}

impl Paint {
    /// Colour unless `NO_COLOR` is set to anything (no-color.org) or `TERM` is absent or `dumb`. For
    /// output that is known to be a terminal.
    pub fn choose(no_color: Option<&OsStr>, term: Option<&OsStr>) -> Self {
        let refused = no_color.is_some_and(|value| !value.is_empty());
        match term {
            Some(term) if !refused && term != "dumb" && !term.is_empty() => Self::Colour,
            Some(_) | None => Self::Plain,
        }
    }

    const fn code(self, style: Style) -> &'static str {
        match (self, style) {
            (Self::Plain, _) => "",
            (Self::Colour, Style::Strong) => "\x1b[1m",
            (Self::Colour, Style::Good) => "\x1b[32m",
            (Self::Colour, Style::Warn) => "\x1b[1;33m",
            (Self::Colour, Style::Bad) => "\x1b[1;31m",
            (Self::Colour, Style::Faint) => "\x1b[2m",
            (Self::Colour, Style::Off) => "\x1b[0m",
        }
    }
}

#[derive(Clone, Copy)]
enum Style {
    Strong,
    Good,
    Warn,
    Bad,
    Faint,
    Off,
}

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What decides.
    Brief,
    /// Everything.
    Full,
}

/// The column in which values stand.
const LABEL: usize = 13;

/// The column in which further lines go on, outside of fields.
const HANG: usize = 7;

/// Draws `question` for a terminal of `width` columns. Each line ends in `\n`.
pub fn render(question: &Question, detail: Detail, width: usize, paint: Paint) -> String {
    let mut page = Page {
        out: String::new(),
        width,
        paint,
    };
    head(&mut page, question);
    for (index, part) in question.parts.iter().enumerate() {
        subcommand(&mut page, index.saturating_add(1), part, detail);
    }
    if question.parts.is_empty() {
        page.field("", "no sub-command could be read from the line");
    }
    page.blank();
    page.field("in", question.cwd.as_str());
    page.field(
        "sandbox",
        &format!(
            "profile {}{}, network {}",
            question.profile,
            question
                .confined_by
                .as_ref()
                .map(|rule| format!(" (rule {})", rule.as_str()))
                .unwrap_or_default(),
            question.network
        ),
    );
    // The first line sums it up.
    let lines = match detail {
        Detail::Brief => 1,
        Detail::Full => usize::MAX,
    };
    for (index, line) in question.proof.iter().take(lines).enumerate() {
        page.field(if index == 0 { "proof" } else { "" }, line.as_str());
    }
    page.field("runs as", question.identity.as_str());
    for (name, id) in &question.ids {
        page.field(name, &format!("{id} (says the caller)"));
    }
    if let Some(claim) = &question.claim {
        page.quote("claim", claim.as_str());
        page.field("", "the caller's own words; nobody checked them");
    }
    if detail == Detail::Full {
        full(&mut page, question);
    }
    page.out
}

fn head(page: &mut Page, question: &Question) {
    let style = match question.severity {
        Severity::Low => Style::Strong,
        Severity::Medium => Style::Warn,
        Severity::High => Style::Bad,
    };
    page.blank();
    page.styled(
        Style::Strong,
        0,
        &format!("tipstaff: may this run? {}", question.object),
    );
    page.blank();
    for change in &question.changes {
        page.styled(
            Style::Bad,
            2,
            &format!("CHANGED since it was approved: {change}"),
        );
    }
    for (index, line) in question.line.iter().enumerate() {
        page.quote(if index == 0 { "line" } else { "" }, line.as_str());
    }
    page.field("asked for", why(question.why));
    if question.forced {
        page.field("", "no mode or grant can answer this one");
    }
    page.label("severity");
    page.lines(question.severity.word(), "", "", style);
    page.blank();
}

fn subcommand(page: &mut Page, number: usize, part: &Part, detail: Detail) {
    page.styled(Style::Strong, 2, &format!("{number}. {}", part.command));
    let style = match part.verdict {
        Verdict::Allow => Style::Good,
        Verdict::Ask => Style::Warn,
        Verdict::Deny => Style::Bad,
    };
    let rule = part.rule.as_ref().map_or(String::new(), |rule| {
        let place = rule
            .place
            .as_ref()
            .map_or(String::new(), |place| format!(" at {place}"));
        let why = rule
            .why
            .as_ref()
            .map_or(String::new(), |why| format!(": {why}"));
        format!(
            "; {} rule `{}` ({}){place}{why}",
            rule.layer, rule.text, rule.id
        )
    });
    page.styled(
        style,
        5,
        &format!("{}: {}{rule}", part.verdict, why(part.reason)),
    );
    for file in &part.files {
        page.at(5, &shown_file(file, detail));
        if detail == Detail::Full {
            page.at(5, &file.digest);
        }
        if file.mutable {
            page.styled(
                Style::Warn,
                5,
                "MUTABLE: the run itself can change this file",
            );
        }
    }
    if let Some(program) = &part.program {
        page.at(5, program.as_str());
    }
    for access in &part.accesses {
        page.at(5, access.as_str());
    }
    if let Some(folder) = &part.folder {
        page.at(5, &format!("in {folder}"));
    }
    if let Some(carrier) = part.carried_by {
        page.at(5, &format!("started by {carrier}."));
    }
    if part.runs_workspace_code {
        page.styled(
            Style::Warn,
            5,
            "runs code that lies in the workspace, whatever it says",
        );
    }
    let stakes = match part.risk {
        Risk::Unknown => "what it does is not known, only the sandbox limits it".to_owned(),
        Risk::Read | Risk::Write | Risk::Privileged | Risk::Forbidden => {
            format!(
                "risk {}, reaches {}",
                part.risk.word(),
                part.authority.word()
            )
        }
    };
    let severity = part.severity.word();
    page.styled(Style::Faint, 5, &format!("{stakes}; severity {severity}"));
    if detail == Detail::Full
        && let Some(remedy) = &part.remedy
    {
        page.at(5, remedy.as_str());
    }
}

fn shown_file(file: &File, detail: Detail) -> String {
    let found = file
        .found_as
        .as_ref()
        .map_or(String::new(), |found| format!(" (found as {found})"));
    let short = match detail {
        Detail::Brief => format!(" {}", file.short),
        // It follows in full on a line of its own.
        Detail::Full => String::new(),
    };
    format!("{}{found}{short}, {}", file.path, file.trust)
}

fn full(page: &mut Page, question: &Question) {
    page.field("object", "one exact call; its digest is");
    page.at(5, &question.object.digest().to_string());
    page.field("started", question.start.as_str());
    page.field("may write", &join(&question.writes));
    page.field("variables", &join(&question.environment));
}

fn join(texts: &[super::words::Shown]) -> String {
    let texts: Vec<&str> = texts.iter().map(super::words::Shown::as_str).collect();
    if texts.is_empty() {
        "nothing".to_owned()
    } else {
        texts.join(", ")
    }
}

/// A duration as people say it, whole seconds.
pub fn spoken(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// A reason in the words of a question.
pub const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::PolicyInvalid => "the policy cannot be loaded",
        Reason::RuleDeny => "a deny rule matches",
        Reason::SandboxUnavailable => "the sandbox is not proved as required",
        Reason::RuleAsk => "an ask rule matches",
        Reason::Opaque => "part of the line cannot be understood before it runs",
        Reason::Dynamic => "part of it is known only when the shell runs",
        Reason::Unmatched => "no rule allows it",
        Reason::ProgramNotFound => "the program is not found",
        Reason::ProgramUnusable => "the program cannot be identified or run",
        Reason::ProgramUntrusted => "a rule allows the name, but the file is not a trusted one",
        Reason::RuleAllow => "an allow rule covers it",
        Reason::ReadOnlyDefault => "known to only read",
        Reason::NoAccess => "it accesses nothing",
        Reason::Approved => "the approver said yes",
        Reason::Refused => "the approver said no",
        Reason::NoApprover => "somebody has to be asked, and nobody can be",
        Reason::DontAsk => "it would have to be asked about, and the mode asks nothing",
        Reason::PlanMode => "mode plan runs only what is known to read",
        Reason::Timeout => "nobody answered in time",
        Reason::ApproverError => "the approver failed",
        Reason::CallChanged => "it is no longer what was judged",
        Reason::Cancelled => "it was cancelled",
        Reason::Bypass => "mode bypass, in a proved sandbox",
        Reason::ProgramHidden => "what would run is not the file that is executed",
    }
}

struct Page {
    out: String,
    width: usize,
    paint: Paint,
}

impl Page {
    fn blank(&mut self) {
        self.out.push('\n');
    }

    fn label(&mut self, label: &str) {
        self.out.push_str("  ");
        self.out.push_str(self.paint.code(Style::Faint));
        self.out
            .push_str(&format!("{label:<width$}", width = LABEL - 2));
        self.out.push_str(self.paint.code(Style::Off));
    }

    fn field(&mut self, label: &str, text: &str) {
        self.label(label);
        self.lines(text, "", &" ".repeat(LABEL), Style::Off);
    }

    /// Words of others, which may be any: each line of them is marked, so that none can pose as ours.
    fn quote(&mut self, label: &str, text: &str) {
        self.label(label);
        self.lines(text, "| ", &format!("{}+ ", " ".repeat(LABEL)), Style::Off);
    }

    fn at(&mut self, column: usize, text: &str) {
        self.styled(Style::Off, column, text);
    }

    /// What goes on in a further line stands further in than anything that starts one.
    fn styled(&mut self, style: Style, column: usize, text: &str) {
        self.lines(text, &" ".repeat(column), &" ".repeat(HANG), style);
    }

    /// Writes `text` after `first`, what does not fit after `further`. Each line on its own is in
    /// colour, so that none runs into what follows.
    fn lines(&mut self, text: &str, first: &str, further: &str, style: Style) {
        let (on, off) = match style {
            Style::Off => ("", ""),
            Style::Strong | Style::Good | Style::Warn | Style::Bad | Style::Faint => {
                (self.paint.code(style), self.paint.code(Style::Off))
            }
        };
        let mut lead = first;
        for line in wrap(text, self.width.saturating_sub(further.len())) {
            for piece in [lead, on, line, off, "\n"] {
                self.out.push_str(piece);
            }
            lead = further;
        }
    }
}

/// Breaks `text` into lines of less than `columns`: at a blank where one stands in the second half of
/// the line, else anywhere. Characters outside ASCII count double: too early a break is harmless, too
/// late a one hides.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<&str> {
    let room = columns.saturating_sub(1).max(16);
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(cut) = overflow(rest, room) {
        let (head, tail) = rest.split_at(cut);
        let at_blank = head.rfind(' ').filter(|at| *at > cut / 2);
        let (line, next) = match at_blank {
            Some(at) => {
                let (line, blank) = rest.split_at(at);
                (line, blank.strip_prefix(' ').unwrap_or(blank))
            }
            None => (head, tail),
        };
        lines.push(line);
        rest = next;
    }
    lines.push(rest);
    lines
}

/// Byte offset of the first character that does not fit into `columns`.
fn overflow(text: &str, columns: usize) -> Option<usize> {
    let mut used = 0usize;
    text.char_indices()
        .find(|(_, c)| {
            used = used.saturating_add(if c.is_ascii() { 1 } else { 2 });
            used > columns
        })
        .map(|(at, _)| at)
}
