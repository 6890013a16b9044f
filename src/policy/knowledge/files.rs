//! The files of `policies/programs/`, compiled in.

/// One data file with the names it speaks of.
#[derive(Clone, Copy, Debug)]
pub struct ProgramFile {
    /// File name below `policies/programs/`.
    pub name: &'static str,
    /// Names of its programs, so that the text is parsed only when one of them is used.
    pub names: &'static [&'static str],
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! file {
    ($name:literal, $($program:literal)+) => {
        ProgramFile {
            name: $name,
            names: &[$($program),+],
            text: include_str!(concat!("../../../policies/programs/", $name)),
        }
    };
}

/// Every file. A test compares the names with the texts and the list with the folder.
pub(super) const FILES: [ProgramFile; 9] = [
    file!("shells.toml", "sh" "bash" "rbash" "dash" "ash" "zsh" "ksh" "mksh" "fish" "csh" "tcsh"),
    file!("builtins.toml", ":" "true" "false" "echo" "printf" "pwd" "test" "[" "cd" "pushd" "popd"
        "set" "wait" "shift" "local" "return" "exit" "break" "continue" "read" "type" "export"
        "declare" "typeset" "readonly" "unset" "let" "mapfile" "readarray" "getopts" "command"
        "builtin" "exec" "eval" "." "source" "trap" "compgen" "complete" "history" "fc" "time"
        "coproc" "enable" "hash" "alias"),
    file!("carriers.toml", "env" "xargs" "timeout" "nice" "ionice" "chrt" "taskset" "nohup" "setsid"
        "stdbuf" "unbuffer" "setarch" "linux32" "linux64" "unshare" "nsenter" "chroot" "prlimit"
        "strace" "ltrace" "sudo" "doas" "pkexec" "su" "runuser" "setpriv" "flock" "watch" "script"
        "parallel" "busybox" "toybox" "systemd-run" "at" "batch" "ed" "ex" "vi" "vim" "nvim"
        "expect" "gdb" "entr" "catchsegv" "firejail" "bwrap" "proot" "fakeroot" "dbus-run-session"
        "xvfb-run" "tmux" "screen" "ld.so"
        "ld-linux.so.2" "ld-linux-x86-64.so.2" "ld-linux-aarch64.so.1" "ld-musl-x86_64.so.1"
        "ld-musl-aarch64.so.1" "perf" "valgrind" "ssh-agent" "run-parts"),
    file!("runners.toml", "npx" "bunx" "uvx" "pipx" "ssh" "docker" "podman" "kubectl" "nix-shell"
        "npm" "pnpm" "yarn"),
    file!("files.toml", "ls" "cat" "head" "tail" "wc" "cut" "tr" "nl" "tac" "rev" "paste" "comm" "join"
        "fold" "fmt" "expand" "unexpand" "od" "hexdump" "xxd" "strings" "file" "stat" "du" "df"
        "basename" "dirname" "realpath" "readlink" "cmp" "diff" "md5sum" "sha1sum" "sha256sum"
        "sha512sum" "cksum" "sum" "b2sum" "tree" "column" "seq" "which" "cp" "mv" "rm" "rmdir"
        "mkdir" "touch" "ln" "chmod" "chown" "chgrp" "tee" "install" "truncate" "dd" "shred" "unlink"
        "link" "mktemp" "split" "csplit" "base64"
        "base32" "basenc" "patch"),
    file!("text.toml", "grep" "egrep" "fgrep" "rg" "sed" "awk" "gawk" "mawk" "nawk" "sort" "uniq" "jq"
        "less" "more" "man" "find" "fd" "perl"),
    file!("git.toml", "git"),
    file!("system.toml", "date" "uname" "whoami" "id" "groups" "hostname" "nproc" "arch" "uptime" "ps"
        "free" "printenv" "sleep" "tty" "getconf" "locale" "lscpu" "mount" "umount"),
    file!("archives.toml", "tar" "curl" "wget" "zip" "unzip" "gzip" "gunzip" "zcat" "xz" "bzip2" "rsync"
        "cargo" "make" "gmake" "go" "gcc" "g++" "cc" "c++" "clang" "clang++" "openssl" "ssh-keygen" "scp"
        "sftp"),
];

/// The compiled-in files, for the tests that check them.
pub fn program_files() -> Vec<ProgramFile> {
    FILES.to_vec()
}

impl ProgramFile {
    /// Its programs.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, in words.
    pub fn programs(&self) -> Result<Vec<super::Program>, String> {
        super::grammar::parse(self.text)
    }
}
