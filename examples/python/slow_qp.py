"""Why is this queue pair slow? What an analysis says of one flow, in the order in which one would ask.

    python examples/python/slow_qp.py x.pcap                            # the flow in most trouble
    python examples/python/slow_qp.py x.pcap 10.77.0.1,10.77.0.2,0x11   # this one
"""

from __future__ import annotations

import sys
from typing import Iterator, List, Optional

import rdmawire
from rdmawire.report import Flow, Report


def time_lost_ns(report: Report, number: int) -> int:
    """Time that a flow lost, as far as the capture shows it."""
    affected = [one for finding in report.findings for one in finding.flows]
    return max((one.time_lost_ns or 0 for one in affected if one.flow == number), default=0)


def range_of(bounds: Optional[List[int]]) -> str:
    """Lost packets are bounds: what the capture proves."""
    if bounds is None:
        return "not known"
    least, most = bounds
    return str(least) if least == most else f"{least} to {most}"


def story(report: Report, flow: Flow) -> Iterator[str]:
    """What is worth saying of the flow."""
    number = report.flows.index(flow)
    yield f"{flow.src} → {flow.dst} QP {flow.dest_qp:#x}, {flow.service}: {flow.packets} packets"
    stream = flow.requests if flow.requests.packets >= flow.responses.packets else flow.responses
    if stream.retransmits:
        yield f"  {stream.retransmits} retransmitted packets ({stream.retransmits / stream.packets:.0%}):"
        causes = stream.triggers.to_dict()
        yield "    after " + ", ".join(f"{cause.replace('_', ' ')} {count} times" for cause, count in causes.items() if count)
    losses, lost = stream.loss_episodes, stream.losses
    before, after = range_of(lost.upstream), range_of(lost.downstream)
    yield f"  losses before the tap: {losses.upstream} ({before} packets); after it: {losses.downstream} ({after} packets)"
    time_lost = time_lost_ns(report, number)
    if time_lost:
        yield f"  it lost {time_lost / 1e6:.2f} ms"
    if flow.ce_packets:
        yield f"  {flow.ce_packets} packets carry a congestion mark (CE)"
    if stream.out_of_order:
        yield f"  {stream.out_of_order} packets came out of order: more than one path?"
    said = [finding for finding in report.findings if number in [one.flow for one in finding.flows]]
    for finding in said:
        yield f"  {finding.severity}: {finding.text}"
        yield f"    -> {finding.next}"
    if not said:
        yield "  nothing stands out in this capture"


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        report = rdmawire.analyze(sys.argv[1])
        if not report.flows:
            print("no RDMA packet in it")
            return 1
        worst = max(range(len(report.flows)), key=lambda number: time_lost_ns(report, number))
        flow = report.flow(sys.argv[2] if len(sys.argv) == 3 else worst)
    except rdmawire.Error as error:
        print(f"slow_qp: {error}", file=sys.stderr)
        return 2
    print("\n".join(story(report, flow)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
