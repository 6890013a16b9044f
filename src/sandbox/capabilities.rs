//! Which capabilities the supervisor itself holds. The command gets none of them, whatever they are;
//! they decide what the supervisor can do for it: become another user, empty the bounding set.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};

use super::probe::Layer;

/// What is needed of root, and for what. capabilities(7)
const NEEDED: [(Capability, &str); 3] = [
    (Capability::CAP_SETUID, "`--user`"),
    (Capability::CAP_SETGID, "`--user`"),
    (Capability::CAP_SETPCAP, "emptying the bounding set"),
];

/// What the calling thread holds, in words.
pub(super) fn layer(root: bool) -> Layer {
    match effective() {
        Ok(held) => described(&held, root),
        Err(error) => Layer {
            name: NAME,
            works: false,
            seen: format!("cannot be read: {error}"),
        },
    }
}

const NAME: &str = "capabilities";

/// The effective set of the calling thread. capget(2)
fn effective() -> Result<CapsHashSet, CapsError> {
    caps::read(None, CapSet::Effective)
}

fn described(held: &CapsHashSet, root: bool) -> Layer {
    let missing: Vec<String> = NEEDED
        .iter()
        .filter(|(capability, _)| root && !held.contains(capability))
        .map(|(capability, purpose)| format!("{capability} for {purpose}"))
        .collect();
    let holds = match held.len() {
        0 => "the supervisor holds none".to_owned(),
        count if root => format!("the supervisor holds {count}"),
        // Few, given to the file or the session; which ones is worth knowing.
        _ => {
            let mut names: Vec<String> = held.iter().map(ToString::to_string).collect();
            names.sort_unstable();
            format!("the supervisor holds {}", names.join(", "))
        }
    };
    Layer {
        name: NAME,
        works: missing.is_empty(),
        seen: if missing.is_empty() {
            format!("{holds}, the command gets none")
        } else {
            format!(
                "{holds}, the command gets none; missing: {}; let the container keep them, or start as the user the command shall run as",
                missing.join(", ")
            )
        },
    }
}

#[cfg(test)]
mod tests {
    use caps::{Capability, CapsHashSet};

    use super::{described, effective};

    /// The kernel tells the same by another way.
    #[test]
    fn what_is_read_is_what_proc_says() {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let hex = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))
            .unwrap();
        let kernel = u64::from_str_radix(hex.trim(), 16).unwrap();
        let read = effective()
            .unwrap()
            .iter()
            .fold(0, |mask, capability| mask | capability.bitmask());
        assert_eq!(read, kernel);
    }

    #[test]
    fn root_needs_three_and_others_need_none() {
        let all = caps::all();
        let none = CapsHashSet::new();
        assert!(described(&all, true).works);
        assert!(described(&none, false).works);
        let without = described(&none, true);
        assert!(!without.works);
        for name in ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "--user"] {
            assert!(without.seen.contains(name), "{}", without.seen);
        }
        let mut most = all;
        most.remove(&Capability::CAP_SETGID);
        let most = described(&most, true);
        assert!(most.seen.contains("CAP_SETGID") && !most.seen.contains("CAP_SETUID"));
    }

    #[test]
    fn what_an_ordinary_user_was_given_is_named() {
        let given = CapsHashSet::from([Capability::CAP_NET_ADMIN]);
        assert_eq!(
            described(&given, false).seen,
            "the supervisor holds CAP_NET_ADMIN, the command gets none"
        );
    }
}
