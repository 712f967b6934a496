//! Seconds as dates and times of day, in UTC.

/// A second in the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Utc {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u8,
    /// From 1.
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
}

impl Utc {
    /// The time that is so many seconds after the beginning of 1970.
    pub(crate) fn of(seconds: i64) -> Utc {
        const DAY: i64 = 86_400;
        /// Days of 400 years, after which the calendar repeats.
        const ERA: i64 = 146_097;
        /// Years begin in March, for a leap day then ends one: from the first of March of the year 0 to 1970.
        const BEFORE_1970: i64 = 719_468;
        let days = seconds.div_euclid(DAY) + BEFORE_1970;
        let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
        let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        // From March on, months have 31, 30, 31, 30 and 31 days, again and again.
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (year, month) = match month {
            0..10 => (400 * era + year, month + 3),
            _ => (400 * era + year + 1, month - 9),
        };
        let second = seconds.rem_euclid(DAY);
        let [month, day, hour, minute, second] =
            [month, day, second / 3600, second / 60 % 60, second % 60].map(|part| part as u8);
        Utc { year, month, day, hour, minute, second }
    }
}

#[cfg(test)]
#[path = "../tests/unit/utc.rs"]
mod tests;
