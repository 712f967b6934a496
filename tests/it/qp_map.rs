//! Connections that the user knows of, by addresses or as `rdma -j resource show qp` prints them.

use rdmawire::{
    analyze::{Address, Analysis, KnownConnection, Options},
    capture::{self, Source},
    report::{Flow, PairedBy, Report},
};

fn analyze(connections: Vec<KnownConnection>) -> Report {
    let mut trace = capture::open("pcaps/rc_write_clean-A.pcap.zst".as_ref()).unwrap();
    let mut analysis = Analysis::new(Options { connections, ..Options::default() });
    while let Some(record) = trace.next().unwrap() {
        analysis.push(&record);
    }
    analysis.finish()
}

#[test]
fn what_the_user_says_goes_before_all_evidence() {
    let found = analyze(Vec::new());
    let flow = found.flows.iter().find(|flow| flow.paired_by == Some(PairedBy::Psn)).unwrap();
    let (qp, peer) = (flow.dest_qp, flow.peer_qp.unwrap());

    let json = format!(
        r#"[{{"ifindex":0,"ifname":"rxe0","lqpn":{peer},"rqpn":{qp},"type":"RC","state":"RTS","sq-psn":1,"comm":"x"}},
            {{"ifindex":0,"ifname":"rxe0","lqpn":1,"type":"GSI","state":"RTS"}}]"#
    );
    let by_json = KnownConnection::from_rdma_json(&json).unwrap();
    assert_eq!(by_json, [KnownConnection { a: (None, peer), b: (None, qp) }]);
    let address = |text: &str| Some(Address::Ip(text.parse().unwrap()));
    let by_address = KnownConnection { a: (address(&flow.src), peer), b: (address(&flow.dst), qp) };

    for known in [by_json, vec![by_address]] {
        let report = analyze(known);
        let same =
            |other: &&Flow| (&other.src, &other.dst, other.dest_qp) == (&flow.src, &flow.dst, flow.dest_qp);
        let told = report.flows.iter().find(same).unwrap();
        assert_eq!((told.paired_by, told.peer_qp), (Some(PairedBy::Map), Some(peer)));
        assert_eq!(told.requests.packets, flow.requests.packets);
    }
    assert!(KnownConnection::from_rdma_json("[{\"rqpn\": 3}]").unwrap_err().contains("lqpn"));
}
