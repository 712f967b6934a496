#!/usr/bin/env python3
"""Crafted packets of every kind, judged by tshark and by scapy. Run by hand: tests/tshark/crafted.py [RDMAWIRE [CASES WITH THIS NAME]]

tshark: no malformed mark, fields as asked, IP and UDP checksums and FCS right by its own check.
scapy: contrib.roce computes the same ICRC, where it knows the packet (RoCEv2, in tunnels too).

Left out, as tshark 4.0 is wrong on them: fields behind the BTH of XRC and RD, of FLUSH, ATOMIC WRITE and 0x81.
"""
import itertools, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RDMAWIRE = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../target/debug/rdmawire")
TMP = tempfile.mkdtemp()
FULL = (256, 1024)

# --- what is crafted: (name, arguments of `craft`, {tshark field: value}, tshark knows what is behind the BTH)
cases = []

CHAINS = {}
with open(os.path.join(HERE, "../data/opcodes.csv")) as rows:
    for row in list(rows)[1:]:
        col = row.rstrip("\n").split(",")
        CHAINS[int(col[0], 16)] = (col[1], col[2], col[4].split("+")[1:], col[6])

FIELDS = {  # recipe text, tshark's view of it
    "RETH": ("reth va=0x7f0012345678 r_key=0x1234 dma_len=4096",
             {"infiniband.reth.va": "0x00007f0012345678", "infiniband.reth.r_key": "0x00001234", "infiniband.reth.dmalen": "4096"}),
    "AETH": ("aeth syndrome=0x1f msn=77", {"infiniband.aeth.syndrome": "31", "infiniband.aeth.msn": "77"}),
    "DETH": ("deth q_key=0x11111111 src_qp=0x22", {"infiniband.deth.q_key": "0x0000000011111111", "infiniband.deth.srcqp": "0x00000022"}),
    "ImmDt": ("immdt data=0xabcd1234", {"infiniband.immdt": "abcd1234"}),
    "IETH": ("ieth r_key=0x99", {"infiniband.ieth": "00000099"}),
    "AtomicETH": ("atomiceth va=8 r_key=5 swap_data=6 compare_data=7",
                  {"infiniband.atomiceth.swapdt": "6", "infiniband.atomiceth.cmpdt": "7"}),
    "AtomicAckETH": ("atomicacketh original_data=12345", {"infiniband.atomicacketh.origremdt": "12345"}),
    "RDETH": ("rdeth ee_context=3", {}), "XRCETH": ("xrceth xrc_srq=4", {}), "FETH": ("feth plt=1", {}),
    "16 bytes": ("cnp", {}),
}
ROADS = {
    "rocev2-ipv4": "eth / ipv4 dst=10.0.0.9 dscp=26 ecn=2 id=0x1234 / udp src_port=50001 checksum=auto",
    "rocev2-ipv6": "eth / vlan pcp=3 vid=100 / ipv6 dst=fd00::9 dscp=26 ecn=1 flow_label=5 / udp checksum=auto",
    "rocev1": "eth / grh dgid=::ffff:10.0.0.9 hop_lmt=3",
    "ib": "lrh slid=5 dlid=6 sl=2",
    "ib-grh": "lrh slid=5 dlid=6 / grh dgid=fe80::9",
}
NET = {
    "rocev2-ipv4": {"ip.dst": "10.0.0.9", "ip.dsfield.dscp": "26", "ip.dsfield.ecn": "2", "ip.id": "0x1234", "udp.srcport": "50001", "udp.dstport": "4791"},
    "rocev2-ipv6": {"vlan.id": "100", "vlan.priority": "3", "ipv6.dst": "fd00::9", "ipv6.tclass.dscp": "26", "ipv6.flow": "0x000005"},
    "rocev1": {"infiniband.grh.dgid": "::ffff:10.0.0.9", "infiniband.grh.hoplmt": "3"},
    "ib": {"infiniband.lrh.slid": "5", "infiniband.lrh.dlid": "6", "infiniband.lrh.sl": "2"},
    "ib-grh": {"infiniband.grh.dgid": "fe80::9", "infiniband.lrh.lnh": "0x03"},
}
for (road, start), (code, (service, name, chain, rule)) in itertools.product(ROADS.items(), CHAINS.items()):
    known = service in ("RC", "UC", "UD") and code not in (0x1C, 0x1D)
    size = {"exactly PMTU": 1024, "1..PMTU": 61, "0..PMTU": 58, "none": 0, "exactly 8 bytes": 8}.get(rule, 0)
    items = [start, f"bth opcode={code:#x} dest_qp=0x123456 psn=0xabcdef ack_req p_key=0x8001"]
    want = {"infiniband.bth.opcode": str(code), "infiniband.bth.destqp": "0x123456", "infiniband.bth.psn": str(0xABCDEF),
            "infiniband.bth.p_key": str(0x8001), "infiniband.bth.padcnt": str(-size % 4), "infiniband.bth.a": "1", **NET[road]}
    for header in chain:
        text, fields = FIELDS[header]
        items.append(text)
        want.update(fields if known else {})
    if size:
        items.append(f"payload {size}")
    cases.append((f"{road} {service} {name}", [" / ".join(items)], want, known))

mac = {"eth.dst": "01:80:c2:00:00:01", "frame.len": "60"}
cases += [
    ("pfc", ["pfc", "--priority", "0,3,7", "--quanta", "1234"], {**mac, "macc.opcode": "0x0101", "macc.cbfc.enbv": "0x0089",
     "macc.cbfc.pause_time.c3": "1234", "macc.cbfc.pause_time.c1": "0"}, True),
    ("pause", ["pause", "--quanta", "77"], {**mac, "macc.opcode": "0x0001", "macc.pause_time": "77"}, True),
    ("pfc with fcs", ["pfc", "--priority", "3", "--compute", "fcs"], {"frame.len": "64"}, True),
    ("fcs", ["eth / ipv4 / udp checksum=auto / bth opcode=rc-send-only / payload 5 / fcs"], {"infiniband.bth.padcnt": "3"}, True),
]
inner = "eth / ipv4 dst=10.9.9.9 / udp checksum=auto / bth opcode=rc-write-only psn=7 / reth dma_len=64 / payload 64"
tunnels = {
    "vxlan": ("eth / ipv4 / udp checksum=auto / vxlan vni=77 / ", {"vxlan.vni": "77"}),
    "geneve": ("eth / ipv6 / udp checksum=auto / geneve vni=78 / geneve_options hex:0001020109090909 / ", {"geneve.vni": "0x00004e"}),
    "nvgre": ("eth / ipv4 / gre / gre_key key=0x4d01 / ", {"gre.key": "0x00004d01", "gre.proto": "0x6558"}),
    "gre checksum": ("eth / ipv4 / gre / gre_checksum / gre_sequence sequence_number=9 / ", {"gre.sequence_number": "9", "gre.checksum.status": "1"}),
    "erspan2": ("eth / ipv4 / gre / gre_sequence sequence_number=3 / erspan2 session_id=5 / ", {"erspan.spanid": "5", "gre.proto": "0x88be"}),
    "erspan3": ("eth / ipv4 / gre / gre_sequence / erspan3 session_id=6 / erspan_platform platform_id=3 / ", {"erspan.spanid": "6", "gre.proto": "0x22eb"}),
    "mpls": (None, {"mpls.label": "100,200", "mpls.bottom": "0,1"}),
    "qinq": ("eth / vlan vid=1 / vlan vid=2 / ", None),
    "options": (None, {"ip.hdr_len": "28"}),
    "ip in ip": (None, {"ip.proto": "4,17"}),
}
for name, (start, want) in tunnels.items():
    if name == "qinq":
        text, want = "eth ether_type=0x88a8 / vlan vid=1 / vlan vid=2 / " + inner.split(" / ", 1)[1], {"ieee8021ad.id": "1", "vlan.id": "2", "eth.type": "0x88a8"}
    elif name == "options":
        text = inner.replace("dst=10.9.9.9 /", "dst=10.9.9.9 / ipv4_options hex:0101010101010100 /")
    elif name == "mpls":
        # Not a pseudowire: it takes one with a control word of zeros for something else.
        text = "eth / mpls label=100 / mpls label=200 / " + inner.split(" / ", 1)[1]
    elif name == "ip in ip":
        text = "eth / ipv4 / " + inner.split(" / ", 1)[1]
    else:
        text = start + inner
    cases.append((name, [text], {**want, "infiniband.bth.psn": "7", "infiniband.reth.dmalen": "64"}, True))
for length, mtu in ((10000, 1024), (64, 256), (0, 4096)):
    for command in ("write", "send", "read", "read-response"):
        cases.append((f"{command} {length}", [command, "--len", str(length), "--mtu", str(mtu), "--dest-qp", "0x77"],
                      {"infiniband.bth.destqp": "0x000077"}, True))
cases.append(("connect", ["connect", "--psn", "5", "--src-qp", "0x31", "--dest-qp", "0x32"],
              {"infiniband.mad.mgmtclass": "0x07", "infiniband.deth.q_key": "0x0000000080010000"}, True))

# --- craft them, answers to one of them too
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
cases = [case for case in cases if ONLY in case[0]]
OPTIONS = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "eth.check_fcs:TRUE"]
OFF = [f"--disable-protocol={name}" for name in ("rpcordma", "nvme-rdma", "iser", "smb_direct", "eoib", "tftp")]


def craft(arguments, path):
    subprocess.run([RDMAWIRE, "craft", *arguments, "-o", path, "--force"], check=True)


def tshark(path, fields, fcs=False):
    names = [option for field in fields for option in ("-e", field)]
    extra = ["-o", "eth.fcs:Always"] if fcs else []
    run = subprocess.run(["tshark", "-r", path, *OPTIONS, *extra, *OFF, "-T", "fields", "-E", "separator=|",
                          "-E", "occurrence=a", "-E", "aggregator=,", *names], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return [line.split("|") for line in run.stdout.splitlines()]


CHECKS = ["_ws.malformed", "ip.checksum.status", "udp.checksum.status", "eth.fcs.status"]
packets = values = sums = 0
faults = []
files = []
for number, (name, arguments, want, known) in enumerate(cases):
    ib = arguments[0].startswith("lrh")
    path = os.path.join(TMP, f"{number}.{'erf' if ib else 'pcap'}")
    craft(arguments, path)
    files.append((name, path))
    fcs = "fcs" in name
    for row in tshark(path, CHECKS + list(want), fcs):
        packets += 1
        malformed, ip, udp, check = row[:4]
        if malformed and known:
            faults.append(f"{name}: malformed ({malformed}): {arguments}")
        # 1 is good; 2 unverified; 3 not there: a zero UDP checksum.
        for what, state in (("IP checksum", ip), ("UDP checksum", udp), ("FCS", check)):
            for one in filter(None, state.split(",")):
                good = one == "1" or one in "23" and what != "IP checksum" and not (what == "FCS" and fcs)
                sums += one == "1"
                if not good:
                    faults.append(f"{name}: {what} status {one}")
        for field, value in zip(want, row[4:]):
            values += 1
            # These two it adds to its tree twice.
            if field in ("infiniband.ieth", "infiniband.immdt"):
                value = ",".join(dict.fromkeys(value.split(",")))
            if value != want[field]:
                faults.append(f"{name}: {field} is {value!r}, asked for {want[field]!r}")

source = os.path.join(TMP, "data.pcap")
craft(["eth / ipv4 src=10.0.0.3 dst=10.0.0.4 ecn=3 / udp / bth opcode=rc-write-only dest_qp=0x44 psn=99 / reth dma_len=64 / payload 64"], source)
for arguments, want in [
    (["cnp"], {"infiniband.bth.opcode": "129", "infiniband.bth.destqp": "0x000033", "ip.src": "10.0.0.4", "ip.dsfield.dscp": "48", "frame.len": "74"}),
    (["ack", "--msn", "4"], {"infiniband.aeth.syndrome": "31", "infiniband.bth.psn": "99", "infiniband.aeth.msn": "4"}),
    (["rnr", "--timer", "1ms"], {"infiniband.aeth.syndrome": str(0x20 | 14)}),
] + [(["nak", "--code", code], {"infiniband.aeth.syndrome": str(0x60 + n)}) for n, code in enumerate(
    ["psn-sequence-error", "invalid-request", "remote-access-error", "remote-operational-error", "invalid-rd-request"])]:
    path = os.path.join(TMP, "answer.pcap")
    craft([*arguments, "--flow-of", source + ":1", "--dest-qp", "0x33"], path)
    for row in tshark(path, ["_ws.malformed", *want]):
        packets += 1
        values += len(want)
        if row[0] or row[1:] != list(want.values()):
            faults.append(f"{arguments}: {row} {want}")
    files.append((arguments[0], path + "." + arguments[0]))
    os.rename(path, files[-1][1])
print(f"tshark: {packets} packets, {values} fields as asked, {sums} checksums right, {len(faults)} faults")

# --- scapy
agree = 0
try:
    from scapy.all import rdpcap, Ether, conf
    from scapy.contrib.roce import BTH
except ImportError:
    print("scapy is not there: its ICRC was not asked")
else:
    for name, path in files:
        if path.endswith(".erf"):
            continue
        for packet in rdpcap(path):
            # It knows neither GRH nor IP options.
            if BTH not in packet or "options" in name or "rocev1" in name:
                continue
            # It looks for the ICRC at the frame's end, whatever follows it there.
            if "fcs" in name or len(packet.original) == 60:
                continue
            bth = packet.getlayer(BTH, packet.layers().count(BTH))
            there = bth.icrc
            bth.icrc = None
            rebuilt = Ether(bytes(packet))
            again = rebuilt.getlayer(BTH).icrc
            if again != there:
                faults.append(f"{name}: scapy has ICRC {again:#x}, the packet {there:#x}")
            agree += again == there
    print(f"scapy: {agree} ICRCs agree")

shown = set()
for fault in faults:
    kind = fault.split(": ", 1)[1]
    if kind not in shown:
        print(fault)
    shown.add(kind)
sys.exit(bool(faults))
