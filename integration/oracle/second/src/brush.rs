//! brush-parser's opinion.

use brush_parser::ast::{
    AndOr, AndOrList, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand,
    CompoundList, ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, RedirectList,
    SimpleCommand, Word,
};
use brush_parser::word::{self, BraceExpressionOrText, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

use super::Argv;

/// The argvs of the script; none if it is not accepted.
pub fn argvs(text: &str) -> Option<Vec<Argv>> {
    let mut opinion = Opinion {
        options: ParserOptions {
            enable_extended_globbing: false,
            ..ParserOptions::default()
        },
        argvs: Vec::new(),
    };
    opinion.script(text)?;
    Some(opinion.argvs)
}

struct Opinion {
    options: ParserOptions,
    argvs: Vec<Argv>,
}

impl Opinion {
    fn script(&mut self, text: &str) -> Option<()> {
        let program = Parser::new(text.as_bytes(), &self.options)
            .parse_program()
            .ok()?;
        program
            .complete_commands
            .iter()
            .for_each(|list| self.list(list));
        Some(())
    }

    fn list(&mut self, list: &CompoundList) {
        list.0.iter().for_each(|item| self.and_or(&item.0));
    }

    fn and_or(&mut self, list: &AndOrList) {
        self.pipeline(&list.first);
        for more in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        pipeline
            .seq
            .iter()
            .for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.compound(&function.body.0);
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner)
            }
            ExtendedTestExpr::UnaryTest(_, word) => drop(self.word(word)),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left);
                self.word(right);
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.inside(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(each) => {
                for part in [&each.initializer, &each.condition, &each.updater]
                    .into_iter()
                    .flatten()
                {
                    self.inside(&part.value);
                }
                self.list(&each.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(group) => self.list(&group.list),
            CompoundCommand::ForClause(each) => {
                each.values
                    .iter()
                    .flatten()
                    .for_each(|word| drop(self.word(word)));
                self.list(&each.body.list);
            }
            CompoundCommand::CaseClause(case) => {
                self.word(&case.value);
                for item in &case.cases {
                    item.patterns.iter().for_each(|word| drop(self.word(word)));
                    item.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let mut argv: Argv = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            self.item(item, &mut Vec::new());
        }
        argv.extend(simple.word_or_name.as_ref().map(|word| self.word(word)));
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut argv);
        }
        if !argv.is_empty() {
            self.argvs.push(argv);
        }
    }

    fn item(&mut self, item: &CommandPrefixOrSuffixItem, argv: &mut Argv) {
        match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) => argv.push(self.word(word)),
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                match &assignment.value {
                    AssignmentValue::Scalar(_) => argv.push(self.word(word)),
                    AssignmentValue::Array(items) => {
                        for (key, value) in items {
                            key.iter().for_each(|key| drop(self.word(key)));
                            self.word(value);
                        }
                        argv.push(None);
                    }
                }
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => {
                self.list(&shell.list);
                argv.push(None);
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        redirects
            .iter()
            .flat_map(|list| &list.0)
            .for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        match redirect {
            IoRedirect::File(_, _, target) => match target {
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                    self.word(word);
                }
                IoFileRedirectTarget::Fd(_) => {}
                IoFileRedirectTarget::ProcessSubstitution(_, shell) => self.list(&shell.list),
            },
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.inside(&document.doc.value);
                }
            }
            IoRedirect::HereString(_, word) | IoRedirect::OutputAndError(word, _) => {
                self.word(word);
            }
        }
    }

    /// The commands in text that is expanded like a here-document: arithmetic, operands.
    fn inside(&mut self, text: &str) {
        if let Ok(pieces) = word::parse_heredoc(text, &self.options) {
            self.pieces(&pieces, true);
        }
    }

    /// The bytes of a word, when they are known; its commands are noted. A brace expansion counts as
    /// not known: what it makes is bash's business.
    fn word(&mut self, word: &Word) -> Option<String> {
        let braces = word::parse_brace_expansions(&word.value, &self.options);
        let pieces = word::parse(&word.value, &self.options).ok()?;
        let text = self.pieces(&pieces, false)?;
        let plain = |part: &BraceExpressionOrText| matches!(part, BraceExpressionOrText::Text(_));
        braces
            .is_ok_and(|parts| parts.iter().flatten().all(plain))
            .then_some(text)
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoted: bool) -> Option<String> {
        let parts: Vec<Option<String>> = pieces
            .iter()
            .map(|piece| self.piece(&piece.piece, quoted))
            .collect();
        parts.into_iter().collect()
    }

    fn piece(&mut self, piece: &WordPiece, quoted: bool) -> Option<String> {
        match piece {
            WordPiece::Text(text) if quoted || !is_pattern(text) => Some(text.clone()),
            WordPiece::SingleQuotedText(text) => Some(text.clone()),
            WordPiece::DoubleQuotedSequence(pieces) => self.pieces(pieces, true),
            WordPiece::EscapeSequence(text) => {
                let text = text.strip_prefix('\\').unwrap_or(text);
                Some(if text == "\n" {
                    String::new()
                } else {
                    text.to_owned()
                })
            }
            WordPiece::CommandSubstitution(text) => {
                self.script(text);
                None
            }
            WordPiece::BackquotedCommandSubstitution(text) => {
                self.script(&unescaped(text));
                None
            }
            WordPiece::GettextDoubleQuotedSequence(pieces) => {
                self.pieces(pieces, true);
                None
            }
            WordPiece::ArithmeticExpression(arithmetic) => {
                self.inside(&arithmetic.value);
                None
            }
            // What stands in operands is left out on both sides: brush keeps them as raw text.
            WordPiece::ParameterExpansion(_)
            | WordPiece::Text(_)
            | WordPiece::AnsiCQuotedText(_)
            | WordPiece::TildeExpansion(_) => None,
        }
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?']) || text.contains('[') && text.contains(']')
}

/// Text of backquotes as bash reads it a second time; brush hands it out as it stands.
fn unescaped(text: &str) -> String {
    let mut read = String::new();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        let escaped =
            (letter == '\\').then(|| rest.next_if(|next| matches!(next, '\\' | '`' | '$')));
        read.push(escaped.flatten().unwrap_or(letter));
    }
    read
}
