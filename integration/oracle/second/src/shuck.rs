//! shuck-parser's opinion.

use shuck_ast::{
    ArrayElem, Assignment, AssignmentValue, BuiltinCommand, Command, CompoundCommand,
    ConditionalExpr, DeclOperand, HeredocBodyPart, Pattern, PatternPart, Redirect, RedirectTarget,
    SimpleCommand, Stmt, StmtSeq, Word, WordPart, WordPartNode,
};
use shuck_parser::ShellDialect;
use shuck_parser::parser::Parser;

use super::Argv;

/// The argvs of the script; none if it is not accepted.
pub fn argvs(text: &str) -> Option<Vec<Argv>> {
    let result = Parser::with_dialect(text, ShellDialect::Bash).parse();
    if result.is_err() {
        return None;
    }
    let mut opinion = Opinion {
        text,
        argvs: Vec::new(),
    };
    opinion.list(&result.file.body);
    Some(opinion.argvs)
}

struct Opinion<'t> {
    text: &'t str,
    argvs: Vec<Argv>,
}

impl Opinion<'_> {
    fn list(&mut self, list: &StmtSeq) {
        list.stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.command(&stmt.command);
        stmt.redirects.iter().for_each(|each| self.redirect(each));
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Builtin(builtin) => self.builtin(builtin),
            Command::Decl(declaration) => {
                self.assignments(&declaration.assignments);
                self.argvs
                    .push(vec![Some(declaration.variant.to_string()), None]);
                for operand in &declaration.operands {
                    match operand {
                        DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                            self.word(word);
                        }
                        DeclOperand::Assignment(assignment) => self.assignment(assignment),
                        DeclOperand::Name(_) => {}
                    }
                }
            }
            Command::Binary(binary) => {
                self.stmt(&binary.left);
                self.stmt(&binary.right);
            }
            Command::Compound(compound) => self.compound(compound),
            Command::Function(function) => self.stmt(&function.body),
            Command::AnonymousFunction(function) => self.stmt(&function.body),
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        self.assignments(&simple.assignments);
        let name = self.word(&simple.name);
        let literal = |part: &WordPartNode| matches!(part.kind, WordPart::Literal(_));
        if name.as_deref() == Some("")
            && simple.args.is_empty()
            && simple.name.parts.iter().all(literal)
        {
            // Assignments or redirections alone.
            return;
        }
        let mut argv = vec![name];
        argv.extend(simple.args.iter().map(|word| self.word(word)));
        self.argvs.push(argv);
    }

    fn builtin(&mut self, builtin: &BuiltinCommand) {
        let (name, first, rest, assignments) = match builtin {
            BuiltinCommand::Break(it) => ("break", &it.depth, &it.extra_args, &it.assignments),
            BuiltinCommand::Continue(it) => {
                ("continue", &it.depth, &it.extra_args, &it.assignments)
            }
            BuiltinCommand::Return(it) => ("return", &it.code, &it.extra_args, &it.assignments),
            BuiltinCommand::Exit(it) => ("exit", &it.code, &it.extra_args, &it.assignments),
        };
        self.assignments(assignments);
        let mut argv = vec![Some(name.to_owned())];
        argv.extend(first.iter().chain(rest).map(|word| self.word(word)));
        self.argvs.push(argv);
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::If(it) => {
                self.list(&it.condition);
                self.list(&it.then_branch);
                for (condition, branch) in &it.elif_branches {
                    self.list(condition);
                    self.list(branch);
                }
                it.else_branch.iter().for_each(|list| self.list(list));
            }
            CompoundCommand::For(it) => {
                it.words
                    .iter()
                    .flatten()
                    .for_each(|word| drop(self.word(word)));
                self.list(&it.body);
            }
            CompoundCommand::Repeat(it) => self.list(&it.body),
            CompoundCommand::Foreach(it) => self.list(&it.body),
            CompoundCommand::ArithmeticFor(it) => self.list(&it.body),
            CompoundCommand::While(it) => {
                self.list(&it.condition);
                self.list(&it.body);
            }
            CompoundCommand::Until(it) => {
                self.list(&it.condition);
                self.list(&it.body);
            }
            CompoundCommand::Case(it) => {
                self.word(&it.word);
                for case in &it.cases {
                    case.patterns.iter().for_each(|each| self.pattern(each));
                    self.list(&case.body);
                }
            }
            CompoundCommand::Select(it) => {
                it.words.iter().for_each(|word| drop(self.word(word)));
                self.list(&it.body);
            }
            CompoundCommand::Subshell(list) | CompoundCommand::BraceGroup(list) => self.list(list),
            CompoundCommand::Arithmetic(_) => {}
            CompoundCommand::Time(it) => it.command.iter().for_each(|stmt| self.stmt(stmt)),
            CompoundCommand::Conditional(it) => self.test(&it.expression),
            CompoundCommand::Coproc(it) => self.stmt(&it.body),
            CompoundCommand::Always(it) => {
                self.list(&it.body);
                self.list(&it.always_body);
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern) {
        for part in &pattern.parts {
            if let PatternPart::Word(word) = &part.kind {
                self.word(word);
            }
        }
    }

    fn test(&mut self, test: &ConditionalExpr) {
        match test {
            ConditionalExpr::Binary(it) => {
                self.test(&it.left);
                self.test(&it.right);
            }
            ConditionalExpr::Unary(it) => self.test(&it.expr),
            ConditionalExpr::Parenthesized(it) => self.test(&it.expr),
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => drop(self.word(word)),
            ConditionalExpr::Pattern(pattern) => self.pattern(pattern),
            ConditionalExpr::VarRef(_) => {}
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        assignments.iter().for_each(|each| self.assignment(each));
    }

    fn assignment(&mut self, assignment: &Assignment) {
        match &assignment.value {
            AssignmentValue::Scalar(word) => drop(self.word(word)),
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    let (ArrayElem::Sequential(value)
                    | ArrayElem::Keyed { value, .. }
                    | ArrayElem::KeyedAppend { value, .. }) = element;
                    self.word(value);
                }
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        match &redirect.target {
            RedirectTarget::Word(word) => drop(self.word(word)),
            RedirectTarget::Heredoc(document) => {
                for part in &document.body.parts {
                    if let HeredocBodyPart::CommandSubstitution { body, .. } = &part.kind {
                        self.list(body);
                    }
                }
            }
        }
    }

    /// The bytes of a word, when they are known; its commands are noted.
    fn word(&mut self, word: &Word) -> Option<String> {
        // What braces make is bash's business.
        let braces = !word.brace_syntax.is_empty();
        let text = self.parts(&word.parts, false);
        text.filter(|_| !braces)
    }

    fn parts(&mut self, parts: &[WordPartNode], quoted: bool) -> Option<String> {
        let parts: Vec<Option<String>> = parts.iter().map(|part| self.part(part, quoted)).collect();
        parts.into_iter().collect()
    }

    fn part(&mut self, part: &WordPartNode, quoted: bool) -> Option<String> {
        match &part.kind {
            WordPart::Literal(text) => {
                let raw = text.as_str(self.text, part.span);
                (quoted || !raw.contains(['*', '?', '[', '~', '\\'])).then(|| raw.to_owned())
            }
            WordPart::SingleQuoted {
                value,
                dollar: false,
            } => Some(value.slice(self.text).to_owned()),
            WordPart::DoubleQuoted {
                parts,
                dollar: false,
            } => self.parts(parts, true),
            WordPart::DoubleQuoted { parts, .. } => {
                self.parts(parts, true);
                None
            }
            WordPart::CommandSubstitution { body, .. }
            | WordPart::ProcessSubstitution { body, .. } => {
                self.list(body);
                None
            }
            WordPart::ArithmeticExpansion {
                expression_word_ast,
                ..
            } => {
                self.word(expression_word_ast);
                None
            }
            // What stands in operands is left out on both sides.
            _ => None,
        }
    }
}
