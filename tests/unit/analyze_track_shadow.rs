use super::{Answers, AskedFor, BEHIND, Shadow, may_be_lost};

/// By a table of the negative binomial distribution.
#[test]
fn few_losses_leave_few_in_their_shadows() {
    // One of 820 was lost: of 45 that nobody knows of, more than two are with a chance of 0.0003.
    assert_eq!(may_be_lost(45, 1, 820), Some(2));
    assert_eq!(may_be_lost(0, 5, 100), Some(0));
    // Eight of 2,000 were lost, and 500 are hidden: two are expected.
    assert_eq!(may_be_lost(500, 8, 2000), Some(10));
    // Most packets are hidden, and many of the others were lost: all of these may be.
    assert_eq!(may_be_lost(10, 50, 20), None);
    let many = may_be_lost(1_000_000, 10_000, 10_000_000).unwrap();
    assert!((1_100..1_200).contains(&many), "{many}");
}

/// Losses whose question came so long after the first and the second packet behind them, and the next ones as regularly.
fn of(asked: impl IntoIterator<Item = [i64; 2]>) -> Shadow {
    let mut shadow = Shadow::default();
    for [first, second] in asked {
        let after = BEHIND.map(|n| Some(first - (first - second) * (n as i64 - 1)));
        shadow.after(AskedFor { after, waited: false, behind: 49 });
    }
    shadow
}

const RTT: Answers = Answers { shortest: Some(4000), usual: None };

/// What is behind a loss and sent again for another one is hidden once; and where all questions waited behind data, as many are lost at a time as
/// before the tap.
#[test]
fn what_is_hidden_twice_counts_once() {
    let mut shadow = Shadow::default();
    shadow.hide(900);
    let most = |shadow: &Shadow, not_known| shadow.most(900, 4, (1000, 0, not_known), RTT).unwrap();
    assert!(most(&shadow, 300) * 4 < most(&shadow, 900));
    for n in 0..4 {
        let after = BEHIND.map(|n| Some(9000 - 100 * n as i64));
        shadow.after(AskedFor { after, waited: true, behind: 20 + n });
    }
    let one_by_one = most(&shadow, 300);
    shadow.bursts_of(5);
    assert!(most(&shadow, 300) > 2 * one_by_one);
}

/// The receiver asks when the first packet behind the missing one arrives. If that is not the next one, the next is missing too.
#[test]
fn losses_in_clumps_leave_others_in_doubt() {
    let sent = (10_000, 0, u64::MAX);
    assert_eq!(of([[4000, 3900], [4010, 3910]]).most(100, 2, sent, RTT), Some(3));
    // Twice, the answer came later by ten packets: up to 15 were lost with each, and those that are hidden come with as many.
    assert_eq!(of([[5000, 4900], [5000, 4900]]).most(100, 2, sent, RTT), Some(2 + 2 * 15 + 16));
    // One of five is no rule: its packets are in doubt, and those of the others in shadows.
    let five = of([[4000, 3900]; 4].into_iter().chain([[4100, 4000]]));
    assert_eq!(five.most(250, 5, sent, RTT), Some(5 + 1 + 3));
    // What the receiver takes is not known otherwise: by two losses, and not by one.
    let unknown = Answers::default();
    assert_eq!(of([[9000, 8900]]).most(50, 1, sent, unknown), None);
    assert!(of([[9000, 8900]; 2]).most(100, 2, sent, unknown).is_some());
    // One answer that came much too soon, and that no other confirms, was one to another loss.
    assert!(of([[4000, 3900], [4000, 3920], [3000, 2900]]).most(150, 3, sent, RTT).is_some());
    let mut before = of([[4000, 3900], [4000, 3920]]);
    before.before(90);
    assert!(before.most(100, 2, sent, RTT).is_some());
}

/// Where answers come sooner or later than packets follow each other, each may be to one of several. As their acknowledgements come as much
/// later, they come to the first ones.
#[test]
fn answers_that_jitter_are_compared_with_acknowledgements() {
    let sent = (10_000, 0, u64::MAX);
    let jitter = of((0..40).map(|n| [4000 + n * 50, 3900 + n * 50]));
    let by_each = jitter.most(2000, 40, sent, RTT).unwrap();
    let by_all = jitter.most(2000, 40, sent, Answers { usual: Some(1000), ..RTT }).unwrap();
    assert!(40 < by_all && by_all * 2 < by_each, "{by_all} {by_each}");
    // They are later by ten packets in the mean.
    let late = jitter.most(2000, 40, sent, Answers { usual: Some(0), ..RTT }).unwrap();
    assert!(late > 40 + 400, "{late}");
}

/// Nobody answered: all that was outstanding may be lost.
#[test]
fn without_an_answer_there_is_no_shadow() {
    let mut shadow = Shadow::default();
    shadow.unanswered(30);
    assert_eq!(shadow.most(1, 1, (1000, 0, u64::MAX), RTT), Some(31));
    shadow.hide(1);
    assert!(shadow.most(1, 1, (1000, 0, u64::MAX), RTT).is_some_and(|most| most < 32));
}

/// A question behind data of READs waited for that data: how late it came tells nothing of what was lost.
#[test]
fn questions_behind_data_tell_nothing() {
    let sent = (10_000, 0, u64::MAX);
    let late = |waited| {
        let mut shadow = of([[4000, 3900]; 4]);
        for _ in 0..4 {
            let after = BEHIND.map(|n| Some(9000 - 100 * (n as i64 - 1)));
            shadow.after(AskedFor { after, waited, behind: 49 });
        }
        shadow.most(400, 8, sent, RTT).unwrap()
    };
    assert!(late(true) * 2 < late(false), "{} {}", late(true), late(false));
}
