//! Calendar days, for rules that expire.

use jiff::civil::Date;

/// `YYYY-MM-DD` as days since 1970-01-01 UTC, as in `Facts::today`.
pub(super) fn days(text: &str) -> Option<i64> {
    let plain = text.len() == 10
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let date: Date = plain.then(|| text.parse().ok())??;
    Some(
        date.duration_since(Date::constant(1970, 1, 1))
            .as_secs()
            .div_euclid(86_400),
    )
}

/// The day as `YYYY-MM-DD`; `None` when the calendar does not reach that far.
pub(super) fn text(days: i64) -> Option<String> {
    let span = jiff::Span::new().try_days(days).ok()?;
    let date = Date::constant(1970, 1, 1).checked_add(span).ok()?;
    Some(date.to_string())
}

#[cfg(test)]
mod tests {
    use super::{days, text};

    #[test]
    fn counts_days_since_the_epoch() {
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(days("2027-01-31"), Some(20_849));
        assert_eq!(days("2027-02-30"), None);
        assert_eq!(days("2027-1-3"), None);
        assert_eq!(text(20_849).as_deref(), Some("2027-01-31"));
        assert_eq!(text(i64::MAX), None);
    }
}
