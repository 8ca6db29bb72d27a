#!/usr/bin/env bash
# What the tests reach: ./build.sh coverage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=build/coverage
rm -rf "$folder"
mkdir -p "$folder"

# Of c/, what tests/c reaches natively, in the code of both builds.
make -f c/Makefile build/c/coverage-{simd,relaxed}/test
objects=()
for code in simd relaxed; do
    LLVM_PROFILE_FILE="$folder/$code.profraw" "build/c/coverage-$code/test" >"$folder/$code.txt" ||
        echo "a test of the kernels failed: $folder/$code.txt" >&2
    objects+=(-object "build/c/coverage-$code/test")
done
llvm-profdata-19 merge -o "$folder/profile" "$folder"/*.profraw
objects=("${objects[@]:1}" -instr-profile "$folder/profile")
llvm-cov-19 report "${objects[@]}" -show-region-summary=false c
llvm-cov-19 show "${objects[@]}" -format html -output-dir "$folder/c" c

# Of web/lib, what tests/lib reaches, with the processes and threads that the tests start. Left out are the
# tests of copies of the package, and those that run other tests once more.
mapfile -t files < <(find tests/lib -name '*.test.js' | grep -Ev '/(browser|builds|package|types)\.')
NODE_V8_COVERAGE="$folder/v8" node --test --test-reporter=dot "${files[@]}" >"$folder/lib.txt" ||
    echo "a test of the package failed: $folder/lib.txt" >&2

node tests/coverage.js "$folder"
echo "$folder/c/index.html and $folder/lib/index.html show every line" >&2
