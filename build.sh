#!/usr/bin/env bash
# Builds, serves, tests and measures everything, starting from a fresh clone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
    cat <<'HELP'
usage: ./build.sh [build | demo | test | fuzz | coverage | bench | compare | consumers | golden | flags] [option ...]

  build   build what has changed (the default):
            build/wasm/       the kernels of c/, compiled by Emscripten. Two builds, simd and relaxed (with
                              fused multiply-add), each also with shared memory for threads
            dist/             the npm package: web/lib, its types and the WebAssembly
            web/demo/dist/    the page and, in api/, the API reference, as static files
  demo    build, then serve the page until interrupted. The last line printed is the page's address.
            --port N   the port, 4173 by default. If it is in use, the next free port is taken
  test [all] [PATH ...]
          build, then run every promise of the package and of the page once. With all: also on the other
          builds, threads, browsers, compilers and environments. With paths: only these test files, and those
          in these folders. At the end it prints the tests that this system had to skip, each with its
          reason, and the ten slowest tests.
  test tests/c NAME ...
          compile what changed of the kernels and their tests natively, then run the tests whose name
          contains a NAME, such as layernorm or gelu_backward. A wrong NAME prints the names
  fuzz MINUTES
          build, then run every fuzzer of tests/fuzz for a share of these minutes, and print its findings
            --seed N   repeat the run with this seed; otherwise the seed is fresh, and printed
  coverage
          build, then print which share of the lines, functions and branches the tests reach: of c/ those in
          tests/c, of web/lib those in tests/lib. build/coverage/ shows every line
  bench [generate]
          build, then compare the package with onnxruntime-web; --help lists options.
          generate: how fast GPT-2 writes, beside onnxruntime-web and native llama.cpp
  compare DIR   build, then compare the package with another build of it, in DIR; --help lists options
  consumers [--write] [NAME ...]
          build, then try the package in every bundler, framework and runtime of tests/consumers, or in those
          whose title contains a NAME. --write updates web/lib/README.md's table
  golden  write tests/golden/*.json with PyTorch
  flags simd | relaxed | native | fuzz | coverage
          print the compiler flags of a build: simd and relaxed are for emcc, native is for gcc or clang,
          fuzz and coverage are for clang
  -h, --help   print this text

Node 20 or later and npm must be installed. npm packages are installed from package-lock.json. As root on
Debian or Ubuntu, missing system packages are installed; otherwise, and when npm runs this script to pack or
to install the package, one message names all of them. Emscripten and, for the tests, a C compiler are
required. Chromium, Firefox, WebKitGTK's driver, SIMDe and relaxed SIMD are optional: tests that need them are
skipped without them. Where Node cannot run relaxed SIMD, the tests install a newer Node from npm (Linux on
x64, 50 MB).

Environment variables:
  EMSDK      an emsdk folder, used if emcc is not on the PATH. Emscripten 3.1.6 or later
  CHROMIUM   Chromium or Chrome, if it is not on the PATH as chromium-headless-shell, chromium or google-chrome
  FIREFOX    Firefox, if it is not on the PATH as firefox-esr or firefox
  CC         the native compiler for the tests, gcc by default
  CLANG      the clang of the fuzzer and of the coverage, clang-19 or clang by default
  GPT_LAYERS_SITE
             the address at which the page will be served, such as https://example.com/gpt-layers/: previews
             of links and search engines read it in the page. Without it the page names no address

Unchanged inputs are not built again. Remove build/ to build everything.
HELP
}

say() { printf '%s\n' "$*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# ---- Tools: what each one is, which Debian packages have it, and whether it is there.

declare -A titles=(
    [node]='Node 20 or later with npm: from nodejs.org or Debian 13. Debian 12 and Ubuntu 24.04 have Node 18'
    [emcc]='Emscripten 3.1.6 or later: emcc on the PATH, or EMSDK'
    [relaxed]='an Emscripten that can compile relaxed SIMD, or LLVM 19 for it'
    [compiler]='a C compiler: gcc, or CC'
    [simde]='SIMDe 0.7.4 or later, which compiles WebAssembly SIMD natively'
    [fuzzer]='a clang with libFuzzer: clang-19, or CLANG'
    [coverage]='llvm-cov-19 and llvm-profdata-19'
    [chromium]='Chromium or Chrome, not a snap: chromium on the PATH, or CHROMIUM'
    [firefox]='Firefox, not a snap: firefox on the PATH, or FIREFOX'
    [webkit]='the WebDriver of WebKitGTK, and a virtual display'
    [torch]='PyTorch for /usr/bin/python3'
)
declare -A debian_packages=(
    [node]=''
    [emcc]='emscripten'
    [relaxed]='clang-19 lld-19 llvm-19'
    [compiler]='gcc libc6-dev'
    [simde]='libsimde-dev libc6-dev'
    [fuzzer]='clang-19 libclang-rt-19-dev libc6-dev'
    [coverage]='clang-19 libclang-rt-19-dev llvm-19'
    [chromium]='chromium-headless-shell chromium fonts-dejavu-core'
    [firefox]='firefox-esr fonts-dejavu-core'
    [webkit]='webkit2gtk-driver xvfb xauth'
    [torch]='python3-torch'
)
# Ubuntu has both only as snaps.
if grep -qsx ID=ubuntu /etc/os-release; then debian_packages+=([chromium]='' [firefox]=''); fi

has_node() { has npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; }

emcc_version() { emcc --version 2>/dev/null | sed -n '1s/.*) \([0-9][0-9.]*\).*/\1/p'; }
has_emcc() { [[ $(printf '%s\n' 3.1.6 "$(emcc_version)" | sort -V | head -n 1) == 3.1.6 ]]; }

# LLVM 19 is looked for first, since it is found faster than emcc starts.
has_relaxed() { (has clang-19 && has wasm-ld-19 && has llvm-ar-19) || relaxed_flags >/dev/null; }

has_compiler() { has "${CC:-gcc}"; }

has_simde() {
    printf '#include <simde/wasm/simd128.h>\n' | "${CC:-gcc}" -fsyntax-only -x c - 2>/dev/null
}

find_clang() {
    local name
    for name in "${CLANG:-}" clang-19 clang; do
        if [[ -n $name ]] && has "$name"; then command -v "$name" && return; fi
    done
    return 1
}

has_fuzzer() {
    printf '#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *p, size_t n) { return !p && n; }\n' |
        "$(find_clang)" -fsanitize=fuzzer,address,undefined -x c - -o build/probe-fuzzer 2>/dev/null
}

has_coverage() { has llvm-cov-19 && has llvm-profdata-19 && has clang-19; }

# is_browser COMMAND: whether the tests can drive this browser. A snap cannot read a profile outside its own
# folders. On Ubuntu, /usr/bin/chromium-browser is a script that starts the snap or says that it is not
# installed.
is_browser() {
    local path
    path=$(readlink -f "$(command -v "$1")") || return 1
    [[ $path != */bin/snap ]] && ! head -c 4096 "$path" | grep -qa /snap/bin/ || return 1
    "$1" --version >/dev/null 2>&1
}

# first_browser COMMAND...: prints the path of the first one that the tests can drive.
first_browser() {
    local name
    for name in "$@"; do
        if [[ -n $name ]] && is_browser "$name"; then command -v "$name" && return; fi
    done
    return 1
}

find_chromium() {
    first_browser "${CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome \
        google-chrome-stable
}
find_firefox() { first_browser "${FIREFOX:-}" firefox-esr firefox; }
has_chromium() { find_chromium >/dev/null; }
has_firefox() { find_firefox >/dev/null; }

has_webkit() { has WebKitWebDriver && has xvfb-run; }

has_torch() { /usr/bin/python3 -c 'import torch' 2>/dev/null; }

# lacks TOOL: says that TOOL is missing, and fails.
lacks() {
    say "this system lacks ${titles[$1]} (Debian: ${debian_packages[$1]})"
    return 1
}

# missing TOOL...: prints those that are not there.
missing() {
    local tool
    for tool in "$@"; do "has_$tool" || printf '%s\n' "$tool"; done
}

packages_of() { for tool in "$@"; do printf '%s\n' ${debian_packages[$tool]}; done | sort -u | sed '/^$/d'; }

# Whether apt has a list of packages. A fresh system has none.
knows_packages() { apt-cache show gcc >/dev/null 2>&1; }

# available PACKAGE...: prints those that apt can install and has not installed. Ubuntu, for example, has no
# chromium.
available() {
    local name policy
    for name in "$@"; do
        policy=$(LC_ALL=C apt-cache policy "$name" 2>/dev/null)
        if [[ $policy == *'Installed: (none)'* && $policy != *'Candidate: (none)'* ]]; then
            printf '%s\n' "$name"
        fi
    done
}

# install PACKAGE...: installs what apt has of these packages. Fails if there is nothing to install.
install() {
    local log=build/apt.log packages
    if knows_packages && [[ -z $(available "$@") ]]; then return 1; fi
    apt-get update >>"$log" 2>&1 </dev/null || say "apt-get update failed: $log has its output"
    mapfile -t packages < <(available "$@")
    [[ ${#packages[@]} -gt 0 ]] || return 1
    say "installing ${packages[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}" \
        >>"$log" 2>&1 </dev/null && return
    say "apt-get install failed: $log has its output"
    return 1
}

# say_how_to_install TEXT TOOL...: the command that installs these tools, after TEXT.
say_how_to_install() {
    local text=$1 packages
    mapfile -t packages < <(packages_of "${@:2}")
    if knows_packages; then mapfile -t packages < <(available "${packages[@]}"); fi
    [[ ${#packages[@]} -gt 0 ]] || return 0
    say "$text: sudo apt-get update && sudo apt-get install --no-install-recommends ${packages[*]}"
}

required_by_tests='node emcc compiler'
optional_in_tests='relaxed simde fuzzer chromium firefox webkit'

# need 'REQUIRED...' 'OPTIONAL...': installs missing tools where this script may, and stops if a required one
# is still missing. One message names everything that is missing.
need() {
    local required=($1) all=($1 ${2:-}) absent tool
    mapfile -t absent < <(missing "${all[@]}")
    # `npm install` and `npm pack` run this script as "prepare": they may not install system packages.
    if [[ $(id -u) == 0 && ${npm_lifecycle_event:-} != prepare ]] && has apt-get; then
        # Look again after each round: once clang-19 is there for relaxed SIMD, the fuzzer needs its runtime.
        while [[ ${#absent[@]} -gt 0 ]] && install $(packages_of "${absent[@]}"); do
            mapfile -t absent < <(missing "${all[@]}")
        done
    fi
    [[ ${#absent[@]} -gt 0 ]] || return 0
    say 'build.sh: missing:'
    for tool in "${absent[@]}"; do
        say "  ${titles[$tool]}$([[ " ${required[*]} " == *" $tool "* ]] || printf ' (optional)')"
    done
    say_how_to_install 'On Debian or Ubuntu' "${absent[@]}"
    if [[ $command == build || $command == demo ]]; then
        mapfile -t absent < <(missing $required_by_tests $optional_in_tests)
        say_how_to_install 'To run ./build.sh test as well' "${absent[@]}"
    fi
    [[ -z $(missing "${required[@]}") ]] || exit 1
}

# ---- Building

# make_if_changed NAME OUTPUT COMMAND INPUT...: runs COMMAND unless OUTPUT was made from exactly these inputs.
make_if_changed() {
    local name=$1 output=$2 command=$3 inputs stamp
    shift 3
    stamp=build/$name.stamp
    inputs=$(find "$@" \( -name node_modules -o -name dist \) -prune -o -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum)
    if [[ -e $output && -f $stamp && $(<"$stamp") == "$inputs" ]]; then return; fi
    say "building $name"
    rm -f "$stamp" # if COMMAND fails, the next run starts it again
    "$command"
    printf '%s\n' "$inputs" >"$stamp"
}

# npm runs this script as "prepare" of package.json and hands down its own options, such as --global. The
# first four options overrule them. --ignore-scripts: npm must not run "prepare" again.
install_npm_packages() {
    npm ci --ignore-scripts --include=dev --no-global --no-dry-run --no-audit --no-fund --loglevel=error >&2
}

# The flags of every compiler. A fused multiply-add is used only where the code asks for it. A size that is an
# enumerator may be multiplied by a double: only some versions of clang warn of it.
c_flags=(-std=c11 -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-enum-float-conversion
    -Wstrict-prototypes -Wmissing-prototypes)

# For the tests: finds overruns and undefined behavior. tests/c has a <wasm_simd128.h> for native compilers.
native_flags=(-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Itests/c)

# Comparisons of loop counters would take most of the fuzzer's time: trace-cmp.
fuzz_flags=(-O2 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
    -fno-sanitize-coverage=trace-cmp -fsanitize-ignorelist=tests/fuzz/harness.txt
    -fsanitize-coverage-ignorelist=tests/fuzz/harness.txt -Itests/c)

coverage_flags=(-O1 -fprofile-instr-generate -fcoverage-mapping -Itests/c)

# Without the vectorizers, plain loops stay plain. Without unrolling of loops of unknown length, relaxed.wasm
# was 13 kB smaller and no slower. -Os would save 12 kB, but does not unroll the loops over a tile: most
# products took twice as long.
wasm_flags=(-O2 -msimd128 -fno-vectorize -fno-slp-vectorize -fno-math-errno -mllvm -unroll-runtime=0)

# A lower threshold for inlining saves 4 kB of simd.wasm. In relaxed.wasm, too, but there attention with a
# cache took 1.1 times as long.
simd_flags=(-mllvm -inline-threshold=50)

# Without malloc, the link fails if a kernel allocates.
link_flags=(--no-entry -sSTANDALONE_WASM -sMALLOC=none -sTOTAL_STACK=64KB)

# Emscripten and its clang, for example "Emscripten 3.1.6, clang 14".
wasm_compiler() {
    local clang
    clang=$(emcc -v 2>&1 | sed -n 's/.*clang version \([0-9]*\).*/\1/p')
    printf 'Emscripten %s, clang %s\n' "$(emcc_version)" "$clang"
}

compiles_relaxed() {
    printf '%s\n' '#include <wasm_simd128.h>' 'v128_t probe(v128_t, v128_t, v128_t);' \
        'v128_t probe(v128_t a, v128_t b, v128_t c) { return wasm_f32x4_relaxed_madd(a, b, c); }' \
        >build/probe.c
    emcc "$@" -c build/probe.c -o build/probe.o -msimd128 -mrelaxed-simd >/dev/null 2>&1
}

# Prints the flags that compile relaxed SIMD, and fails if there is no way to. The Emscripten of Debian 12 and
# Ubuntu 24.04 is too old for it, but can do it with LLVM 19. Its Binaryen cannot read the new instructions,
# so the linker itself shortens the addresses, and its output is left as it is.
relaxed_flags() {
    local config with_llvm_19=(--em-config build/llvm-19.config)
    if compiles_relaxed; then
        printf '%s\n' -mrelaxed-simd
        return
    fi
    config=$(dirname "$(readlink -f "$(command -v emcc)")")/.emscripten
    grep -qs LLVM_ADD_VERSION "$config" || return 1
    { cat "$config" && printf "\nLLVM_ADD_VERSION = '19'\nCLANG_ADD_VERSION = '19'\n"; } >build/llvm-19.config
    compiles_relaxed "${with_llvm_19[@]}" || return 1
    printf '%s\n' "${with_llvm_19[@]}" -mrelaxed-simd -Wno-experimental --oformat=bare -Wl,--strip-all \
        -Wl,--compress-relocations
}

# flags simd | relaxed | native | fuzz | coverage: prints the compiler flags, or the reason why there is no
# such build here. Each command adds paths, and what its link needs. Warnings are errors only for the
# compilers of Debian 12, because other versions warn of other things.
flags() {
    local all=("${c_flags[@]}") relaxed
    case ${1:-} in
    native)
        has_simde || lacks simde || return
        all+=("${native_flags[@]}")
        if [[ $("${CC:-gcc}" --version) == gcc*' 12.'* ]]; then all+=(-Werror); fi
        ;;
    fuzz | coverage)
        has_simde || lacks simde || return
        if [[ $1 == fuzz ]]; then
            has_fuzzer || lacks fuzzer || return
            all+=("${fuzz_flags[@]}")
        else
            has_coverage || lacks coverage || return
            all+=("${coverage_flags[@]}")
        fi
        ;;
    simd)
        all+=("${wasm_flags[@]}" "${simd_flags[@]}")
        if [[ $(wasm_compiler) == 'Emscripten 3.1.6, clang 14' ]]; then all+=(-Werror); fi
        ;;
    relaxed)
        relaxed=$(relaxed_flags) || lacks relaxed || return
        all+=("${wasm_flags[@]}" $relaxed)
        ;;
    *)
        usage >&2
        return 2
        ;;
    esac
    printf '%s\n' "${all[*]}"
}

# build_variant NAME FLAG...: build/wasm/NAME.wasm
build_variant() {
    local name=$1
    shift
    emcc c/*.c -o "build/wasm/$name.wasm" "${link_flags[@]}" -Wl,--export=__heap_base \
        -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=1MB -sMAXIMUM_MEMORY=4GB "$@" >&2
}

# build_twins NAME FLAG...: a build, and the same with a shared, imported memory. Not with -pthread: it would
# link functions that need JavaScript.
build_twins() {
    local name=$1
    shift
    build_variant "$name" "$@"
    build_variant "$name-threads" "$@" -matomics -mbulk-memory -Wl,--shared-memory -sIMPORTED_MEMORY
}

build_wasm() {
    local simd relaxed
    rm -rf build/wasm
    mkdir build/wasm
    wasm_compiler >build/wasm/compiler.txt
    simd=$(flags simd)
    build_twins simd $simd
    if relaxed=$(flags relaxed); then
        build_twins relaxed $relaxed
    else
        say 'building without the relaxed build'
    fi
}

# TypeScript 7 is @typescript/native. The packages that call TypeScript's functions still need version 6.
build_package() {
    rm -rf build/lib
    node web/exports.js
    node_modules/@typescript/native/bin/tsc -p web/lib >&2
    node web/bundle.js
}

build_api() {
    rm -rf build/api
    node web/demo/api.js >&2
}

# build/demo has the page's modules as JavaScript, which tests and records import in Node. Vite empties the
# folder that it builds into, so the API reference is copied afterwards.
build_page() {
    rm -rf build/demo
    node_modules/@typescript/native/bin/tsc -p web/demo --noCheck >&2
    node_modules/.bin/vite build --logLevel warn web/demo >&2
    cp -R build/api web/demo/dist/api
}

build() {
    make_if_changed npm node_modules install_npm_packages package.json package-lock.json
    make_if_changed wasm build/wasm/simd.wasm build_wasm build.sh c
    make_if_changed package dist/index.js build_package build.sh web/{bundle,exports,types}.js web/lib build/wasm \
        c/gpt_layers.h web/examples/stories
    make_if_changed api build/api/index.html build_api build.sh web/demo/api.js web/lib package.json
    printf '%s\n' "${GPT_LAYERS_SITE:-}" >build/site
    make_if_changed page web/demo/dist/index.html build_page build.sh web/demo web/lib build/wasm build/api \
        build/site
}

# ---- Tests and measurements

# A Node with relaxed SIMD, for the tests of that build. They are skipped without it.
install_newer_node() {
    npm ci --prefix tests/nodes --no-audit --no-fund --loglevel=error >&2 ||
        say "npm cannot install the newer Node: the tests of the relaxed build will be skipped"
}

need_newer_node() {
    local old='process.platform + process.arch + (parseInt(process.versions.node) < 22)'
    [[ $(node -p "$old") == linuxx64true ]] || return 0
    make_if_changed nodes tests/nodes/node_modules install_newer_node tests/nodes
}

install_typescript_5() {
    npm ci --prefix tests/types --no-audit --no-fund --loglevel=error >&2 ||
        say "npm cannot install TypeScript 5.0: its tests of the types will be skipped"
}

# Exports the paths of what the tests and the benches start. What is not there is unset.
export_tools() {
    CHROMIUM=$(find_chromium) || unset CHROMIUM
    FIREFOX=$(find_firefox) || unset FIREFOX
    CLANG=$(find_clang) || unset CLANG
    export CHROMIUM FIREFOX CLANG
}

run_tests() {
    if [[ ${1:-} == tests/c && $# -gt 1 ]]; then
        need 'node compiler simde'
        exec node tests/c/named.js "${@:2}"
    fi
    need "$required_by_tests" "$optional_in_tests"
    build
    need_newer_node
    make_if_changed typescript_5 tests/types/node_modules install_typescript_5 tests/types
    export_tools
    exec node tests/run.js "$@"
}

install_consumers() { npm ci --prefix tests/consumers --no-audit --no-fund --loglevel=error >&2; }

# cover_c FOLDER: what tests/c reaches of c/, natively, in the code of both builds.
cover_c() {
    local folder=$1 build flags objects=()
    flags=$(flags coverage)
    for build in simd relaxed; do
        "$(find_clang)" $flags $([[ $build == simd ]] || printf '%s' -D__wasm_relaxed_simd__) -Ic \
            -o "$folder/$build" c/*.c tests/c/*.c -lm
        LLVM_PROFILE_FILE="$folder/$build.profraw" "$folder/$build" >"$folder/$build.txt" ||
            say "a test of the kernels failed: $folder/$build.txt"
        objects+=(-object "$folder/$build")
    done
    llvm-profdata-19 merge -o "$folder/profile" "$folder"/*.profraw
    objects=("${objects[@]:1}" -instr-profile "$folder/profile")
    llvm-cov-19 export "${objects[@]}" -format lcov c >"$folder/c.info"
    llvm-cov-19 show "${objects[@]}" -format html -output-dir "$folder/c" c
}

# cover_lib FOLDER: what tests/lib reaches of web/lib, with the processes and threads that the tests start.
# Left out are the tests of copies of the package, and those that run other tests once more.
cover_lib() {
    local files
    mapfile -t files < <(find tests/lib -name '*.test.js' | grep -Ev '/(browser|builds|package|types)\.')
    NODE_V8_COVERAGE="$1/v8" node --test --test-reporter=dot "${files[@]}" >"$1/lib.txt" ||
        say "a test of the package failed: $1/lib.txt"
}

coverage() {
    local folder=build/coverage
    need 'node emcc simde coverage' relaxed
    build
    rm -rf "$folder"
    mkdir -p "$folder"
    cover_c "$folder"
    cover_lib "$folder"
    node tests/coverage.js "$folder"
    say "$folder/c/index.html and $folder/lib/index.html show every line"
}

# fuzz MINUTES [--seed N]: every fuzzer for its share of the minutes, one after the other.
fuzz() {
    local minutes=${1:-} seed status=0 fuzzer fuzzers share
    if [[ ! $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]] || [[ $# -gt 1 && ($# != 3 || $2 != --seed) ]]; then
        usage >&2
        return 2
    fi
    seed=${3:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    need 'node emcc' 'relaxed compiler simde fuzzer'
    build
    export_tools
    fuzzers=(tests/fuzz/*.fuzz.js)
    share=$(node -p "$minutes / ${#fuzzers[@]}")
    printf 'seed %s: ./build.sh fuzz %s --seed %s repeats this run\n' "$seed" "$minutes" "$seed"
    for fuzzer in "${fuzzers[@]}"; do
        node "$fuzzer" --seed "$seed" --minutes "$share" || status=1
    done
    return "$status"
}

install_bench_packages() { npm ci --prefix tests/bench --no-audit --no-fund --loglevel=error >&2; }


mkdir -p build
if ! has emcc && [[ -n ${EMSDK:-} ]]; then PATH="$EMSDK/upstream/emscripten:$EMSDK:$PATH"; fi

command=${1:-build}
[[ $# == 0 ]] || shift
case $command in
build)
    need 'node emcc' relaxed
    build
    ;;
demo)
    need 'node emcc' relaxed
    build
    exec node web/demo/serve.js "$@"
    ;;
test) run_tests "$@" ;;
fuzz) fuzz "$@" ;;
coverage) coverage ;;
bench)
    need 'node emcc' relaxed
    build
    need_newer_node
    make_if_changed bench-npm tests/bench/node_modules install_bench_packages tests/bench/package{,-lock}.json
    exec node tests/bench/bench.js "$@"
    ;;
compare)
    need 'node emcc' relaxed
    build
    need_newer_node
    exec node tests/bench/compare.js "$@"
    ;;
consumers)
    need 'node emcc chromium firefox webkit' relaxed
    build
    make_if_changed consumers-npm tests/consumers/node_modules install_consumers \
        tests/consumers/package{,-lock}.json
    export_tools
    exec node tests/consumers/consumers.js "$@"
    ;;
golden)
    need torch
    exec /usr/bin/python3 tests/golden/golden.py
    ;;
flags) flags "$@" ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
