use super::{LATEST, Tail, Tails};

fn tail(hi: u64, most: u64, is_asked: bool) -> Tail {
    Tail { hi, most, is_asked, unanswered: None }
}

/// What was sent unseen comes later: a sender that came ten packets further had sent no more than those.
#[test]
fn no_tail_is_longer_than_what_came_since() {
    let mut tails = Tails::default();
    tails.add(tail(100, 1 << 16, false), 2);
    tails.add(tail(110, 1 << 16, false), 3);
    assert_eq!(tails.most(110, 4), (10 + 4, 0));
    assert_eq!(tails.most(200, 4), (100 + 90, 0));
}

/// Older ones are sums.
#[test]
fn many_tails_take_no_more_memory() {
    let mut tails = Tails::default();
    for n in 0..2 * LATEST as u64 {
        tails.add(tail(n, 3, n % 2 == 0), 1);
    }
    assert_eq!(tails.latest.len(), LATEST);
    assert_eq!(tails.most(10_000, 0), (3 * LATEST as u64, 3 * LATEST as u64));
}

/// However long a tail may be, it was lost only if the last packet was.
#[test]
fn tails_before_a_question_count_once() {
    let mut tails = Tails::default();
    tails.add(tail(100, 90, true), 2);
    assert_eq!(tails.may_be_lost_by_questions(90, 1, 400), 1);
    assert_eq!(tails.may_be_lost_by_questions(0, 1, 400), 0);
    tails.gap(3);
    assert_eq!(tails.may_be_lost_by_questions(90, 1, 400), 6);
}

/// One in a thousand packets was lost: hardly any of the hundred that may have been in tails was. Where losses are long, so may tails be.
#[test]
fn tails_are_lost_as_often_as_others() {
    let mut tails = Tails::default();
    assert_eq!(tails.may_be_lost(0, 10, 10_000), 0);
    let few = tails.may_be_lost(100, 10, 10_000);
    assert!((1..4).contains(&few), "{few}");
    tails.gap(5);
    assert_eq!(tails.may_be_lost(100, 10, 10_000), 10 * few);
    // Most were lost: so may all of these be.
    assert_eq!(tails.may_be_lost(10, 50, 20), 10);
}
