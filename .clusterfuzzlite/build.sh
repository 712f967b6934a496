#!/bin/bash -eu
# Build every fuzz target with its corpus and the dictionary, as ClusterFuzzLite and OSS-Fuzz want them in $OUT.
cd "$SRC/rdmawire"
cargo fuzz build -O --debug-assertions
for target in fuzz/fuzz_targets/*.rs; do
    name="$(basename "$target" .rs)"
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
    zip --quiet --recurse-paths --junk-paths "$OUT/${name}_seed_corpus.zip" "fuzz/corpus/$name"
    cp fuzz/roce.dict "$OUT/$name.dict"
done
