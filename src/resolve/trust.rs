//! Whether an allow rule may cover a file (trusted file).

use nix::sys::stat::SFlag;

use super::follow::{Trail, kind};
use crate::model::executable::Trust;
use crate::model::path::AbsolutePath;

/// Write permission of group and others. A sticky folder counts too: in `/tmp` anybody may put the
/// next component where none is yet. A private group counts too: its members are not ours to know.
const OTHERS_WRITE: u32 = 0o022;

/// Judges everything that was passed on the way to a file, by the path as found and by the links it
/// led through.
pub(super) fn trust(trail: &Trail, uid: u32, write_roots: &[AbsolutePath]) -> Trust {
    let written = |path: &AbsolutePath| write_roots.iter().any(|root| path.is_within(root));
    if written(&trail.real) || trail.steps.iter().any(|step| written(&step.path)) {
        return Trust::InWriteRoot;
    }
    let foreign = |owner: u32| owner != 0 && owner != uid;
    if trail.steps.iter().any(|step| foreign(step.stat.st_uid)) {
        return Trust::ForeignOwner;
    }
    // The mode of a link is always 0777 and means nothing. symlink(7)
    let writable = trail
        .steps
        .iter()
        .filter(|step| kind(&step.stat) != SFlag::S_IFLNK)
        .any(|step| step.stat.st_mode & OTHERS_WRITE != 0);
    if writable {
        return Trust::WritableByOthers;
    }
    Trust::Trusted
}

#[cfg(test)]
mod tests {
    use super::trust;
    use crate::model::executable::Trust;
    use crate::model::path::AbsolutePath;
    use crate::resolve::follow::{Trail, follow};
    use crate::resolve::testing::Tree;
    use nix::unistd::geteuid;

    /// The way from the test folder on: what lies above it is the machine's.
    fn way(tree: &Tree, name: &str) -> Trail {
        let mut trail = follow(&tree.root, name.as_bytes());
        trail.steps.retain(|step| step.path.is_within(&tree.root));
        trail
    }

    fn own(trail: &Trail, roots: &[AbsolutePath]) -> Trust {
        trust(trail, geteuid().as_raw(), roots)
    }

    #[test]
    fn own_files_are_trusted_until_a_bit_or_a_root_says_otherwise() {
        let tree = Tree::new();
        tree.folder("bin");
        tree.mode("bin", 0o755);
        tree.file("bin/x", b"", 0o755);
        assert_eq!(own(&way(&tree, "bin/x"), &[]), Trust::Trusted);
        assert_eq!(
            own(&way(&tree, "bin/x"), &[tree.path("bin")]),
            Trust::InWriteRoot
        );
        tree.mode("bin/x", 0o775);
        assert_eq!(own(&way(&tree, "bin/x"), &[]), Trust::WritableByOthers);
        tree.mode("bin/x", 0o755);
        tree.mode("bin", 0o1777);
        assert_eq!(own(&way(&tree, "bin/x"), &[]), Trust::WritableByOthers);
    }

    #[test]
    fn the_folder_of_a_link_counts_as_much_as_the_file() {
        let tree = Tree::new();
        for folder in ["bin", "open"] {
            tree.folder(folder);
            tree.mode(folder, 0o755);
        }
        tree.file("bin/x", b"", 0o755);
        tree.link("../bin/x", "open/x");
        assert_eq!(own(&way(&tree, "open/x"), &[]), Trust::Trusted);
        tree.mode("open", 0o777);
        assert_eq!(own(&way(&tree, "open/x"), &[]), Trust::WritableByOthers);
        tree.mode("open", 0o755);
        assert_eq!(
            own(&way(&tree, "open/x"), &[tree.path("open")]),
            Trust::InWriteRoot
        );
    }

    #[test]
    fn a_third_users_file_is_foreign() {
        let tree = Tree::new();
        tree.file("x", b"", 0o755);
        let mut trail = way(&tree, "x");
        let third = geteuid().as_raw().wrapping_add(7).max(1);
        trail.steps.last_mut().unwrap().stat.st_uid = third;
        assert_eq!(own(&trail, &[]), Trust::ForeignOwner);
        trail.steps.last_mut().unwrap().stat.st_uid = 0;
        assert_eq!(own(&trail, &[]), Trust::Trusted);
    }
}
