//! The keys of a policy file, in the order in which `policy fmt` writes them. The loader, the formatter
//! and the schema's test read the same lists.

/// At the top.
pub const TOP: [&str; 7] = [
    "version",
    "mode",
    "permissions",
    "rule",
    "workspace",
    "sandbox",
    "approvals",
];
/// What of them a project may hold: it may judge more strictly, and set nothing up.
pub const PROJECT: [&str; 3] = ["version", "permissions", "rule"];
/// In `[permissions]`.
pub const PERMISSIONS: [&str; 5] = ["allow", "ask", "deny", "read_only_defaults", "disable"];
/// In `[[rule]]`.
pub const RULE: [&str; 21] = [
    "id",
    "verdict",
    "commands",
    "kind",
    "paths",
    "hosts",
    "names",
    "tools",
    "with",
    "with_all",
    "without",
    "args",
    "cwd",
    "as_written",
    "sandbox",
    "network",
    "expires",
    "advisory",
    "why",
    "match",
    "no_match",
];
/// In `[workspace]`.
pub const WORKSPACE: [&str; 1] = ["within"];
/// In `[sandbox]`.
pub const SANDBOX: [&str; 5] = ["profile", "network", "user", "forbid_root", "gate"];
/// In `[approvals]`.
pub const APPROVALS: [&str; 3] = ["timeout", "headless", "command"];

/// Keys of the language that this version does not enforce yet, and so does not accept.
pub const TOP_LATER: [&str; 4] = ["profile", "reviewer", "audit", "hook"];
/// The same in `[approvals]`.
pub const APPROVALS_LATER: [&str; 5] = ["wait", "budget", "unattended", "frozen", "on_flag"];
