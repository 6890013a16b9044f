//! SHA-256 as an identity of content.

use std::fmt;
use std::str::FromStr;

/// The SHA-256 of a file's content (FIPS 180-4), written `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// Why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is written `sha256:` and 64 hex digits")]
pub struct BadDigest;

impl Digest {
    /// The 64 hex digits without the algorithm.
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        self.0
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                // Writing to a String cannot fail.
                write!(text, "{byte:02x}").ok();
                text
            })
    }

    /// The first 12 hex digits: enough to compare by eye, never enough to decide by.
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let hex = text.strip_prefix("sha256:").ok_or(BadDigest)?.as_bytes();
        let mut bytes = [0u8; 32];
        let (pairs, rest) = hex.as_chunks::<2>();
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(BadDigest);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = (nibble(*high)? << 4) | nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn nibble(hex: u8) -> Result<u8, BadDigest> {
    match hex {
        b'0'..=b'9' => Ok(hex - b'0'),
        b'a'..=b'f' => Ok(hex - b'a' + 10),
        b'A'..=b'F' => Ok(hex - b'A' + 10),
        _ => Err(BadDigest),
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn printing_and_parsing_is_identity() {
        let digest = Digest([0xa5; 32]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert!("sha256:a5".parse::<Digest>().is_err());
        assert!("a5".repeat(32).parse::<Digest>().is_err());
    }
}
