//! What several test programs of this folder share: random numbers that can be repeated, a throw-away
//! namespace, and whether a predicted sub-command covers a command that really started.

pub mod cover;
pub mod fence;
pub mod rng;

/// The answers of two workers, each over half of `items`.
pub fn halves<T: Sync, A: Send>(items: &[T], work: impl Fn(&[T]) -> A + Sync) -> Vec<A> {
    let (left, right) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(right));
        let mut answers = vec![work(left)];
        match other.join() {
            Ok(answer) => answers.push(answer),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        answers
    })
}
