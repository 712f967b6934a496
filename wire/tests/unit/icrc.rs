//! Tests of `src/icrc.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn headers_in_their_places_are_masked_as_any_are(
        packet in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        for (network, len, fast) in [
            (Kind::Ipv4, Ipv4::LEN + BEHIND, of_rocev2_ipv4(&packet)),
            (Kind::Ipv6, Ipv6::LEN + BEHIND, of_rocev2_ipv6(&packet)),
        ] {
            let headers = packet.split_at_checked(len);
            let any = headers.map(|(headers, rest)| of_parts(network, true, headers, &[rest]));
            assert_eq!(fast, any);
        }
    }
}
