use super::Utc;

fn date(seconds: i64) -> (i64, u8, u8) {
    let Utc { year, month, day, .. } = Utc::of(seconds);
    (year, month, day)
}

#[test]
fn known_seconds() {
    for (seconds, date, time) in [
        (0, (1970, 1, 1), (0, 0, 0)),
        (-1, (1969, 12, 31), (23, 59, 59)),
        (951_827_696, (2000, 2, 29), (12, 34, 56)),
        (1_795_708_799, (2026, 11, 26), (15, 59, 59)),
        (4_107_542_400, (2100, 3, 1), (0, 0, 0)),
    ] {
        let utc = Utc::of(seconds);
        assert_eq!((utc.year, utc.month, utc.day), date, "{seconds}");
        assert_eq!((utc.hour, utc.minute, utc.second), time, "{seconds}");
    }
}

#[test]
fn each_day_follows_the_one_before_in_all_years_of_64_bits_of_nanoseconds() {
    let (from, to) = (i64::MIN / 1_000_000_000 / 86_400, i64::MAX / 1_000_000_000 / 86_400);
    let mut before = date((from - 1) * 86_400);
    for day in from..=to {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (year, month, day_of_month) = before;
        let last = match month {
            2 => 28 + is_leap(year) as u8,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let expected = match (day_of_month == last, month) {
            (true, 12) => (year + 1, 1, 1),
            (true, _) => (year, month + 1, 1),
            (false, _) => (year, month, day_of_month + 1),
        };
        before = date(day * 86_400);
        assert_eq!(before, expected);
    }
    assert_eq!(before.0, 2262);
}
