use super::{AskedFor, Shadow, may_be_lost};

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

fn of(asked: impl IntoIterator<Item = [i64; 2]>) -> Shadow {
    let mut shadow = Shadow::default();
    for after in asked {
        shadow.after(AskedFor { after: after.map(Some), behind: 49 });
    }
    shadow
}

/// The receiver asks when the first packet behind the missing one arrives. If that is not the next one, the next is missing too.
#[test]
fn losses_in_clumps_leave_all_in_doubt() {
    let (sent, rtt) = ((10_000, 0), Some(4000));
    assert_eq!(of([[4000, 3900], [4010, 3910]]).most(100, 2, sent, rtt), Some(3));
    // Twice, the answer came later by ten packets.
    assert_eq!(of([[5000, 4900], [5000, 4900]]).most(100, 2, sent, rtt), None);
    // One of five is no rule: its packets are open, and those of the others in shadows.
    let five = of([[4000, 3900]; 4].into_iter().chain([[5000, 4900]]));
    assert_eq!(five.most(250, 5, sent, rtt), Some(54 + 2));
    // What the receiver takes is not known otherwise: by two losses, and not by one.
    assert_eq!(of([[9000, 8900]]).most(50, 1, sent, None), None);
    assert!(of([[9000, 8900]; 2]).most(100, 2, sent, None).is_some());
    // One answer that came much too soon, and that no other confirms, was one to another loss.
    assert!(of([[4000, 3900], [4000, 3920], [3000, 2900]]).most(150, 3, sent, rtt).is_some());
    let mut before = of([[4000, 3900], [4000, 3920]]);
    before.before(90);
    assert!(before.most(100, 2, sent, rtt).is_some());
}

/// Nobody answered: all that was outstanding may be lost.
#[test]
fn without_an_answer_there_is_no_shadow() {
    let mut shadow = Shadow::default();
    shadow.unanswered(30);
    assert_eq!(shadow.most(1, 1, (1000, 0), Some(4000)), Some(31));
    shadow.hide(1);
    assert!(shadow.most(1, 1, (1000, 0), Some(4000)).is_some_and(|most| most < 32));
}
