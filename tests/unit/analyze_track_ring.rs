//! Tests of `src/analyze/track/ring.rs`.

use super::*;
use crate::heap::Heap;

#[test]
fn unanswered_packets_are_not_all_kept() {
    let (base, n) = (1 << 24, 10 * LARGEST as u64);
    let mut ring = Ring::default();
    for x in base..base + n {
        let outstanding = outstanding(x, base, 0, Unanswered::Some);
        ring.put(x, outstanding, Sent { flags: SENT, ..Sent::default() });
    }
    assert_eq!(ring.slots.len(), UNANSWERED);
    assert_eq!(ring.room_until(base, 0, Unanswered::Some), u64::MAX);
    let last = base + n - 1;
    assert!(ring.get(last + 1 - UNANSWERED as u64).is_some() && ring.get(last - UNANSWERED as u64).is_none());
    // Of what was sent since the last acknowledgement, more are.
    let outstanding = outstanding(last + 1, base, last - 5000, Unanswered::Some);
    ring.put(last + 1, outstanding, Sent { flags: SENT, ..Sent::default() });
    assert_eq!(ring.slots.len(), LARGEST);
    assert!(ring.room_until(base, last - 5000, Unanswered::Some) == u64::MAX && ring.get(last).is_some());
}

#[test]
fn rings_share_a_room() {
    let room = Room::of(ROOM);
    let left = || room.0.load(Ordering::Relaxed);
    let mut rings: Vec<Ring> = (0..1000).map(|_| Ring::default()).collect();
    for ring in &mut rings {
        ring.grow_within(&room);
        ring.put(7, 0, Sent { flags: SENT, ..Sent::default() });
        ring.put(100_000, 99_993, Sent { flags: SENT, ..Sent::default() });
        assert!(ring.get(100_000).is_some());
    }
    assert_eq!(left(), 0);
    let all: usize = rings.iter().map(Heap::heap_bytes).sum();
    assert!(all <= ROOM + 1000 * FEW * size_of::<Sent>(), "{all}");
    // The first had room, the last not, and work all the same.
    assert_eq!((rings[0].slots.len(), rings[999].slots.len()), (LARGEST, FEW));
    assert!(rings[0].get(7).is_some());
    rings[999].put(100_001, 99_994, Sent { flags: SENT, ..Sent::default() });
    assert!(rings[999].get(100_000).is_some() && rings[999].get(100_001).is_some());
    rings.clear();
    assert_eq!(left(), ROOM);
}
