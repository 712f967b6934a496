//! What logs of hosts say, as their programs write it, and the flows that they are about.

use std::fs;

use crate::support::{programs::cli, scratch::Scratch};
use rdmawire::{
    analyze::KnownConnection,
    logs::{End, Line, Log},
};

fn read(text: &str) -> Log {
    Log::read("x.log", text.as_bytes()).unwrap()
}

fn error(text: &str) -> Line {
    let log = read(text);
    let [line] = &log.errors[..] else { panic!("{text}: {:?}", log.errors) };
    line.clone()
}

fn end(address: &str, qp: Option<u32>) -> End {
    End { address: (!address.is_empty()).then(|| address.parse().unwrap()), qp }
}

#[test]
fn errors_name_their_status_and_their_ends() {
    for (text, status, local, remote) in [
        (
            "NET/IB: Got completion from peer 10.77.0.2<51861> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=1048576 \
             vendor_err=129 req_type=Send localGid ::ffff:10.77.0.1 remoteGids::ffff:10.77.0.2 hca mlx5_0",
            12,
            end("10.77.0.1", None),
            end("10.77.0.2", None),
        ),
        (
            "node7:3412:3801 [2] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<40000> with error 12, opcode 0, len 0, vendor err 129",
            12,
            end("", None),
            end("10.0.0.2", None),
        ),
        (
            "[1700000000.1] [n1:99:0] ib_mlx5_log.c:171 UCX ERROR Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)",
            12,
            end("", None),
            end("", None),
        ),
        (
            "UCX ERROR RNR retry count exceeded: RC QP 0x8a wqe[3]: SEND s-e [inl len 26] [rqpn 0x8b dgid=::ffff:10.0.0.2 sgid_index=3 traffic_class=0]",
            13,
            end("", Some(0x8a)),
            end("10.0.0.2", Some(0x8b)),
        ),
        (
            "nvme_rdma.c: 2547:nvme_rdma_log_wc_status: *ERROR*: WC error, qid 1, qp state 1, request 0x0 type 0, status: (10): remote access error",
            10,
            end("", None),
            end("", None),
        ),
        (
            "mlx5: node1: got completion with status 0x5: WR flushed, qpn 291",
            5,
            end("", Some(291)),
            end("", None),
        ),
    ] {
        let line = error(text);
        assert_eq!(line.status.map(|status| status.number), Some(status), "{text}");
        assert_eq!((line.local, line.remote), (local, remote), "{text}");
    }
    assert!(read("NCCL INFO Launch mode Parallel\nerror 12 of something else\nstatus 0\n").errors.is_empty());
}

/// UCX says which queue pair it was in a line of its own.
#[test]
fn a_queue_pair_may_be_named_in_the_next_line() {
    let error_line = "[1700000000.1] [n1:99:0] ib_mlx5_log.c:171 UCX  ERROR Transport retry count exceeded on mlx5_0:1/RoCE";
    let qp_line = "[1700000000.1] [n1:99:0] ib_mlx5_log.c:171 UCX  ERROR RC QP 0x8a wqe[3]: RDMA_WRITE s--";
    assert_eq!(error(&format!("{error_line}\n{qp_line}\n")).local.qp, Some(0x8a));
    assert_eq!(error(&format!("{error_line}\nsomething else\n{qp_line}\n")).local.qp, None);
}

#[test]
fn connected_queue_pairs_are_read_from_what_programs_print() {
    let perftest = "\
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0011 PSN 0x9f1b6a RKey 0x000293 VAddr 0x005629265fb000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:01
 remote address: LID 0000 QPN 0x0012 PSN 0x1b6a RKey 0x000294 VAddr 0x005629265fb000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:02
---------------------------------------------------------------------------------------
";
    let rdma = "link rxe0/1 lqpn 17 rqpn 18 type RC state RTS rq-psn 0 sq-psn 0 path-mig-state MIGRATED pid 523 comm ib_write_bw\n\
                link rxe0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n";
    let both = |text: &str| {
        KnownConnection::parse(text).map(|all| all.iter().map(|one| (one.a, one.b)).collect::<Vec<_>>())
    };
    let [a, b] = ["10.77.0.1", "10.77.0.2"].map(|address| Some(address.parse().unwrap()));
    assert_eq!(both(perftest), Ok(vec![((a, 17), (b, 18))]));
    assert_eq!(both(rdma), Ok(vec![((None, 17), (None, 18))]));
    let lines = "src,src_qp,dst,dst_qp\n10.77.0.1,0x11,10.77.0.2,18\n";
    assert_eq!(both(lines), both(perftest));
    assert_eq!(both(lines.split_once('\n').unwrap().1), both(perftest));
    // Lines that begin with a time in brackets are no JSON. Of one end alone nothing is made.
    let ucx = "[1700000000.1] [h:1:0] ib_log.c:1 UCX ERROR RC QP 0x11 wqe[0]: SEND [rqpn 0x12 dgid=::ffff:10.77.0.2]\n";
    assert_eq!(both(ucx), Ok(vec![((None, 17), (b, 18))]));
    let nccl = "h:1:2 [0] NCCL INFO NET/IB: start\nh:1:2 [0] NCCL INFO NET/IB: IbDev 0 Port 1 qpn 17 mtu 3 GID 3 (0/1)\n";
    assert!(both(nccl).unwrap_err().starts_with("line 2: this log names a queue pair"));
    let wrong = both("10.77.0.1,0x11,10.77.0.2\n").unwrap_err();
    assert!(wrong.starts_with("line 1: expected ADDRESS,QP,ADDRESS,QP"), "{wrong}");
}

#[test]
fn an_error_leads_to_its_flow_and_what_was_found_there() {
    let scratch = Scratch::new("log");
    let log = scratch.join("nccl.log");
    let text = "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]\n\
        NET/IB: Got completion from peer 10.77.0.2<51861> with status=IBV_WC_RETRY_EXC_ERR(12) localGid ::ffff:10.77.0.1 remoteGids::ffff:10.77.0.2\n\
        NET/IB: Got completion from peer 10.77.0.9<51861> with status=IBV_WC_RETRY_EXC_ERR(12) localGid ::ffff:10.77.0.1 remoteGids::ffff:10.77.0.9\n";
    fs::write(&log, text).unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/pcaps/loss1_rc_write-B-300.pcap");
    let run = |more: &[&str]| {
        let output = cli().arg("analyze").args(more).arg("--log").arg(&log).arg(capture).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let report: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    let rows = report["log"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let finding = rows[0]["finding"].as_str().unwrap();
    assert!(finding.starts_with("loss."), "{finding}");
    assert_eq!(
        (&rows[0]["line"], &rows[0]["flow_count"], &rows[0]["status"]),
        (&2.into(), &2.into(), &12.into())
    );
    assert_eq!((&rows[1]["flow_count"], &rows[1]["finding"]), (&0.into(), &serde_json::Value::Null));
    let text = run(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("RETRY_EXC_ERR (12)") && text.contains("no flow of the capture has these ends"),
        "{text}"
    );
    let missing = cli().args(["analyze", "--log", "/nowhere", capture]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
