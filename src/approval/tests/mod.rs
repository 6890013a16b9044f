//! The stage as a whole, with real ptys and real commands.

mod answers;
mod external;
mod shown;
mod terminal;

use std::time::{Duration, Instant};

use super::wait::Wait;

/// Long enough for any machine; a test that needs it has failed already.
const LONG: Duration = Duration::from_secs(120);

fn wait(time: Duration) -> Wait<'static> {
    Wait {
        deadline: Instant::now() + time,
        cancel: Vec::new(),
    }
}
