#!/usr/bin/env bash
# How each build is compiled. In the repository's root:
#   c/flags.sh BUILD            prints the flags: of emcc for simd and relaxed, of the native compiler for
#                               native, of clang for fuzz and coverage
#   c/flags.sh commands BUILD   prints, for c/Makefile, how to compile and to link. Natively a build also
#                               names the code: native-simd, native-relaxed, fuzz-simd, ...
#   c/flags.sh compiler         prints Emscripten's version and its clang's
#   c/flags.sh clang            prints CLANG, or clang-19, or clang: of the fuzzer and the coverage
#   c/flags.sh native-compiler  prints CC, or this clang where it has its sanitizers, or gcc
set -euo pipefail

# A fused multiply-add is used only where the code asks for it. A size that is an enumerator may be multiplied
# by a double: only some versions of clang warn of it.
c_flags='-std=c11 -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-enum-float-conversion
    -Wstrict-prototypes -Wmissing-prototypes'

# For the tests: finds overruns and undefined behavior. tests/c has a <wasm_simd128.h> for native compilers.
native_flags='-O2 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Itests/c'

# Accesses in tests/c are not checked: that would take as long again. Its arrays still have guarded zones
# around them, so that a kernel that leaves an array is found.
clang_tests_flags='-fno-sanitize=undefined -mllvm -asan-instrument-reads=0 -mllvm -asan-instrument-writes=0
    -fsanitize-address-use-after-return=never'
gcc_tests_flags='-fno-sanitize=undefined --param=asan-instrument-reads=0 --param=asan-instrument-writes=0'

# Comparisons of loop counters would take most of the fuzzer's time: trace-cmp.
fuzz_flags='-O2 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
    -fno-sanitize-coverage=trace-cmp -fsanitize-ignorelist=tests/fuzz/harness.txt
    -fsanitize-coverage-ignorelist=tests/fuzz/harness.txt -Itests/c'

coverage_flags='-O1 -fprofile-instr-generate -fcoverage-mapping -Itests/c'

# Without the vectorizers, plain loops stay plain. Without unrolling of loops of unknown length, relaxed.wasm
# was 13 kB smaller and no slower. -Os would save 12 kB, but does not unroll the loops over a tile: most
# products took twice as long. A lower threshold for inlining saves 3 kB of simd.wasm and 4.5 kB of
# relaxed.wasm; there, attention with a cache of 32 tokens takes 9.8 µs for 8.8, other kernels as before.
wasm_flags='-O2 -msimd128 -fno-vectorize -fno-slp-vectorize -fno-math-errno -mllvm -unroll-runtime=0
    -mllvm -inline-threshold=15'

# compile_probe FLAG...: compiles a function with emcc, and prints what emcc says of it.
compile_probe() {
    local folder status=0
    folder=$(mktemp -d)
    printf '%s\n' '#include <wasm_simd128.h>' 'v128_t probe(v128_t a);' 'v128_t probe(v128_t a) {' \
        '#ifdef __wasm_relaxed_simd__' 'a = wasm_f32x4_relaxed_madd(a, a, a);' '#endif' 'return a; }' \
        >"$folder/probe.c"
    emcc "$@" -c "$folder/probe.c" -o "$folder/probe.o" 2>&1 || status=$?
    rm -r "$folder"
    return "$status"
}

# clang_of FLAG...: the clang that emcc runs, with these flags and its own. c/Makefile compiles without emcc,
# which takes 0.2 s of a core to start.
clang_of() {
    local output
    output=$(compile_probe -v "$@") || return
    # The first line is: "/usr/bin/clang-14" -target ... -v -c FOLDER/probe.c -o FOLDER/probe.o
    sed -n '/probe\.c/{s/"//g; s/^ *//; s/ -v / /; s/ -c / /; s/ [^ ]*probe\.[co]//g; s/ -o$//; p; q}' \
        <<<"$output"
}

# Emscripten and its clang, for example "Emscripten 3.1.6, clang 14".
compiler() {
    local said
    said=$(emcc -v 2>&1)
    sed -n 's/^emcc .*) \([0-9][0-9.]*\).*/Emscripten \1, /p; s/.*clang version \([0-9]*\).*/clang \1/p' \
        <<<"$said" | paste -sd ''
}

find_clang() { command -v "${CLANG:-clang-19}" || command -v clang; }

# Clang's program takes two thirds of the time of gcc's.
native_compiler() {
    local clang folder
    clang=$(find_clang) && folder=$("$clang" -print-resource-dir 2>/dev/null) || folder=
    if [[ -n ${CC:-} ]]; then
        echo "$CC"
    elif compgen -G "$folder/lib/*/libclang_rt.asan*" >/dev/null; then
        echo "$clang"
    else
        echo gcc
    fi
}

# Prints the flags that compile relaxed SIMD, and fails if there is no way to. The Emscripten of Debian 12 and
# Ubuntu 24.04 is too old for it, but can do it with LLVM 19. Its Binaryen cannot read the new instructions,
# so the linker itself shortens the addresses, and its output is left as it is.
relaxed_flags() {
    local config ours=build/llvm-19.config
    if compile_probe -msimd128 -mrelaxed-simd >/dev/null; then
        echo -mrelaxed-simd
        return
    fi
    config=$(dirname "$(readlink -f "$(command -v emcc)")")/.emscripten
    grep -qs LLVM_ADD_VERSION "$config" || return 1
    { cat "$config" && printf "\nLLVM_ADD_VERSION = '19'\nCLANG_ADD_VERSION = '19'\n"; } >"$ours.$$"
    mv "$ours.$$" "$ours" # at once: another process may read it
    compile_probe --em-config "$ours" -msimd128 -mrelaxed-simd >/dev/null || return 1
    echo "--em-config $ours -mrelaxed-simd -Wno-experimental --oformat=bare -Wl,--strip-all" \
        -Wl,--compress-relocations
}

# Warnings are errors only for the compilers of Debian 12, because other versions warn of other things.
flags() {
    local relaxed
    case ${1:-} in
    native)
        echo $c_flags $native_flags \
            $([[ $("$(native_compiler)" --version) != @(gcc*' 12.'*|*'clang version 19.'*) ]] || echo -Werror)
        ;;
    fuzz) echo $c_flags $fuzz_flags ;;
    coverage) echo $c_flags $coverage_flags ;;
    simd)
        echo $c_flags $wasm_flags \
            $([[ $(compiler) != 'Emscripten 3.1.6, clang 14' ]] || echo -Werror)
        ;;
    relaxed)
        relaxed=$(relaxed_flags) || return
        echo $c_flags $wasm_flags $relaxed
        ;;
    *)
        sed -n '2,10s/^# //p' "$0" >&2
        return 2
        ;;
    esac
}

# The last line changes when the compiler does.
commands() {
    local build=$1 flags compile link version tests=
    case $build in
    simd | relaxed)
        flags=$(flags "$build")
        compile=$(clang_of $flags)
        link="emcc $flags"
        version=$(compiler)
        ;;
    *)
        flags=$(flags "${build%-*}")
        if [[ $build == native-* ]]; then
            compile="$(native_compiler) $flags"
            tests=$gcc_tests_flags
            [[ $("${compile%% *}" --version) != *clang* ]] || tests=$clang_tests_flags
        else
            compile="$(find_clang) $flags"
        fi
        # A native compiler has no relaxed SIMD: tests/c/wasm_simd128.h stands in.
        [[ $build != *-relaxed ]] || compile+=' -D__wasm_relaxed_simd__'
        link=$compile
        version=$build
        ;;
    esac
    version+=", $(${compile%% *} --version | head -n 1)"
    printf "compile='%s -Ic'\ntests='%s'\nlink='%s'\n# %s\n" "$compile" "$(echo $tests)" "$link" "$version"
}

case ${1:-} in
commands) commands "$2" ;;
clang) find_clang ;;
compiler) compiler ;;
native-compiler) native_compiler ;;
*) flags "$@" ;;
esac
