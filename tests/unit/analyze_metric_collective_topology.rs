use super::*;

/// The hosts of these connections, each of which goes so often both ways.
fn part(pairs: &[(usize, usize)], times: usize) -> Part {
    let mut part = Part::default();
    for &(a, b) in pairs {
        for (from, to) in [(a, b), (b, a)] {
            *part.next.entry(from).or_default().entry(to).or_insert(0) += times;
        }
    }
    part
}

/// Who a rank's parent is in NCCL's binary tree (`ncclGetBtree`): none of rank 0.
fn parent(ranks: usize, rank: usize) -> Option<usize> {
    let bit = 1 << rank.trailing_zeros().min(usize::BITS - 1);
    let up = (rank ^ bit) | (bit << 1);
    (rank > 0).then_some(if up >= ranks { rank ^ bit } else { up })
}

/// NCCL's two trees (`ncclGetDtree`): the second one is mirrored, or of an odd number of ranks shifted.
fn double_tree(ranks: usize) -> Vec<(usize, usize)> {
    let first = (0..ranks).filter_map(|rank| Some((rank, parent(ranks, rank)?)));
    let second = (0..ranks).filter_map(|rank| match ranks % 2 {
        0 => Some((rank, ranks - 1 - parent(ranks, ranks - 1 - rank)?)),
        _ => Some((rank, (parent(ranks, (rank + ranks - 1) % ranks)? + 1) % ranks)),
    });
    first.chain(second).collect()
}

#[test]
fn two_trees_of_the_same_hosts_are_a_tree() {
    for ranks in 3..40 {
        for channels in [1, 2, 8] {
            let topology = part(&double_tree(ranks), channels).topology();
            assert_eq!(topology, Topology::Tree, "{ranks} ranks, {channels} channels of each tree");
        }
    }
}

#[test]
fn others_are_no_two_trees() {
    let all = |hosts: usize| (0..hosts).flat_map(move |a| (0..a).map(move |b| (a, b))).collect::<Vec<_>>();
    for hosts in [3, 4, 5, 8] {
        for channels in [1, 2, 4] {
            assert_eq!(part(&all(hosts), channels).topology(), Topology::AllToAll, "{hosts}, {channels}");
        }
    }
    // A ring in both directions, and a grid.
    let ring: Vec<(usize, usize)> = (0..6).map(|at| (at, (at + 1) % 6)).collect();
    assert_eq!(part(&ring, 2).topology(), Topology::Pairs);
    let grid = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)];
    assert_eq!(part(&grid, 2).topology(), Topology::Pairs);
    // As many edges as two trees have, but too many of them among four of seven hosts.
    let dense =
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 1), (3, 4), (4, 5), (5, 6), (4, 6), (5, 4)];
    assert_eq!(part(&dense, 1).topology(), Topology::Pairs);
}
