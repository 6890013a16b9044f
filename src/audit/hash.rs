//! SHA-256 of bytes, plain and keyed.

use sha2::{Digest as _, Sha256};

use crate::model::digest::Digest;

/// Bytes of one block of SHA-256.
const BLOCK: usize = 64;

pub(super) fn sha256(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// HMAC-SHA-256 (RFC 2104) under a key no longer than a block.
pub(super) fn hmac(key: &[u8; 32], message: &[u8]) -> Digest {
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize();
    Digest(outer.into())
}

#[cfg(test)]
mod tests {
    use super::hmac;

    /// RFC 4231, test cases 1 and 2; the keys are shorter than ours, and a key is padded with zeros.
    #[test]
    fn agrees_with_the_published_vectors() {
        let mut key = [0u8; 32];
        key[..20].fill(0x0b);
        assert_eq!(
            hmac(&key, b"Hi There").hex(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        let mut key = [0u8; 32];
        key[..4].copy_from_slice(b"Jefe");
        assert_eq!(
            hmac(&key, b"what do ya want for nothing?").hex(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
