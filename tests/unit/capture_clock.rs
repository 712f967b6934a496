use super::*;
use crate::dissect::Link;

/// Clocks by their step, their offset, and the value of if_tsresol that they get.
#[test]
fn clocks_show_what_they_were_made_of() {
    for (resolution_ns, offset_s, resolution) in
        [(1, 0, 9), (1_000, 0, 6), (1_000_000_000, 7, 0), (976_562, -3, 0x8a), (8, 0, 9), (0, 0, 9)]
    {
        let interface = Interface { resolution_ns, offset_s, ..Interface::new(Link::ETHERNET) };
        let clock = Clock::of(&interface);
        assert_eq!((clock.resolution(), clock.offset_s()), (resolution, offset_s), "{resolution_ns} ns");
        for ticks in [0, 1, 2, 1023, 1024, 1_700_000_000, u64::from(u32::MAX)] {
            let time = clock.time(ticks);
            assert_eq!(clock.ticks(time), ticks, "{ticks} ticks of {resolution_ns} ns");
            assert!(clock.has(time));
        }
    }
}

#[test]
fn a_time_between_two_ticks_or_before_the_offset_is_none_of_a_clock() {
    let of = |resolution_ns, offset_s| {
        Clock::of(&Interface { resolution_ns, offset_s, ..Interface::new(Link::ETHERNET) })
    };
    assert!(!of(1_000, 0).has(Time(1_500)));
    assert!(!of(1_000, 10).has(Time(9_000_000_000)));
    assert!(!of(976_562, 0).has(Time(1)));
    assert!(of(1, 0).has(Time(1_500)));
    assert!(!of(1, 0).has(Time(-1)));
}
