#!/bin/sh
# Checks and times everything on a GPU in some minutes: tests/perf/gpu_check.sh [FOLDER].
# Every timed cell is first compared with the oracle on the device (its gate), so a wrong kernel is a failed row.
# Leaves rows as Parquet files, and a report, in the folder. Exit code: 0 only if nothing failed.
set -u
out=${1:-results/gpu}
bin=${ROTBENCH:-.venv/bin/rotbench}
failed=0
run() { echo "+ rotbench $*"; "$bin" "$@" || failed=$?; }
sizes="--batch 8 --d-model 128 --d-state 128 --processes 1 --budget-s 0.2 --timeout-s 60"

run doctor
run accuracy --device cuda --seq-len 1024,16384
run roofline --device cuda --precision fp32,tf32 --out "$out"
run speed --device cuda --seq-len 1000,16384 --direction forward,forward+backward \
    --algorithm auto,associative,chunked,fft,fused $sizes --out "$out"
run speed --device cuda --direction step --compiled default,compiled $sizes --out "$out"
run speed --device cuda --seq-len 16384 --dtype bfloat16 --direction forward,forward+backward $sizes --out "$out"
run speed --device cuda --seq-len 16384 --precision tf32 $sizes --out "$out"
run memory --device cuda --seq-len 16384 $sizes --out "$out"
run report "$out" --out "$out"
exit $failed
