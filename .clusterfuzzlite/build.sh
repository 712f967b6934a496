#!/bin/bash -eu
# Build every fuzz target with its corpus and the dictionary, as ClusterFuzzLite and OSS-Fuzz want them in $OUT.
cd "$SRC/rdmawire"
cargo fuzz build -O --debug-assertions
for target in fuzz/fuzz_targets/*.rs; do
    name="$(basename "$target" .rs)"
    cp "target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    corpus=("fuzz/corpus/$name")
    # Those that take a frame share their inputs.
    case "$name" in crc | dissect | frame | outer | rebuild) corpus=(fuzz/corpus/{crc,dissect,frame,outer,rebuild}) ;; esac
    find "${corpus[@]}" -type f | sort -t / -k 4 -u | zip --quiet --junk-paths -@ "$OUT/${name}_seed_corpus.zip"
    cp fuzz/roce.dict "$OUT/$name.dict"
done
