//! A throw-away mount, process and network namespace with this very program inside, which is asked by
//! messages. Every mount is read-only there but what the setup makes; what a line leaves running dies with
//! the namespace.

use std::io;
use std::process::{Child, Command, Stdio};

/// Who the program inside is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Nobody, without any capability.
    None,
    /// Whoever made the namespace, with what that gives inside it.
    Kept,
}

/// What stands inside a fence.
#[derive(Clone, Copy, Debug)]
pub struct Fence<'a> {
    /// First word of the program inside.
    pub mode: &'a str,
    /// A script for sh that makes folders; /mnt is empty and writable, the rest is not.
    pub setup: &'a str,
    /// Programs copied to /mnt/bin beside this one.
    pub programs: &'a [&'a str],
    pub rights: Rights,
}

/// Makes every mount read-only, lets the setup lay out what it wants, becomes the program. `$1` is the
/// program, `$2` its first word, `$3` the setup, `$4` how setpriv(1) drops what rights there are.
const SCRIPT: &str = r#"
own=$1 mode=$2 setup=$3 drop=$4
shift 4
mount --make-rprivate /
mount -t tmpfs -o size=512m,mode=755 fence /mnt
mkdir /mnt/bin
cp "$own" /mnt/bin/driver
for program; do cp "$program" /mnt/bin/; done
while read -r _ _ _ _ at options _; do
    case $at in /mnt | /mnt/* | /proc | /proc/*) continue ;; esac
    mount -o "remount,bind,ro,${options#r?,}" "$(printf %b "$at")" || test ! -w "$at"
done < /proc/self/mountinfo
# The test of the fence itself, while everything would still be allowed but for the mounts.
for place in / /tmp /var/tmp /etc /usr /dev/shm "${HOME:-/}" "$PWD"; do
    if touch "$place/fence-was-here" 2> /dev/null; then
        echo "fence: $place can be written" >&2
        exit 1
    fi
done
eval "$setup" > /dev/null
exec $drop /mnt/bin/driver "$mode"
"#;

/// The program in its namespace.
pub struct Stage {
    child: Child,
}

impl Stage {
    pub fn new(fence: &Fence<'_>) -> io::Result<Self> {
        let mut command = Command::new("unshare");
        let root = nix::unistd::geteuid().is_root();
        if root {
            command.arg("-mpfn");
        } else {
            command.args(["--map-current-user", "--keep-caps", "-mpfn"]);
        }
        let drop = match (fence.rights, root) {
            (Rights::Kept, _) => "",
            (Rights::None, true) => {
                "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all --bounding-set -all --no-new-privs"
            }
            (Rights::None, false) => {
                "setpriv --ambient-caps -all --inh-caps -all --bounding-set -all --no-new-privs"
            }
        };
        let child = command
            .args(["--mount-proc", "--kill-child", "sh", "-euc", SCRIPT, "sh"])
            .arg(std::env::current_exe()?)
            .args([fence.mode, fence.setup, drop])
            .args(fence.programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stage = Self { child };
        // The first answer tells that the stage stands.
        stage.receive()?;
        Ok(stage)
    }

    /// Sends a message and waits for its answer.
    pub fn ask(&mut self, message: &[u8]) -> io::Result<Vec<u8>> {
        let to = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        send(to, message)?;
        self.receive()
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        let from = self.child.stdout.as_mut();
        receive(from.ok_or(io::ErrorKind::BrokenPipe)?)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // End of input ends the program, and the end of process 1 the namespace.
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// The inside: says that it stands, then answers until the input ends.
pub fn serve(mut answer: impl FnMut(Vec<u8>) -> io::Result<Vec<u8>>) -> io::Result<()> {
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    send(&mut stdout, b"")?;
    while let Ok(message) = receive(&mut stdin) {
        send(&mut stdout, &answer(message)?)?;
    }
    Ok(())
}

fn send(to: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn receive(from: &mut impl io::Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
