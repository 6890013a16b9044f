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

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn counts_days_since_the_epoch() {
        assert_eq!(days("1970-01-01"), Some(0));
        assert_eq!(days("2027-01-31"), Some(20_849));
        assert_eq!(days("2027-02-30"), None);
        assert_eq!(days("2027-1-3"), None);
    }
}
