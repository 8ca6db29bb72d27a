#!/usr/bin/env bash
# Everything from nothing: the toolchain, the WebAssembly, the package, the page, the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
    cat <<'HELP'
usage: ./build.sh [build | demo | test | bench | bench-browser | compare | golden] [option ...]

  build   (the default) build what has changed:
            build/wasm/        the kernels of c/, by Emscripten: simd and relaxed (fused multiply-add), and each
                              once more with shared memory, for threads; plain, to time beside them on the page
            dist/             the npm package: web/lib with the WebAssembly in it, and its types
            web/demo/dist/    the page and, in api/, the API reference, as static files
  demo    build, then serve the page until interrupted; the last line printed is its address.
            --port N   another port than 4173; a port in use gives way to the next
  test    build, then run every test: the kernels natively under sanitizers, the package in Node, the packed
          package in an empty folder, the page in real browsers. Arguments name test files to run only those.
          Where this Node has no relaxed SIMD, npm fetches a newer one for that build (Linux on x64, 50 MB).
          Where there is no Firefox to be had, as on Ubuntu, what is tested in it is skipped.
  bench   build, then measure the package beside onnxruntime-web and TensorFlow.js in Node; --help says its options
  bench-browser   the same beside onnxruntime-web in a headless browser
  compare DIR   build, then measure the package beside another build of it in DIR; --help says its options
  golden  write tests/golden/*.json anew with PyTorch
  -h, --help   this text

What is missing is installed: npm packages from package-lock.json, and, as root on Debian or Ubuntu, the
distribution's packages. Elsewhere the build names the first thing that is missing, and stops; but where Emscripten
is too old for relaxed SIMD and clang-19, lld-19 and llvm-19 are not to be had, it says so and leaves relaxed out.
Node 20 or later and npm must be there. For its tools it looks in

  EMSDK      an emsdk folder, if `emcc` is not on the PATH; Emscripten 3.1.6 or later
  CHROMIUM   the browser for the tests, if not `chromium` or `google-chrome` on the PATH
  FIREFOX    the other one, if not `firefox-esr` or `firefox` on the PATH; Ubuntu's, a snap, cannot be driven
  CC         the native compiler for the tests, gcc by default

Unchanged inputs are not built again; remove build/ to start over.
HELP
}

say() { printf '%s\n' "$*" >&2; }
die() {
    say "build.sh: $*"
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

may_install() { [[ $(id -u) == 0 ]] && has apt-get; }

# install LOG PACKAGE...: Debian's packages; what is printed goes to LOG.
install() {
    local log=$1
    shift
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        >"$log" 2>&1 </dev/null
}

# install_or_die WHAT PACKAGE...: Debian's packages where we may, otherwise the one message that says what is missing.
install_or_die() {
    local what=$1
    shift
    may_install || die "$what is missing. Install it and run this again; on Debian or Ubuntu: sudo apt-get install $*"
    say "installing $* ($what)"
    local log
    log=$(mktemp)
    if ! install "$log" "$@"; then
        tail -n 20 "$log" >&2
        die "$what is missing, and apt-get install $* failed; its last lines are above"
    fi
    rm -f "$log"
}

need_node() {
    has node && has npm || die "Node 20 or later with npm is missing. Install it from your distribution or nodejs.org"
    node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' ||
        die "Node 20 or later is needed, and this is $(node --version)"
}

need_emcc() {
    if ! has emcc && [[ -n ${EMSDK:-} ]]; then PATH="$EMSDK/upstream/emscripten:$EMSDK:$PATH"; fi
    has emcc || install_or_die "Emscripten 3.1.6 or later (emcc on the PATH, or EMSDK)" emscripten
    local version
    version=$(emcc --version | sed -n '1s/.*) \([0-9][0-9.]*\).*/\1/p')
    [[ $(printf '%s\n' 3.1.6 "$version" | sort -V | head -n 1) == 3.1.6 ]] ||
        die "Emscripten 3.1.6 or later is needed, and emcc is ${version:-of unknown version}"
}

# The distributions' names for the browser; Ubuntu's chromium is a snap, which a container cannot install.
find_browser() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        [[ -n $name ]] && has "$name" && command -v "$name" && return
    done
    return 1
}

need_browser() {
    find_browser >/dev/null || install_or_die "a browser (Chromium or Chrome)" chromium fonts-dejavu-core
    CHROMIUM=$(find_browser) || die "a browser is missing: install Chromium or Chrome, or set CHROMIUM"
    export CHROMIUM
}

# Not a snap: it sees no profile but in its own folders. Nor the script that Ubuntu has in its place.
find_firefox() {
    local name path
    for name in "${FIREFOX:-}" firefox-esr firefox; do
        [[ -n $name ]] && path=$(command -v "$name") || continue
        [[ $(readlink -f "$path") != */bin/snap ]] && "$path" --version >/dev/null 2>&1 || continue
        printf '%s\n' "$path"
        return
    done
    return 1
}

# Unlike the rest it need not be there: Ubuntu has none that can be driven.
need_firefox() {
    local log=build/firefox.log
    if ! find_firefox >/dev/null && may_install; then
        say "installing firefox-esr (the other browser)"
        install "$log" firefox-esr fonts-dejavu-core || say "apt-get install firefox-esr failed: $log says why"
    fi
    FIREFOX=$(find_firefox) ||
        say "going on without Firefox: its tests will be skipped; on Debian: sudo apt-get install firefox-esr, or set FIREFOX"
    export FIREFOX
}

need_test_tools() {
    need_emcc # the kernels' tests run as WebAssembly, too
    has "${CC:-gcc}" || install_or_die "a C compiler (gcc)" gcc libc6-dev
    printf '#include <simde/wasm/simd128.h>\n' | "${CC:-gcc}" -fsyntax-only -x c - 2>/dev/null ||
        install_or_die "SIMDe, WebAssembly's SIMD for native compilers" libsimde-dev libc6-dev
    need_browser
    need_firefox
}

# make_if_changed NAME OUTPUT COMMAND INPUT...: runs COMMAND unless OUTPUT was made from these very inputs.
make_if_changed() {
    local name=$1 output=$2 command=$3 inputs stamp
    shift 3
    stamp=build/$name.stamp
    inputs=$(find build.sh "$@" \( -name node_modules -o -name dist \) -prune -o -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum)
    if [[ -e $output && -f $stamp && $(<"$stamp") == "$inputs" ]]; then return; fi
    say "building $name"
    rm -f "$stamp" # a failure half way is built anew
    "$command"
    printf '%s\n' "$inputs" >"$stamp"
}

install_npm_packages() { npm ci --no-audit --no-fund --loglevel=error >&2; }

# A Node with relaxed SIMD, for the tests of that build. They skip it where there is none.
install_newer_node() {
    npm ci --prefix tests/nodes --no-audit --no-fund --loglevel=error >&2 ||
        say "going on without a newer Node: the tests of the relaxed build will be skipped"
}

need_newer_node() {
    local old='process.platform + process.arch + (parseInt(process.versions.node) < 22)'
    [[ $(node -p "$old") == linuxx64true ]] || return 0
    make_if_changed nodes tests/nodes/node_modules install_newer_node tests/nodes
}

# One set of flags for every Emscripten. Without malloc the link fails if a kernel allocates; without the vectorizers
# the plain loops stay plain; a fused multiply-add is written where it is meant. Loops of a length that
# is not known are not unrolled: relaxed.wasm is 64 kB so, not 73, and no slower. -Os makes 56 kB of simd.wasm's 60, and
# FeedForward of 6 rows a third slower.
wasm_flags=(-O2 -mllvm -unroll-runtime=0 -std=c11 -msimd128 -fno-vectorize -fno-slp-vectorize -ffp-contract=off
    -fno-math-errno -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    --no-entry -sSTANDALONE_WASM -sMALLOC=none -sTOTAL_STACK=64KB)

# build_variant NAME FLAG...: build/wasm/NAME.wasm
build_variant() {
    local name=$1
    shift
    emcc c/*.c -o "build/wasm/$name.wasm" "${wasm_flags[@]}" -Wl,--export=__heap_base \
        -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=1MB -sMAXIMUM_MEMORY=4GB "$@" >&2
}

# A build, and its twin whose memory is shared and imported. No pthreads: what they would link wants JavaScript.
build_twins() {
    local name=$1
    shift
    build_variant "$name" "$@"
    build_variant "$name-threads" "$@" -matomics -mbulk-memory -Wl,--shared-memory -sIMPORTED_MEMORY
}

compiles_relaxed() {
    printf '%s\n' '#include <wasm_simd128.h>' 'v128_t probe(v128_t, v128_t, v128_t);' \
        'v128_t probe(v128_t a, v128_t b, v128_t c) { return wasm_f32x4_relaxed_madd(a, b, c); }' >build/probe.c
    emcc -c build/probe.c -o build/probe.o -msimd128 -mrelaxed-simd >/dev/null 2>&1
}

# Debian's and Ubuntu's Emscripten can use a newer LLVM than it comes with. Prints the configuration that makes it.
configure_llvm_19() {
    local config packages=(clang-19 lld-19 llvm-19)
    config=$(dirname "$(readlink -f "$(command -v emcc)")")/.emscripten
    grep -qs LLVM_ADD_VERSION "$config" || return
    if ! { has clang-19 && has wasm-ld-19 && has llvm-ar-19; }; then
        may_install || return
        say "installing ${packages[*]} (relaxed SIMD for an Emscripten that is too old for it)"
        install build/llvm-19.log "${packages[@]}" || return
    fi
    { cat "$config" && printf "\nLLVM_ADD_VERSION = '19'\nCLANG_ADD_VERSION = '19'\n"; } >build/llvm-19.config
    printf '%s\n' "$PWD/build/llvm-19.config"
}

# with_relaxed COMMAND...: runs COMMAND with the flags that compile relaxed SIMD added, where there is a way to.
with_relaxed() {
    local config
    if compiles_relaxed; then
        "$@" -mrelaxed-simd
    elif config=$(configure_llvm_19) && EM_CONFIG=$config compiles_relaxed; then
        # That Emscripten's Binaryen cannot read the instructions, so what the linker writes is taken as it is.
        EM_CONFIG=$config "$@" -mrelaxed-simd -Wno-experimental --oformat=bare -Wl,--strip-all
    else
        say "leaving out the relaxed build: this Emscripten is too old for it without clang-19, lld-19 and llvm-19"
    fi
}

# The plain FeedForward alone, which the page times beside the builds; the package does not ship it.
build_plain() { build_variant plain -DGPT_API= -Wl,--export=gpt_feedforward_forward_ref; }

build_wasm() {
    need_emcc
    rm -rf build/wasm
    mkdir build/wasm
    build_twins simd
    with_relaxed build_twins relaxed
    build_plain
}

# Each build in a chunk of its own, and the list of them: load downloads the one that it runs. In hexadecimal: base64
# is a third shorter, but a fourth longer once compressed, since in it a byte does not always look the same.
build_package() {
    rm -rf dist
    mkdir -p dist/wasm
    local name list=
    for name in {simd,relaxed}{,-threads}; do
        [[ -e build/wasm/$name.wasm ]] || continue
        cp "build/wasm/$name.wasm" dist/wasm/
        printf "export default '%s'\n" "$(od -An -v -tx1 "build/wasm/$name.wasm" | tr -d ' \n')" >"dist/wasm/$name.js"
        printf '/** %s.wasm in hexadecimal */\ndeclare const hex: string\nexport default hex\n' "$name" \
            >"dist/wasm/$name.d.ts"
        list+="  '$name': () => import('./$name.js'),"$'\n'
    done
    printf '// The builds there are.\nexport const builds = {\n%s}\n' "$list" >dist/wasm/builds.js
    printf '%s\n' '/** The builds there are, each with what imports its chunk: the WebAssembly in hexadecimal. */' \
        'export declare const builds: Readonly<Partial<Record<string, () => Promise<{ default: string }>>>>' \
        >dist/wasm/builds.d.ts
    node_modules/.bin/tsc -p web/lib >&2
}

build_api() {
    rm -rf build/api
    node web/demo/api.js >&2
}

# Vite empties the folder that it builds into, so the API reference is copied afterwards.
build_page() {
    node_modules/.bin/vite build --logLevel warn web/demo >&2
    cp -R build/api web/demo/dist/api
}

build() {
    need_node
    mkdir -p build
    make_if_changed npm node_modules install_npm_packages package.json package-lock.json
    make_if_changed wasm build/wasm/simd.wasm build_wasm c
    make_if_changed package dist/index.js build_package web/lib build/wasm
    make_if_changed api build/api/index.html build_api web/demo/api.js web/lib package.json
    make_if_changed page web/demo/dist/index.html build_page web/demo web/lib build/wasm build/api
}

demo() {
    build
    exec node web/demo/serve.js "$@"
}

run_tests() {
    build
    need_test_tools
    need_newer_node
    local files=("$@")
    if [[ $# == 0 ]]; then mapfile -t files < <(find tests -name '*.test.js' -not -path '*/node_modules/*' | sort); fi
    exec node --test --test-reporter=spec "${files[@]}"
}

install_bench_packages() { npm ci --prefix tests/bench --no-audit --no-fund --loglevel=error >&2; }

# build_limit NAME FLAG...: build/limits-NAME.wasm
build_limit() {
    local name=$1
    shift
    emcc tests/bench/limits.c -o "build/limits-$name.wasm" "${wasm_flags[@]}" -sINITIAL_MEMORY=32MB "$@" >&2
}

build_limits() {
    need_emcc
    rm -f build/limits-*.wasm
    build_limit simd
    with_relaxed build_limit relaxed
}

# bench SCRIPT OPTION...: the peers and the loops that they are measured against are the bench's own.
bench() {
    build
    make_if_changed limits build/limits-simd.wasm build_limits tests/bench/limits.c c/simd.h
    make_if_changed bench-npm tests/bench/node_modules install_bench_packages tests/bench/package{,-lock}.json
    exec node "$@"
}

bench_browser() {
    need_browser
    bench tests/bench/browser.js "$@"
}

golden() {
    local python=/usr/bin/python3
    "$python" -c 'import torch' 2>/dev/null || install_or_die "PyTorch for $python" python3-torch
    "$python" tests/golden/golden.py
}

command=${1:-build}
[[ $# == 0 ]] || shift
case $command in
build) build ;;
demo) demo "$@" ;;
test) run_tests "$@" ;;
bench) bench tests/bench/bench.js "$@" ;;
bench-browser) bench_browser "$@" ;;
compare)
    build
    need_newer_node
    exec node tests/bench/compare.js "$@"
    ;;
golden) golden ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
