//! A root of its own for a tree of processes: laid out by the parent, mounted by the first process of a
//! mount namespace with system calls alone. mount_namespaces(7)

use std::ffi::{CStr, CString, c_int, c_uint};
use std::mem::{self, MaybeUninit};
use std::ptr;

use nix::errno::Errno;
use nix::libc;

use crate::sys::raw::{call, plain, word};

/// Where the new root is put together, under a name the finished root does not take over: everything
/// that is mounted comes from elsewhere. The old root is gone when the child runs.
const SITE: &CStr = c"/proc";

/// Mounts and names, in the order they are made.
#[derive(Debug, Default)]
pub struct Root {
    /// Entries; a folder stands before what lies in it.
    pub entries: Vec<Entry>,
    /// What may be done with the entries that exist in this root only; everything else keeps the rules
    /// of the file it is mounted from.
    pub rules: Vec<Rule>,
}

/// One name of a root.
#[derive(Debug)]
pub struct Entry {
    /// The name, relative to the root.
    pub at: CString,
    /// What stands there.
    pub what: What,
}

/// What an entry is made of.
#[derive(Debug)]
pub enum What {
    /// A folder; one that is there already serves as well.
    Folder,
    /// An empty file that anybody may read; one that is there already serves as well.
    File,
    /// A symbolic link with this text.
    Link(CString),
    /// A file or folder of the host with everything mounted below it.
    Bind(Bind),
    /// A file system in memory for everybody's scratch files, mode 1777.
    Scratch,
    /// The processes of the new process namespace. proc(5)
    Processes,
    /// Pseudo-terminals of its own. pts(4)
    Terminals,
}

/// A mount of a file or folder of the host.
#[derive(Debug)]
pub struct Bind {
    /// Its real path, without links.
    pub source: CString,
    /// What it has to be: device and inode. Anything else there is refused (ESTALE).
    pub id: (u64, u64),
    /// `MOUNT_ATTR_…` bits for it and everything mounted below. mount_setattr(2)
    pub attributes: u64,
}

/// A Landlock rule: what the tree may do beneath a name of the new root. landlock_add_rule(2)
#[derive(Debug)]
pub struct Rule {
    /// The absolute name.
    pub at: CString,
    /// `LANDLOCK_ACCESS_FS_…` bits.
    pub rights: u64,
}

/// Mounts the root and makes it the caller's and its namespace's. The caller needs CAP_SYS_ADMIN over
/// a mount namespace of its own, and process 1 of a process namespace for [`What::Processes`].
pub(super) fn enter(root: &Root) -> Result<(), Errno> {
    // What is mounted from here on stays here. mount_namespaces(7), shared subtrees
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mount(None, c"/", None, private, None)?;
    let site = libc::MS_NOSUID | libc::MS_NODEV;
    // Opened before the site hides the host's own; the new root is its own file system.
    mount(
        Some(c"tmpfs"),
        SITE,
        Some(c"tmpfs"),
        site,
        Some(c"mode=0755"),
    )?;
    let top = open(libc::AT_FDCWD, SITE, libc::O_PATH | libc::O_DIRECTORY)?;
    for entry in &root.entries {
        make(top, entry)?;
    }
    seal(top)?;
    plain(libc::SYS_fchdir, [word(top), 0, 0, 0, 0, 0])?;
    let here = c".".as_ptr() as usize;
    // SAFETY: both paths are the same NUL-terminated string. pivot_root(2), "pivot_root(".", ".")"
    unsafe { call(libc::SYS_pivot_root, [here, here, 0, 0, 0, 0]) }?;
    // SAFETY: the path is NUL-terminated. umount2(2)
    unsafe {
        call(
            libc::SYS_umount2,
            [here, word(libc::MNT_DETACH), 0, 0, 0, 0],
        )
    }?;
    close(top)?;
    let slash = c"/".as_ptr() as usize;
    // SAFETY: the path is NUL-terminated. chdir(2)
    unsafe { call(libc::SYS_chdir, [slash, 0, 0, 0, 0, 0]) }.map(|_| ())
}

/// Adds the rules of the root's own entries to the ruleset `fd`.
pub(super) fn allow(ruleset: c_int, rules: &[Rule]) -> Result<(), Errno> {
    /// `struct landlock_path_beneath_attr`, which is packed.
    #[repr(C, packed)]
    struct Beneath {
        rights: u64,
        parent: c_int,
    }
    const PATH_BENEATH: usize = 1;
    for rule in rules {
        let parent = open(libc::AT_FDCWD, &rule.at, libc::O_PATH)?;
        let beneath = Beneath {
            rights: rule.rights,
            parent,
        };
        let words = [
            word(ruleset),
            PATH_BENEATH,
            ptr::from_ref(&beneath) as usize,
            0,
            0,
            0,
        ];
        // SAFETY: the kernel reads one packed `landlock_path_beneath_attr`, 12 bytes, from `beneath`.
        // landlock_add_rule(2)
        let added = unsafe { call(libc::SYS_landlock_add_rule, words) };
        close(parent)?;
        added?;
    }
    Ok(())
}

/// Changes to a folder of the new root, which has to be the one that was meant (ESTALE).
pub(super) fn change_folder(path: &CStr, id: Option<(u64, u64)>) -> Result<(), Errno> {
    let folder = open(libc::AT_FDCWD, path, libc::O_PATH | libc::O_DIRECTORY)?;
    let changed = match identity(folder) {
        Ok(found) if id.is_none_or(|id| id == found) => {
            plain(libc::SYS_fchdir, [word(folder), 0, 0, 0, 0, 0])
        }
        Ok(_) => Err(Errno::ESTALE),
        Err(errno) => Err(errno),
    };
    close(folder)?;
    changed.map(|_| ())
}

fn make(top: c_int, entry: &Entry) -> Result<(), Errno> {
    match &entry.what {
        What::Folder => absent(make_folder(top, &entry.at)),
        What::File => absent(make_file(top, &entry.at)),
        What::Link(text) => link(text, top, &entry.at),
        What::Bind(bind) => attach(bind, top, &entry.at),
        What::Scratch => at(top, &entry.at, |path| {
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            mount(
                Some(c"tmpfs"),
                path,
                Some(c"tmpfs"),
                flags,
                Some(c"mode=1777"),
            )
        }),
        What::Processes => at(top, &entry.at, |path| {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            mount(Some(c"proc"), path, Some(c"proc"), flags, None)
        }),
        What::Terminals => at(top, &entry.at, |path| {
            let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
            let options = c"newinstance,ptmxmode=0666,mode=0620";
            mount(Some(c"devpts"), path, Some(c"devpts"), flags, Some(options))
        }),
    }
}

/// Something that is there already is no mistake: two entries may share a folder.
fn absent(made: Result<(), Errno>) -> Result<(), Errno> {
    match made {
        Err(Errno::EEXIST) => Ok(()),
        made => made,
    }
}

fn make_folder(top: c_int, at: &CStr) -> Result<(), Errno> {
    let words = [word(top), at.as_ptr() as usize, 0o755, 0, 0, 0];
    // SAFETY: the path is NUL-terminated. mkdirat(2)
    unsafe { call(libc::SYS_mkdirat, words) }.map(|_| ())
}

fn make_file(top: c_int, at: &CStr) -> Result<(), Errno> {
    let mode = (libc::S_IFREG | 0o444) as usize;
    let words = [word(top), at.as_ptr() as usize, mode, 0, 0, 0];
    // SAFETY: the path is NUL-terminated. mknodat(2)
    unsafe { call(libc::SYS_mknodat, words) }.map(|_| ())
}

fn link(text: &CStr, top: c_int, at: &CStr) -> Result<(), Errno> {
    let words = [
        text.as_ptr() as usize,
        word(top),
        at.as_ptr() as usize,
        0,
        0,
        0,
    ];
    // SAFETY: both strings are NUL-terminated. symlinkat(2)
    unsafe { call(libc::SYS_symlinkat, words) }.map(|_| ())
}

/// Takes a copy of the mount at the source, narrows it, and puts it in place: nothing is visible in
/// between that is wider. open_tree(2), mount_setattr(2), move_mount(2)
fn attach(bind: &Bind, top: c_int, at: &CStr) -> Result<(), Errno> {
    let found = open(
        libc::AT_FDCWD,
        &bind.source,
        libc::O_PATH | libc::O_NOFOLLOW,
    )?;
    let same = identity(found).and_then(|id| {
        if id == bind.id {
            Ok(())
        } else {
            Err(Errno::ESTALE)
        }
    });
    let tree = same.and_then(|()| clone_tree(found));
    close(found)?;
    let tree = tree?;
    let placed = narrow(tree, bind.attributes, true).and_then(|()| place(tree, top, at));
    close(tree)?;
    placed
}

fn clone_tree(found: c_int) -> Result<c_int, Errno> {
    let flags = libc::OPEN_TREE_CLONE
        | libc::OPEN_TREE_CLOEXEC
        | (libc::AT_EMPTY_PATH | libc::AT_RECURSIVE).cast_unsigned();
    let words = [word(found), c"".as_ptr() as usize, flags as usize, 0, 0, 0];
    // SAFETY: the path is an empty NUL-terminated string. open_tree(2)
    descriptor(unsafe { call(libc::SYS_open_tree, words) }?)
}

/// Sets mount attributes, on request for everything below as well.
fn narrow(tree: c_int, attributes: u64, recursive: bool) -> Result<(), Errno> {
    let set = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let below = if recursive { libc::AT_RECURSIVE } else { 0 };
    let words = [
        word(tree),
        c"".as_ptr() as usize,
        word(libc::AT_EMPTY_PATH | below),
        ptr::from_ref(&set) as usize,
        mem::size_of::<libc::mount_attr>(),
        0,
    ];
    // SAFETY: the kernel reads one `struct mount_attr` of the size given from `set`. mount_setattr(2)
    unsafe { call(libc::SYS_mount_setattr, words) }.map(|_| ())
}

fn place(tree: c_int, top: c_int, at: &CStr) -> Result<(), Errno> {
    const FROM_EMPTY_PATH: usize = 4;
    let words = [
        word(tree),
        c"".as_ptr() as usize,
        word(top),
        at.as_ptr() as usize,
        FROM_EMPTY_PATH,
        0,
    ];
    // SAFETY: both paths are NUL-terminated. move_mount(2), MOVE_MOUNT_F_EMPTY_PATH
    unsafe { call(libc::SYS_move_mount, words) }.map(|_| ())
}

/// The names of the root itself are finished: no more can be made, none removed.
fn seal(top: c_int) -> Result<(), Errno> {
    narrow(top, libc::MOUNT_ATTR_RDONLY, false)
}

/// Runs `with` on a path that means `at` below `top`: mount(2) takes no descriptor, and the caller's
/// folder is no use to anybody here.
fn at(top: c_int, at: &CStr, with: impl FnOnce(&CStr) -> Result<(), Errno>) -> Result<(), Errno> {
    plain(libc::SYS_fchdir, [word(top), 0, 0, 0, 0, 0])?;
    with(at)
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> Result<(), Errno> {
    let text = |text: Option<&CStr>| text.map_or(0, |text| text.as_ptr() as usize);
    let words = [
        text(source),
        target.as_ptr() as usize,
        text(kind),
        usize::try_from(flags).map_err(|_| Errno::EINVAL)?,
        text(options),
        0,
    ];
    // SAFETY: every string is NUL-terminated or null where mount(2) allows it.
    unsafe { call(libc::SYS_mount, words) }.map(|_| ())
}

fn open(at: c_int, path: &CStr, flags: c_int) -> Result<c_int, Errno> {
    let words = [
        word(at),
        path.as_ptr() as usize,
        word(flags | libc::O_CLOEXEC),
        0,
        0,
        0,
    ];
    // SAFETY: the path is NUL-terminated. openat(2)
    descriptor(unsafe { call(libc::SYS_openat, words) }?)
}

fn close(fd: c_int) -> Result<(), Errno> {
    plain(libc::SYS_close, [word(fd), 0, 0, 0, 0, 0]).map(|_| ())
}

fn descriptor(number: libc::c_long) -> Result<c_int, Errno> {
    c_int::try_from(number).map_err(|_| Errno::EBADF)
}

/// Device and inode of what `fd` is open on. statx(2)
fn identity(fd: c_int) -> Result<(u64, u64), Errno> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    let words = [
        word(fd),
        c"".as_ptr() as usize,
        word(libc::AT_EMPTY_PATH),
        libc::STATX_INO as c_uint as usize,
        found.as_mut_ptr() as usize,
        0,
    ];
    // SAFETY: the kernel writes one `struct statx` to `found`. statx(2)
    unsafe { call(libc::SYS_statx, words) }?;
    // SAFETY: zeroed above, and every bit pattern is a valid `statx` of integers.
    let found = unsafe { found.assume_init() };
    let device = libc::makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok((device, found.stx_ino))
}
