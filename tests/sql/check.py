"""Runs the questions of examples/sql with DuckDB, and compares the answers with `rdmawire analyze --json`.

Usage: check.py RDMAWIRE TABLES QUESTIONS CAPTURE...
"""

import collections
import glob
import json
import os
import subprocess
import sys

import duckdb

rdmawire, tables, questions, *captures = sys.argv[1:]
questions = os.path.abspath(questions)
out = subprocess.run([rdmawire, "analyze", "--json", *captures], check=True, capture_output=True).stdout
report = json.loads(out)
reports = report.get("reports", [report])
flows = [flow for report in reports for flow in report["flows"]]
episodes = [(episode, report["flows"][episode["flow"]]) for report in reports for episode in report["episodes"]]
findings = [finding for report in reports for finding in report["findings"]]


def resent(flow):
    return flow["requests"]["retransmits"] + flow["responses"]["retransmits"]


def group(rows, key, *values):
    """Sums of values by key, as tuples: a sum of nothing but None is None."""
    sums = collections.OrderedDict()
    for row in rows:
        k = key(row)
        k = k if isinstance(k, tuple) else (k,)
        sums.setdefault(k, [[] for _ in values])
        for i, value in enumerate(values):
            if value(row) is not None:
                sums[k][i].append(value(row))
    return [k + tuple(sum(v) if v else None for v in vs) for k, vs in sums.items()]


def pair(flow):
    return flow["src"], flow["dst"]


def qp(flow):
    return flow["src"], flow["dst"], flow["dest_qp"]


def p99(flow, name):
    return (flow["latency_ns"][name] or {}).get("p99")


lost = [
    (place, *bounds)
    for flow in flows
    for space in ("requests", "responses")
    for place, bounds in flow[space]["losses"].items()
    if bounds and bounds[1]
]
by_port = [(port, flow) for flow in flows for port in flow["udp_src_ports"]]
worst = {}
for flow in flows:
    for dscp in flow["dscps"]:
        if p99(flow, "ack_rtt") is not None:
            worst[dscp] = max(worst.get(dscp, 0), p99(flow, "ack_rtt"))

expected = {
    "01": [row for row in group(flows, pair, resent, lambda f: f["packets"]) if row[2]],
    "02": group(lost, lambda r: r[0], lambda r: r[1], lambda r: r[2]),
    "03": group(
        by_port,
        lambda r: r[0],
        lambda r: r[1]["packets"],
        lambda r: r[1]["requests"]["retransmits"],
        lambda r: r[1]["requests"]["out_of_order"],
    ),
    "04": list(worst.items()),
    "05": [row for row in group(flows, lambda f: f["src"], lambda f: f["cnps"]) if row[1]],
    "06": [(*qp(f), f["ce_packets"], f["ce_packets"] / f["ect_packets"]) for f in flows if f["ce_packets"]],
    "07": [
        (*qp(f), f["latency_ns"]["message_completion"]["p50"], p99(f, "message_completion"))
        for f in flows
        if p99(f, "message_completion") is not None
    ],
    "08": group(episodes, lambda e: e[0]["trigger"], lambda e: 1, lambda e: e[0]["retransmitted_packets"]),
    "09": group(episodes, lambda e: qp(e[1]), lambda e: 1, lambda e: e[0]["recovered_ns"]),
    "10": [
        (*qp(f), e["lost_psn"], e["nak_frame"], e["first_retransmit_frame"], e["recovered_ns"])
        for e, f in sorted(
            (x for x in episodes if x[0]["recovered_ns"] is not None),
            key=lambda x: (-x[0]["recovered_ns"], x[0]["first_retransmit_frame"]),
        )[:10]
    ],
    "11": group(
        episodes,
        lambda e: e[0]["trigger"],
        lambda e: e[0]["needless_packets"],
        lambda e: e[0]["retransmitted_packets"],
    ),
    "12": [r for r in group(flows, lambda f: f["src"], lambda f: f["naks"]["psn_sequence_error"]) if r[1]],
    "13": [r for r in group(flows, lambda f: f["src"], lambda f: f["rnr_naks"]) if r[1]],
    "14": [
        (*key, good / wire)
        for *key, good, wire in group(flows, pair, lambda f: f["goodput_bytes"], lambda f: f["wire_bytes"])
    ],
    "15": group(findings, lambda f: (f["severity"], f["id"]), lambda f: 1),
}

os.chdir(tables)
db = duckdb.connect()
db.execute(open(os.path.join(questions, "load.sql")).read())
wrong = 0
answers = 0
for path in sorted(glob.glob(os.path.join(questions, "[0-9]*.sql"))):
    name = os.path.basename(path)
    rows = db.execute(open(path).read()).fetchall()
    answers += bool(rows)
    if sorted(map(repr, rows)) != sorted(map(repr, map(tuple, expected[name[:2]]))):
        wrong += 1
        print(f"{name}: DuckDB says {sorted(rows, key=repr)}, analyze says {sorted(expected[name[:2]], key=repr)}")
print(f"{len(expected)} questions, {answers} with answers, {wrong} wrong")
sys.exit(wrong != 0 or answers < 12)
