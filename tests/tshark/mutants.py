#!/usr/bin/env python3
"""Mutants of captures, for `compare`: a pcap for each capture, seed and link type, and what a correct parser makes of each frame.

    tests/tshark/mutants.py --rdmawire target/release/rdmawire --count 2000 --to DIR pcaps/*.pcap.zst
    tests/tshark/compare DIR/*.pcap

`compare --mutants` does both. Beside X.pcap stands X.pcap.verdicts: the manifest's verdict of each frame, a line each.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HEAD = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")


def make(binary, capture, seed, count, to, verdict=None):
    """The files of `count` mutants of a capture; of none: of rdmawire's own frames. An empty list where there are none to be had."""
    scratch = tempfile.mkdtemp(dir=to)
    folder = os.path.join(scratch, "corpus")
    command = [binary, "fuzz-corpus", "-o", folder, "--format", "pcap", "--count", str(count), "--seed", str(seed)]
    if capture:
        command += ["--from", capture]
    try:
        run = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=600)
        if run.returncode == 2 and not os.path.exists(folder):
            print(f"{capture}: {run.stderr.strip()}")
            return []
        if run.returncode not in (0, 2):
            sys.exit(f"rdmawire fuzz-corpus ended with {run.returncode} on {capture}, seed {seed}")
        return sorted(join(folder, stem(capture, seed), to, verdict))
    finally:
        shutil.rmtree(scratch)


def stem(capture, seed):
    return f"{os.path.basename(capture).split('.')[0] if capture else 'own'}-s{seed}"


def join(folder, stem, to, verdict):
    """Captures of one frame to captures of many; native InfiniBand goes to tshark in ERF records."""
    files = {}
    with open(os.path.join(folder, "manifest.json")) as manifest:
        frames = json.load(manifest)["frames"]
    for n, frame in enumerate(frames):
        if verdict and frame["verdict"] != verdict:
            continue
        with open(os.path.join(folder, frame["file"]), "rb") as one:
            file = one.read()
        data, wire = file[HEAD.size + RECORD.size :], frame["wire_bytes"]
        link = frame["link_type"]
        if link == 247:
            pad = -(16 + len(data)) % 8
            erf = struct.pack("<Q", n << 32) + struct.pack(">BBHHH", 21, 4, 16 + len(data) + pad, 0, wire)
            data, wire, link = erf + data + bytes(pad), 16 + wire + pad, 197
        if link not in files:
            path = os.path.join(to, f"{stem}-{link}.pcap")
            files[link] = (path, open(path, "wb"), open(path + ".verdicts", "w"))
            files[link][1].write(HEAD.pack(0xA1B23C4D, 2, 4, 0, 0, 262144, link))
        _, out, verdicts = files[link]
        out.write(RECORD.pack(n, 0, len(data), wire) + data)
        verdicts.write(frame["verdict"] + "\n")
    for _, out, verdicts in files.values():
        out.close()
        verdicts.close()
    return [path for path, _, _ in files.values()]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rdmawire", default="target/release/rdmawire")
    options.add_argument("--count", type=int, default=2000, help="mutants of each capture and seed")
    options.add_argument("--seed", type=int, action="append", help="0; several are taken one after the other")
    options.add_argument("--to", required=True, help="a directory")
    options.add_argument("--verdict", help="only those of this verdict, like dissects")
    options.add_argument("captures", nargs="*", help="none: rdmawire's own frames")
    asked = options.parse_args()
    os.makedirs(asked.to, exist_ok=True)
    for seed in asked.seed or [0]:
        for capture in asked.captures or [None]:
            make(asked.rdmawire, capture, seed, asked.count, asked.to, asked.verdict)


if __name__ == "__main__":
    main()
