"""Runs the questions of examples/sql with DuckDB, and compares the answers with `rdmawire analyze --json`.

Usage: check.py RDMAWIRE FORM QUESTIONS LEAST CAPTURE...

FORM: ndjson, csv or parquet. LEAST: how many questions have an answer at least.
"""

import collections
import datetime
import glob
import json
import os
import subprocess
import sys
import tempfile

import duckdb

rdmawire, form, questions, least, *captures = sys.argv[1:]
questions = os.path.abspath(questions)
tables = tempfile.TemporaryDirectory()


def run(*arguments):
    return subprocess.run([rdmawire, *arguments], check=True, capture_output=True).stdout


OPTIONS = ["--interval", "10ms", "--speed", "10G"]
report = json.loads(run("analyze", "--json", *OPTIONS, *captures))
run("analyze", f"--{form}", tables.name, *OPTIONS, *captures)
reports = report.get("reports", [report])


def is_once(report, flow):
    """Whether no other capture saw the flow at the same time, and has more of it."""
    capture = report["capture"]["id"]
    return not any(
        other["uid"] == flow["uid"]
        and at["capture"]["id"] != capture
        and other["first_ns"] <= flow["last_ns"]
        and other["last_ns"] >= flow["first_ns"]
        and (other["packets"], at["capture"]["id"]) > (flow["packets"], capture)
        for at in reports
        for other in at["flows"]
    )


once = {(at["capture"]["id"], flow["uid"]) for at in reports for flow in at["flows"] if is_once(at, flow)}


def kept(report, flow):
    return (report["capture"]["id"], flow["uid"]) in once


flows = [flow for at in reports for flow in at["flows"] if kept(at, flow)]
episodes = [
    (episode, at["flows"][episode["flow"]]) for at in reports for episode in at["episodes"] if kept(at, at["flows"][episode["flow"]])
]
shares = [share for at in reports for slow in at["slow_flows"] if kept(at, at["flows"][slow["flow"]]) for share in slow["shares"]]
pauses = [pause for at in reports for pause in at["pause"] or []]
classes = [(at["capture"]["files"][0], one) for at in reports for one in at["traffic_classes"]]
intervals = [(at["capture"]["files"][0], at["interval_ns"], one) for at in reports for one in at["intervals"] or []]
bursts = [burst for at in reports for burst in at["microbursts"]["bursts"]]
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


def by(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def slowest(flow):
    return (flow["latency_ns"]["message_completion"] or {}).get("max")


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
by_port = [(flow["udp_src_ports"][0], flow) for flow in flows if len(flow["udp_src_ports"]) == 1]
worst = {}
for _, one in classes:
    if one["dscp"] is not None and one["ack_rtt_ns"]:
        worst[one["dscp"]] = max(worst.get(one["dscp"], 0), one["ack_rtt_ns"]["p99"])
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
    "07": sorted(
        (
            (*qp(f), f["latency_ns"]["message_completion"]["p50"], p99(f, "message_completion"))
            for f in flows
            if p99(f, "message_completion") is not None
        ),
        key=lambda row: (-row[4], *row[:3]),
    )[:20],
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
    "16": [(p["link"], p["sender"], p["priority"], p["xoff"], p["paused_ns"], p["longest_ns"]) for p in pauses],
    "17": group(shares, lambda s: s["cause"], lambda s: 1, lambda s: s["ns"]),
    "18": [
        (capture, c["dscp"], c["pcp"], c["packets"], c["ce_packets"], c["ce_ratio"]) for capture, c in classes if c["ect_packets"]
    ],
    "19": sorted(
        ((capture, i["start_ns"], i["wire_bytes"] * 8e9 / ns, i["retransmits"], i["cnps"]) for capture, ns, i in intervals),
        key=lambda row: (-row[2], row[1]),
    )[:10],
    "20": [
        (receiver, len(all), max(b["duration_ns"] for b in all), sum(b["bytes"] for b in all))
        for receiver, all in by(bursts, lambda b: b["receiver"]).items()
    ],
    "21": [
        (service, sum(f["messages"]["completed"] for f in all), max((slowest(f) for f in all if slowest(f) is not None), default=None))
        for service, all in by(flows, lambda f: f["service"]).items()
    ],
}

os.chdir(tables.name)
db = duckdb.connect()
db.execute("set timezone = 'UTC'")
db.execute(run("explain", "sql", form).decode())
wrong = 0
answers = 0


def plain(value):
    """Times of Parquet are those of the other forms, in whole microseconds, as DuckDB has them."""
    return int(value.timestamp()) if isinstance(value, datetime.datetime) else value


def shown(name, rows):
    # Second column of question 19: a time.
    times = {"19": 1}.get(name)
    cut = [tuple(int(v) // 1_000_000_000 if n == times and not isinstance(v, datetime.datetime) else plain(v) for n, v in enumerate(r)) for r in rows]
    return sorted(map(repr, cut))


for path in sorted(glob.glob(os.path.join(questions, "[0-9]*.sql"))):
    name = os.path.basename(path)
    rows = db.execute(open(path).read()).fetchall()
    answers += bool(rows)
    if shown(name[:2], rows) != shown(name[:2], map(tuple, expected[name[:2]])):
        wrong += 1
        print(f"{name}: DuckDB says {sorted(rows, key=repr)}, analyze says {sorted(expected[name[:2]], key=repr)}")
print(f"{len(expected)} questions, {answers} with answers, {wrong} wrong")
sys.exit(wrong != 0 or answers < int(least))
