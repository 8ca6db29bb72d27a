#!/usr/bin/env bash
# Builds, serves, tests and measures everything, starting from a fresh clone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
    cat <<'HELP'
usage: ./build.sh [build | demo | test | fuzz | coverage | bench | compare | consumers | golden |
                  record | flags] [option ...]

  build   build what has changed (the default):
            build/wasm/       the kernels of c/, compiled by Emscripten. Two builds, simd and relaxed (with
                              fused multiply-add), each also with shared memory for threads
            dist/             the npm package: web/lib, its types and the WebAssembly
            web/demo/dist/    the page and, in api/, the API reference, as static files
  demo    build, then serve the page until interrupted. The last line printed is the page's address. On a
          desktop it opens in the browser.
          --port N   the port, 4173 by default. If it is in use, the next free port is taken
          --watch    serve the sources with Vite's own server: an edit of web/demo or web/notebook shows at
                     once
  test [--again] [all] [PATH ...]
          build, then run every promise of the package and of the page once. With all: also printing and touch,
          the other builds, threads, browsers, compilers and environments, and lint. With paths: only these test
          files, and those in these folders. At the end it prints the tests that this system had to skip, each
          with its reason, and the ten slowest tests.
          A test file that passed, also in test all, is not run again while nothing that it may read has
          changed; test all runs again what has passed without all. The summary says how many tests were not
          run again. With --again, with paths, and where the variable CI is set, every file runs
  test tests/c NAME ...
          compile what changed of the kernels and their tests natively, then run the tests whose name
          contains a NAME, such as layernorm or gelu_backward. A wrong NAME prints the names
  fuzz MINUTES
          build, then run every fuzzer of tests/fuzz for a share of these minutes, and print its findings
          --seed N   repeat the run with this seed; otherwise the seed is fresh, and printed
  coverage  build, then print the share of the lines, functions and branches that the tests reach: of c/ those
          in tests/c, of web/lib those in tests/lib. build/coverage/ shows every line
  bench [generate]  build, then compare the package with onnxruntime-web and jax-js; --help lists options.
          generate: how fast GPT-2 writes, beside onnxruntime-web and native llama.cpp
  compare [DIR]  build, then compare the package with another build of it, in DIR, and with one fixed commit;
          --help lists options
  consumers [--write] [NAME ...]
          build, then try the package in every bundler, framework and runtime of tests/consumers, or in those
          whose title contains a NAME. --write updates web/lib/README.md's table
  golden  write tests/golden/*.json with PyTorch
  record  build, then record the boxes and styles of the page and the notebook in tests/demo/looks/, what each
          control of the page changes in tests/demo/behaves/, and the picture for previews of links,
          web/demo/public/og.png. The tests compare with these files. git diff shows what has changed
  flags simd | relaxed | native | fuzz | coverage
          print the compiler flags of a build: those of emcc for simd and relaxed, of the C compiler for
          native, of clang for fuzz and coverage
  -h, --help   print this text

Node 20 or later and npm must be installed. npm packages are installed from package-lock.json. As root on
Debian or Ubuntu, missing system packages are installed; otherwise, and when npm runs this script to pack
the package, one message names all of them. Make, Emscripten and, for the tests, a C compiler are
required. What else the tests use is optional: without it they are skipped. test all, bench and compare
install a newer Node from npm where this one has no relaxed SIMD (Linux on x64, 50 MB). test all also
installs TypeScript 5.

Environment variables:
  EMSDK      an emsdk folder, used if emcc is not on the PATH. Emscripten 3.1.6 or later
  CHROMIUM   the Chromium of the tests. Otherwise it is chromium-headless-shell, chromium or google-chrome
  CHROMIUM_BROWSER
             the Chromium with a window, for the tests of touch and one other test. Otherwise it is chromium
             or google-chrome
  FIREFOX    Firefox, if it is not on the PATH as firefox-esr or firefox
  CC         the native compiler for the tests. Otherwise it is CLANG where that has its sanitizers, or gcc
  CLANG      the clang of the native tests, the fuzzer and the coverage, clang-19 or clang by default
  GPT_LAYERS_SITE
             the page's future address, such as https://example.com/gpt-layers/, for previews of links and
             for search engines. Without it the page names no address
HELP
}

say() { printf '%s\n' "$*" >&2; }
has() { command -v "$1" >/dev/null 2>&1; }

# ---- Tools: Debian's packages, how to see that the tool is there, and what it is

declare -A packages checks titles
tool() { packages[$1]=$2 checks[$1]=$3 titles[$1]=$4; }

tool node '' has_node \
    'Node 20 or later with npm: from nodejs.org or Debian 13. Debian 12 and Ubuntu 24.04 have Node 18'
tool make 'make' 'has make' 'GNU Make'
tool emcc 'emscripten' has_emcc 'Emscripten 3.1.6 or later: emcc on the PATH, or EMSDK'
tool relaxed 'clang-19 lld-19 llvm-19' has_relaxed 'an Emscripten that has relaxed SIMD, or LLVM 19 for it'
tool compiler 'gcc libc6-dev' 'has "$(c/flags.sh native-compiler)"' 'a C compiler: gcc, clang-19, or CC'
tool simde 'libsimde-dev libc6-dev' has_simde 'SIMDe 0.7.4 or later: WebAssembly SIMD for native compilers'
tool fuzzer 'clang-19 libclang-rt-19-dev libc6-dev' has_fuzzer 'a clang with libFuzzer: clang-19, or CLANG'
tool coverage 'clang-19 libclang-rt-19-dev llvm-19' has_coverage 'clang-19, llvm-cov-19 and llvm-profdata-19'
tool chromium 'chromium-headless-shell fonts-dejavu-core' find_chromium \
    'Chromium or Chrome, not a snap: chromium-headless-shell or chromium on the PATH, or CHROMIUM'
tool browser 'chromium fonts-dejavu-core' find_browser \
    'the whole Chromium or Chrome, not a snap: chromium on the PATH, or CHROMIUM_BROWSER'
tool firefox 'firefox-esr fonts-dejavu-core' find_firefox \
    'Firefox, not a snap: firefox on the PATH, or FIREFOX'
tool webkit 'webkit2gtk-driver xvfb xauth' has_webkit 'the WebDriver of WebKitGTK, and a virtual display'
tool torch 'python3-torch' has_torch 'PyTorch for /usr/bin/python3'
# Ubuntu has these browsers only as snaps.
if grep -qsx ID=ubuntu /etc/os-release; then packages+=([chromium]='' [browser]='' [firefox]=''); fi

has_node() { has npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; }
has_emcc() {
    emcc=$(c/flags.sh compiler) # such as "Emscripten 3.1.6, clang 14"
    printf '%s\n' 'Emscripten 3.1.6' "$emcc" | sort -CV
}

# LLVM 19 is looked for first, since it is found faster than emcc starts.
has_relaxed() { (has clang-19 && has wasm-ld-19 && has llvm-ar-19) || c/flags.sh relaxed; }
has_simde() { "$(c/flags.sh native-compiler)" -fsyntax-only -x c - <<<'#include <simde/wasm/simd128.h>'; }
has_coverage() { has clang-19 && has llvm-cov-19 && has llvm-profdata-19; }
has_webkit() { has WebKitWebDriver && has xvfb-run && has xauth; }
has_torch() { /usr/bin/python3 -c 'import torch'; }
has_fuzzer() {
    "$(c/flags.sh clang)" -fsanitize=fuzzer,address,undefined -x c - -o build/probe-fuzzer \
        <<<'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }'
}

# first_browser COMMAND...: prints the path of the first one that the tests can drive. A snap, or Ubuntu's
# script that starts one, cannot read a profile outside its own folders.
first_browser() {
    local name path
    for name in "$@"; do
        path=$(readlink -f "$(command -v "$name")") || continue
        [[ $path != */bin/snap ]] && ! head -c 4096 "$path" | grep -qa /snap/bin/ || continue
        if "$name" --version >/dev/null 2>&1; then command -v "$name" && return; fi
    done
    return 1
}

browsers=(chromium chromium-browser google-chrome google-chrome-stable)
find_chromium() { first_browser ${CHROMIUM:+"$CHROMIUM"} chromium-headless-shell "${browsers[@]}"; }
find_browser() { first_browser ${CHROMIUM_BROWSER:+"$CHROMIUM_BROWSER"} "${browsers[@]}"; }
find_firefox() { first_browser ${FIREFOX:+"$FIREFOX"} firefox-esr firefox; }

# Exports the paths of what the tests and the benches start. What is not there is unset.
export_tools() {
    CHROMIUM=$(find_chromium) || unset CHROMIUM
    CHROMIUM_BROWSER=$(find_browser) || unset CHROMIUM_BROWSER
    FIREFOX=$(find_firefox) || unset FIREFOX
    export CHROMIUM CHROMIUM_BROWSER FIREFOX
}

# find_missing TOOL...: sets missing to those that are not there, and fails if there are none.
find_missing() {
    local tool
    missing=()
    for tool in "$@"; do eval "${checks[$tool]}" >/dev/null 2>&1 || missing+=("$tool"); done
    [[ ${#missing[@]} -gt 0 ]]
}

# installable TOOL...: prints the packages of these tools that apt can install and has not installed. Ubuntu,
# for example, has no chromium. A fresh system's apt knows no package: then it prints all of them.
installable() {
    local tool names
    names=$(for tool in "$@"; do printf '%s\n' ${packages[$tool]}; done | sort -u)
    if ! apt-cache show gcc >/dev/null 2>&1; then echo $names && return; fi
    [[ -z $names ]] || LC_ALL=C apt-cache policy $names |
        sed -n '/^[^ ]/{s/:$//;h}; /Installed: (none)/{n;/Candidate: (none)/!{g;p}}'
}

# install TOOL...: installs what apt has of them. Fails if there is nothing to install.
install() {
    local log=build/apt.log names
    [[ -n $(installable "$@") ]] || return 1
    apt-get update >>"$log" 2>&1 </dev/null || say "apt-get update failed: $log has its output"
    names=$(installable "$@")
    say "installing" $names
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y --no-install-recommends $names >>"$log" 2>&1 </dev/null && return
    say "apt-get install failed: $log has its output"
    return 1
}

# say_how_to_install TEXT TOOL...: the command that installs these tools, after TEXT.
say_how_to_install() {
    local names
    names=$(installable "${@:2}")
    [[ -z $names ]] || say "$1: sudo apt-get update && sudo apt-get install --no-install-recommends" $names
}

optional_in_tests='simde fuzzer chromium'

# need 'REQUIRED...' 'OPTIONAL...': installs missing tools where this script may, and stops if a required one
# is still missing. One message names everything that is missing.
need() {
    local required=" $1 " tools="$1 ${2:-}" tool
    find_missing $tools || return 0
    # `npm pack` runs this script as "prepack": it may not install system packages.
    if [[ $(id -u) == 0 && ${npm_lifecycle_event:-} != prepack ]] && has apt-get; then
        # Look again after each round: once clang-19 is there for relaxed SIMD, the fuzzer needs its runtime.
        while install "${missing[@]}"; do find_missing $tools || return 0; done
    fi
    say 'build.sh: missing:'
    for tool in "${missing[@]}"; do
        say "  ${titles[$tool]}$([[ $required == *" $tool "* ]] || echo ' (optional)')"
    done
    say_how_to_install 'On Debian or Ubuntu' "${missing[@]}"
    if [[ $command == build || $command == demo ]] && find_missing $tools compiler $optional_in_tests; then
        say_how_to_install 'To run ./build.sh test as well' "${missing[@]}"
    fi
    ! find_missing $required || exit 1
}

# ---- Building

# step NAME OUTPUT COMMAND READS INPUT...: runs COMMAND NAME, unless OUTPUT was made from the same. INPUT are
# files and folders; documents and source maps are not read. The outputs of earlier steps are among them: after
# a change that leaves those as they were, such as a comment in a .c file, this step does not run. READS is
# text: what else decides the output, such as a tool's version.
step() {
    local name=$1 output=$2 command=$3 reads=$4 stamp=build/$1.stamp key
    key=$({
        declare -f "$command"
        echo "$reads"
        find "${@:5}" \( -name node_modules -o -name dist -o -name '.?*' \) -prune -o \
            -type f ! -name '*.md' ! -name '*.map' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    } | sha256sum)
    if [[ -e $output && -f $stamp && $(<"$stamp") == "$key" ]]; then return; fi
    say "building $name"
    rm -f "$stamp" # if COMMAND fails, the next run starts it again
    "$command" "$name"
    [[ $? == 0 && -e $output ]] || return
    echo "$key" >"$stamp"
}

# npm runs this script as "prepack" of package.json and hands down its own options, such as --global. The
# first four options overrule them. No package needs its scripts.
install_npm_packages() {
    npm ci --ignore-scripts --include=dev --no-global --no-dry-run --no-audit --no-fund --loglevel=error >&2
}

# What decides the WebAssembly. LLVM 19 makes the relaxed build where Emscripten's own clang cannot.
compilers() {
    local name
    echo "$emcc"
    for name in clang-19 wasm-ld-19 llvm-ar-19; do "$name" --version 2>/dev/null || echo "no $name"; done
}

build_wasm() {
    local builds='simd simd-threads page'
    rm -rf build/wasm
    mkdir build/wasm
    echo "$emcc" >build/wasm/compiler.txt
    if c/flags.sh relaxed >/dev/null; then builds+=' relaxed relaxed-threads'; else say '  without relaxed'; fi
    make -f c/Makefile $(printf 'build/wasm/%s.wasm ' $builds) >&2
}

# TypeScript 7 is @typescript/native. The packages that call TypeScript's functions still need version 6.
build_package() {
    rm -rf build/lib
    node web/exports.js
    node_modules/@typescript/native/bin/tsc -p web/lib >&2
    node web/bundle.js
}

build_api() { node web/demo/api.js >&2; }

# build/demo has the page's modules as JavaScript, which tests and records import in Node. Vite empties the
# folder that it builds into, so the notebook is built, and the API reference copied, afterwards.
build_page() {
    rm -rf build/demo
    node_modules/@typescript/native/bin/tsc -p web/demo --noCheck >&2
    node_modules/.bin/vite build --logLevel warn web/demo >&2
    node_modules/.bin/vite build --logLevel warn web/notebook >&2
    cp -R build/api web/demo/dist/api
}

build() {
    step npm node_modules install_npm_packages '' package-lock.json
    step wasm build/wasm/simd.wasm build_wasm "$(compilers)" c
    step package dist/index.js build_package "$(node --version)" \
        package*.json web/*.js web/lib web/examples/stories c/gpt_layers.h build/wasm/*.wasm
    step api build/api/index.html build_api "$(node --version)" \
        package*.json web/demo/api* web/demo/public dist/*.d.ts
    step page web/demo/dist/index.html build_page "$(node --version) ${GPT_LAYERS_SITE:-}" \
        package-lock.json web/demo web/notebook tests/golden/notebooks.json dist/* build/api build/wasm/page.wasm
}

# prepare 'REQUIRED...' 'OPTIONAL...': builds, with these tools at hand too.
prepare() {
    need "node make emcc ${1:-}" "relaxed ${2:-}"
    build
}

# ---- Tests and measurements

# npm_beside FOLDER: installs the packages of tests/FOLDER.
npm_beside() { step "$1" "tests/$1/node_modules" install_beside '' "tests/$1/package-lock.json"; }
install_beside() { npm ci --prefix "tests/$1" --no-audit --no-fund --loglevel=error >&2; }

# A Node that has relaxed SIMD.
newer_node() {
    local old='process.platform + process.arch + (parseInt(process.versions.node) < 22)'
    if [[ $(node -p "$old") == linuxx64true ]]; then npm_beside nodes || say 'npm cannot install Node'; fi
}

run_tests() {
    local again=
    if [[ ${1:-} == --again ]]; then again=$1 && shift; fi
    if [[ ${1:-} == tests/c && ${2:-/} != */* ]]; then test_kernels "${@:2}"; fi
    if [[ ${1:-} == all ]]; then optional_in_tests+=' browser firefox webkit'; fi
    prepare compiler "$optional_in_tests"
    if [[ ${1:-} == all ]]; then newer_node && npm_beside types || say 'npm cannot install TypeScript 5'; fi
    export_tools
    local status=0
    if [[ $* == all ]]; then npm run lint >&2 || status=1; fi
    node tests/run.js $again "$@" || status=1
    exit "$status"
}

# test_kernels NAME...: natively, the tests whose name contains a NAME.
test_kernels() {
    local code status=0
    need 'make compiler simde'
    make -f c/Makefile build/c/native-{simd,relaxed}/test
    for code in simd relaxed; do
        echo "natively, with the code of the $code build:"
        "build/c/native-$code/test" "$@" || status=$?
        [[ $status != 2 ]] || break # no test has this name
    done
    exit "$status"
}

# run_beside FOLDER SCRIPT OPTION...: what needs packages of its own.
run_beside() {
    npm_beside "$1"
    export_tools
    exec node "tests/$1/$2" "${@:3}"
}

record() {
    export_tools
    GPT_LAYERS_RECORD=1 exec node --test --test-name-pattern='was recorded' \
        tests/demo/{looks,behaves,still}.test.js tests/notebook/page.test.js
}

# flags BUILD: prints the flags, or the reason why there is no such build here.
flags() {
    local -A needed=([simd]=emcc [relaxed]=relaxed [native]=simde)
    needed+=([fuzz]='simde fuzzer' [coverage]='simde coverage')
    find_missing ${needed[${1:-simd}]:-} || exec c/flags.sh "$@"
    say "this system lacks ${titles[$missing]} (Debian: ${packages[$missing]})"
    exit 1
}

mkdir -p build
if ! has emcc && [[ -n ${EMSDK:-} ]]; then PATH="$EMSDK/upstream/emscripten:$EMSDK:$PATH"; fi

command=${1:-build}
[[ $# == 0 ]] || shift
case $command in
build) prepare ;;
demo) prepare; exec node web/demo/serve.js "$@" ;;
test) run_tests "$@" ;;
fuzz) prepare '' 'compiler simde fuzzer'; export_tools; exec node tests/fuzz/fuzz.js "$@" ;;
coverage) prepare 'simde coverage'; export_tools; exec tests/coverage.sh ;;
bench) prepare; newer_node; run_beside bench bench.js "$@" ;;
compare) prepare; newer_node; exec node tests/bench/compare.js "$@" ;;
consumers) prepare 'chromium firefox webkit'; run_beside consumers consumers.js "$@" ;;
record) prepare '' chromium; record ;;
golden) need torch; exec /usr/bin/python3 tests/golden/golden.py ;;
flags) flags "$@" ;;
-h | --help | help) usage ;;
*) usage >&2; exit 2 ;;
esac
