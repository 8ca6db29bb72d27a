#!/usr/bin/env bash
# limits.sh simd|relaxed OUTPUT: compiles limits.c with the flags of the kernels.
# Where no compiler knows relaxed SIMD, it says so and leaves OUTPUT out.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
build=$1
output=$2

compile() {
    emcc "$here/limits.c" -o "$output" -O2 -std=c11 -msimd128 -fno-vectorize -fno-slp-vectorize \
        -ffp-contract=off -fno-math-errno -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes \
        --no-entry -sSTANDALONE_WASM -sMALLOC=none -sINITIAL_MEMORY=32MB -sTOTAL_STACK=64KB "$@"
}

# Debian's Emscripten 3.1.6 takes an LLVM too old for relaxed SIMD. Its config file says which, so a copy can
# say another; and Binaryen must stay out, since it cannot read the opcode.
compile_with_llvm_19() {
    local config
    config=$(dirname "$(readlink -f "$(command -v emcc)")")/.emscripten
    [[ -f $config ]] || return 1
    sed "s/_ADD_VERSION = .*/_ADD_VERSION = '19'/" "$config" >build/limits.emscripten
    EM_CONFIG=$PWD/build/limits.emscripten compile -mrelaxed-simd --oformat=bare -Wno-experimental
}

case $build in
simd) compile ;;
relaxed)
    compile -mrelaxed-simd 2>/dev/null || compile_with_llvm_19 2>/dev/null || {
        rm -f "$output"
        echo "limits.sh: left out the relaxed build's multiply-add limit, which needs a newer Emscripten," \
            "or clang-19, lld-19 and llvm-19 beside Debian's" >&2
    }
    ;;
esac
