#!/usr/bin/env python3
"""Mutants of captures, for `compare`: one pcap for each capture and link type.

    tests/tshark/mutants.py --rdmawire target/release/rdmawire --count 2000 --to DIR pcaps/*.pcap.zst
    tests/tshark/compare DIR/*.pcap
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import tempfile

options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
options.add_argument("--rdmawire", default="target/release/rdmawire")
options.add_argument("--count", type=int, default=2000, help="mutants of each capture")
options.add_argument("--seed", type=int, default=0)
options.add_argument("--to", required=True, help="a directory")
options.add_argument("--verdict", help="only those of this verdict, like dissects")
options.add_argument("captures", nargs="*", help="none: rdmawire's own frames")
asked = options.parse_args()
os.makedirs(asked.to, exist_ok=True)
for capture in asked.captures or [None]:
    folder = os.path.join(tempfile.mkdtemp(), "corpus")
    command = [asked.rdmawire, "fuzz-corpus", "-o", folder, "--count", str(asked.count), "--seed", str(asked.seed)]
    if capture:
        command += ["--from", capture]
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        print(f"{capture}: {run.stderr.strip()}")
        shutil.rmtree(os.path.dirname(folder))
        continue
    stem = os.path.basename(capture).split(".")[0] if capture else "own"
    files = {}
    for n, frame in enumerate(json.load(open(os.path.join(folder, "manifest.json")))["frames"]):
        if asked.verdict and frame["verdict"] != asked.verdict:
            continue
        link = frame["link_type"]
        # Native InfiniBand goes to tshark in ERF records.
        out_link = 197 if link == 247 else link
        if out_link not in files:
            files[out_link] = open(os.path.join(asked.to, f"{stem}-{out_link}.pcap"), "wb")
            files[out_link].write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, out_link))
        data = open(os.path.join(folder, frame["file"]), "rb").read()
        if link == 247:
            pad = -(16 + len(data)) % 8
            data = struct.pack("<Q", n << 32) + struct.pack(">BBHHH", 21, 4, 16 + len(data) + pad, 0, len(data)) + data + bytes(pad)
        files[out_link].write(struct.pack("<IIII", n, 0, len(data), len(data)) + data)
    shutil.rmtree(os.path.dirname(folder))
