// Reading files that Python writes, writing files that Python reads, and refusing all others.

/** @import { ErrorCode, Tensor } from 'gpt-layers' */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { runInNewContext } from 'node:vm'
import {
  assertClose,
  assertRefuses,
  assertSame,
  biasOf,
  golden,
  loadForTest,
  nextAddress,
  unpack,
  untyped,
} from './support.js'

const { state, mixed, norms, ...unreadable } = golden('safetensors')
const bytesOf = (/** @type {string} */ base64) => Uint8Array.from(Buffer.from(base64, 'base64'))

const gpt = await loadForTest()
const SMALL = { vocabSize: 3, contextLength: 2, embDim: 2, nHeads: 1, nLayers: 1 }

/**
 * @param {object | string} header
 * @param {number} [dataBytes]
 * @returns {Uint8Array} a file with this header and so many zero bytes of data
 */
function fileOf(header, dataBytes = 0) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const file = new Uint8Array(8 + text.length + dataBytes)
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true)
  file.set(text, 8)
  return file
}
/** @param {string} text */
const utf8 = (text) => new Uint8Array(Buffer.from(text))

/** @param {number} begin @param {number} end @param {object} [more] a tensor's entry in the header */
const entry = (begin, end, more = {}) => ({
  dtype: 'F32',
  shape: [(end - begin) / 4],
  data_offsets: [begin, end],
  ...more,
})

test('a layer’s file is the one that Python’s safetensors writes of PyTorch’s layer, byte for byte', () => {
  gpt.manualSeed(123)
  const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU(), new gpt.Linear(6, 3))
  const file = gpt.saveSafetensors(layer, { names: 'ours' })
  assert.ok(file instanceof Uint8Array)
  assert.deepEqual(Buffer.from(file).toString('base64'), state.file)
  assert.deepEqual(gpt.saveSafetensors(layer.stateDict()), file)
})

test('a layer reads Python’s file', () => {
  for (const bytes of [bytesOf(state.file), bytesOf(state.file).buffer, Buffer.from(state.file, 'base64')]) {
    const layer = new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU(), new gpt.Linear(6, 3))
    layer.loadStateDict(gpt.loadSafetensors(bytes))
    const own = layer.stateDict()
    for (const [name, packed] of Object.entries(state.tensors)) assertSame(own[name], packed)
  }
})

test('PyTorch’s LayerNorm and BatchNorm load from weight and bias, and compute the same', () => {
  const layer = new gpt.Sequential(
    new gpt.LayerNorm(5),
    new gpt.BatchNorm(5),
    new gpt.Linear(5, 2, { bias: false }),
  )
  layer.loadStateDict(gpt.loadSafetensors(bytesOf(norms.file)))
  assertClose(layer.eval().forward(gpt.tensor(unpack(norms.x), norms.x.shape)), norms.out, 1e-6)
  const rms = new gpt.RMSNorm(2)
  rms.loadStateDict({ weight: gpt.tensor([3, 4]) })
  assert.deepEqual(rms.scale.toArray(), [3, 4])
})

test('floats of 16 to 64 bits, and integers that float32 holds exactly, read as PyTorch’s float()', () => {
  const tensors = gpt.loadSafetensors(bytesOf(mixed.file))
  assert.deepEqual(Object.keys(tensors).sort(), Object.keys(mixed.tensors).sort())
  for (const [name, packed] of Object.entries(mixed.tensors)) assertSame(tensors[name], packed)
})

test('a file is read at any offset of its buffer, and a layer reads other dtypes', () => {
  const shifted = new Uint8Array(bytesOf(mixed.file).length + 3)
  shifted.set(bytesOf(mixed.file), 3)
  const { f64, i64 } = gpt.loadSafetensors(shifted.subarray(3))
  assertSame(f64, mixed.tensors.f64)
  assertSame(i64, mixed.tensors.i64)
  // A header whose length is no multiple of 4, in a Buffer, whose `slice` does not copy.
  const odd = Buffer.from(fileOf({ ab: entry(0, 4), __metadata__: { a: 'bb' } }, 4))
  assert.notEqual((odd.byteOffset + odd.length) % 4, 0)
  assert.deepEqual(gpt.loadSafetensors(odd).ab.toArray(), [0])
  const layer = new gpt.Linear(3, 1)
  const header = {
    weight: entry(0, 6, { dtype: 'F16', shape: [1, 3] }),
    bias: entry(6, 14, { dtype: 'I64', shape: [1] }),
  }
  const file = fileOf(header, 14)
  file.set([0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xfb, 255, 255, 255, 255, 255, 255, 255], file.length - 14)
  layer.loadStateDict(gpt.loadSafetensors(file))
  assert.deepEqual([...layer.weight.data, ...biasOf(layer).data], [1, -2, 2 ** -24, -5])
})

test('a saved file reads back the same: NaN’s bits, empty files and unusual names too', () => {
  const x = gpt.tensor([0.1, -0, NaN, Infinity])
  new Uint32Array(gpt.exports.memory.buffer, x.byteOffset + 8, 1)[0] = 0x7fc5a5a5
  const again = gpt.loadSafetensors(gpt.saveSafetensors({ x, '"\\': gpt.ones([]), ü: gpt.zeros([0, 2]) }))
  const words = (/** @type {Tensor} */ tensor) => [
    ...new Uint32Array(gpt.exports.memory.buffer, tensor.byteOffset, tensor.size),
  ]
  assert.deepEqual(words(again.x), words(x))
  assert.equal(again['"\\'].item(), 1)
  assert.deepEqual(again.ü.shape, [0, 2])
  assert.deepEqual(gpt.loadSafetensors(gpt.saveSafetensors({})), {})
  // "__proto__" is an ordinary name here.
  const odd = gpt.loadSafetensors(fileOf('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', 4))
  assert.deepEqual(Object.keys(odd), ['__proto__'])
})

test('a tensor with two names is written once, under the first', () => {
  const [first, second] = [new gpt.Linear(2, 2), new gpt.Linear(2, 2)]
  second.weight = first.weight
  const layer = new gpt.Sequential(first, second)
  assert.deepEqual(Object.keys(gpt.loadSafetensors(gpt.saveSafetensors(layer, { names: 'ours' }))).sort(), [
    '0.bias',
    '0.weight',
    '1.bias',
  ])
})

test('a file is read from bytes of any realm, such as those of Node’s Buffer under jsdom', () => {
  const file = gpt.saveSafetensors({ x: gpt.tensor([1, 2]) })
  const { typed, buffer } = runInNewContext(
    'const typed = Uint8Array.from(values); ({ typed, buffer: typed.slice().buffer })',
    { values: [...file] },
  )
  assert.ok(!(typed instanceof Uint8Array) && !(buffer instanceof ArrayBuffer))
  for (const bytes of [typed, buffer, Buffer.from(file), file]) {
    assert.deepEqual(gpt.loadSafetensors(bytes).x.toArray(), [1, 2])
  }
})

/** @type {Record<string, [unknown, ErrorCode, RegExp]>} */
const refused = {
  'a Proxy of bytes': [new Proxy(new Uint8Array(16), {}), 'TYPE', /got a Uint8Array$/],
  'an array of numbers': [[1, 2], 'TYPE', /bytes should be a Uint8Array or an ArrayBuffer, got \[1, 2\]$/],
  'a Float32Array': [new Float32Array(8), 'TYPE', /got a Float32Array$/],
  'an empty file': [new Uint8Array(0), 'VALUE', /should be a safetensors file, got 0 bytes$/],
  'a file of 7 bytes': [new Uint8Array(7), 'VALUE', /got 7 bytes$/],
  'a header longer than the file': [
    Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0x7b),
    'VALUE',
    /got 9 bytes, with a header that ends at 10$/,
  ],
  'a header of 2^64 - 1 bytes': [
    new Uint8Array(16).fill(255),
    'VALUE',
    /a header of 18446744073709551615 bytes, more than 1/,
  ],
  'a header that is not JSON': [fileOf('{"a":'), 'VALUE', /a header that is not JSON in UTF-8$/],
  'a string that is not UTF-8': [fileOf('{"a":"xy"}').fill(0xff, 14, 15), 'VALUE', /not JSON in UTF-8$/],
  'a header that is not UTF-8': [fileOf('{}').fill(0xff, 9), 'VALUE', /a header that is not JSON in UTF-8$/],
  'a page of HTML': [
    utf8('<!doctype html><title>Not found</title>'),
    'VALUE',
    /got one that starts with "<!doctype html><title>No"$/,
  ],
  'a file that gzip has compressed': [
    new Uint8Array(gzipSync(fileOf('{}'))),
    'VALUE',
    /bytes should be a safetensors file, got one that gzip has compressed$/,
  ],
  'a ZIP archive': [
    Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 8, 8, 0, 0),
    'VALUE',
    /got a ZIP archive, as torch\.save writes it: loadTorch reads it$/,
  ],
  'a pickle of PyTorch before 1.6': [
    Uint8Array.of(0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e),
    'VALUE',
    /got a pickle, as torch\.save wrote it before PyTorch 1\.6: load it there, and save it again$/,
  ],
  'a GGUF file': [utf8(`GGUF\x03\0\0\0${'\0'.repeat(24)}`), 'VALUE', /got a GGUF file$/],
  'an HDF5 file': [Buffer.from('\x89HDF\r\n\x1a\n\0\0\0\0\0', 'latin1'), 'VALUE', /got an HDF5 file$/],
  'a .npy file': [Buffer.from("\x93NUMPY\x01\0v\0{'descr'", 'latin1'), 'VALUE', /got a \.npy file of NumPy$/],
  'an ONNX model': [utf8('\x08\x07\x12\x07pytorch\x1a\x061.13.0'), 'VALUE', /got an ONNX model$/],
  'an answer in JSON': [
    utf8('{"error": "not found"}\n'),
    'VALUE',
    /starts with "{\\"error\\": \\"not found\\"}"$/,
  ],
  'nested objects': [
    fileOf(`${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`),
    'VALUE',
    /"a" with dtype undefined$|not JSON/,
  ],
  'nested lists': [
    fileOf(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`),
    'VALUE',
    /"a" with dtype undefined$|not JSON/,
  ],
  'nested lists without an end': [fileOf(`{"a":${'['.repeat(1e6)}`), 'VALUE', /a header that is not JSON/],
  'a list in a list': [
    fileOf('{"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}}', 4),
    'VALUE',
    /"a" of shape an array of 1$/,
  ],
  'a shape of a million axes': [
    fileOf(`{"a":{"dtype":"F32","shape":[${'1,'.repeat(1e6)}1],"data_offsets":[0,4]}}`, 4),
    'VALUE',
    /"a" of shape an array of 1000001$/,
  ],
  'a size of -0': [
    fileOf('{"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}}'),
    'VALUE',
    /of shape \[0\]$/,
  ],
  'a size of 1e308': [
    fileOf('{"a":{"dtype":"F32","shape":[1e308,0],"data_offsets":[0,0]}}'),
    'VALUE',
    /of shape \[1e\+308, 0\]$/,
  ],
  'a size of a million digits': [
    fileOf(`{"a":{"dtype":"F32","shape":[${'1'.repeat(1e6)}],"data_offsets":[0,0]}}`),
    'VALUE',
    /"a" of shape \[Infinity\]$/,
  ],
  'a header padded with NUL': [
    fileOf('{}\0\0\0\0\0\0'),
    'VALUE',
    /got a header that is padded with NUL instead of spaces$/,
  ],
  'a boolean of 2': [
    fileOf({ a: entry(0, 1, { dtype: 'BOOL', shape: [1] }) }, 1).fill(2, -1),
    'VALUE',
    /"a" should hold booleans, which are 0 or 1, got 2$/,
  ],
  'a string without an end': [fileOf('{"a\\"'), 'VALUE', /a header that is not JSON/],
  'text after the header': [fileOf('{}x'), 'VALUE', /a header that is not JSON/],
  'a comma at the end': [fileOf('{"__metadata__":{},}'), 'VALUE', /a header that is not JSON/],
  'more than 100,000 tensors, which take no data': [
    fileOf(Object.fromEntries(Array.from({ length: 100_001 }, (_, i) => [`t${i}`, entry(0, 0)]))),
    'VALUE',
    /a header with 100001 names, more than 100000$/,
  ],
  'a header that is a list': [fileOf('[]'), 'VALUE', /a header that does not begin with \{$/],
  'a header of 640 bytes that begins with a space': [
    fileOf(` {}${' '.repeat(637)}`),
    'VALUE',
    /a header that does not begin with \{$/,
  ],
  'a header that begins with a space': [fileOf(' {}'), 'VALUE', /a header that does not begin with \{$/],
  'a byte order mark': [fileOf('\ufeff{}'), 'VALUE', /a header that does not begin with \{$/],
  'null as a tensor': [fileOf({ a: null }), 'VALUE', /got "a" with dtype undefined$/],
  'two tensors of one name': [
    fileOf(
      '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
      8,
    ),
    'VALUE',
    /"a" at byte 4 of the data instead of 0$/,
  ],
  'metadata that is a number': [
    fileOf({ __metadata__: { epoch: 3 } }),
    'VALUE',
    /__metadata__ that is not an object of strings$/,
  ],
  'metadata that is text': [
    fileOf({ __metadata__: 'pt' }),
    'VALUE',
    /__metadata__ that is not an object of strings$/,
  ],
  'a dtype that is a number': [
    fileOf({ a: entry(0, 4, { dtype: 32 }) }, 4),
    'VALUE',
    /got "a" with dtype 32$/,
  ],
  'a dtype of 8 bits': [
    fileOf({ a: entry(0, 4, { dtype: 'F8_E4M3' }) }, 4),
    'UNSUPPORTED',
    /"a" should have a dtype among F64, .* got "F8_E4M3"$/,
  ],
  'a dtype that is a property of every object': [
    fileOf({ a: entry(0, 4, { dtype: 'toString' }) }, 4),
    'UNSUPPORTED',
    /got "toString"$/,
  ],
  'a tensor without a shape': [
    fileOf({ a: entry(0, 4, { shape: undefined }) }, 4),
    'VALUE',
    /"a" of shape undefined$/,
  ],
  'a negative size': [
    fileOf({ a: entry(0, 4, { shape: [-1, -1] }) }, 4),
    'VALUE',
    /"a" of shape \[-1, -1\]$/,
  ],
  'a fractional size': [
    fileOf({ a: entry(0, 4, { shape: [0.5, 2] }) }, 4),
    'VALUE',
    /"a" of shape \[0.5, 2\]$/,
  ],
  'a shape of text': [
    fileOf({ a: entry(0, 4, { shape: ['1'] }) }, 4),
    'VALUE',
    /"a" of shape an array of 1$/,
  ],
  'a huge shape': [
    fileOf({ a: entry(0, 4, { shape: [2 ** 52, 2 ** 52] }) }, 4),
    'VALUE',
    /in 4 bytes instead of 8\.1.*e\+31$/,
  ],
  'a shape that does not fit the offsets': [
    fileOf({ a: entry(0, 8, { shape: [3] }) }, 8),
    'VALUE',
    /got "a", F32 of shape \[3\], in 8 bytes instead of 12$/,
  ],
  'one offset instead of two': [
    fileOf({ a: entry(0, 4, { data_offsets: [0] }) }, 4),
    'VALUE',
    /"a" at offsets \[0\]$/,
  ],
  'negative offsets': [
    fileOf({ a: entry(0, 4, { data_offsets: [-4, 0] }) }, 4),
    'VALUE',
    /"a" at offsets \[-4, 0\]$/,
  ],
  'offsets with fractions': [
    fileOf({ a: entry(0, 4, { data_offsets: [0.5, 4.5] }) }, 4),
    'VALUE',
    /offsets \[0.5, 4.5\]$/,
  ],
  'offsets past 2^53': [
    fileOf({ a: entry(0, 4, { data_offsets: [2 ** 60, 2 ** 60] }) }, 4),
    'VALUE',
    /"a" at offsets/,
  ],
  'offsets in reverse order': [
    fileOf({ a: entry(0, 4, { data_offsets: [4, 0] }) }, 4),
    'VALUE',
    /in -4 bytes instead of 4$/,
  ],
  'missing data': [fileOf({ a: entry(0, 8) }, 4), 'VALUE', /\d+ bytes instead of \d+$/],
  'data that no tensor uses': [fileOf({ a: entry(0, 4) }, 8), 'VALUE', /\d+ bytes instead of \d+$/],
  'overlapping tensors': [
    fileOf({ a: entry(0, 8), b: entry(4, 12) }, 12),
    'VALUE',
    /"b" at byte 4 of the data instead of 8$/,
  ],
  'the same bytes twice': [
    fileOf({ a: entry(0, 4), b: entry(0, 4) }, 4),
    'VALUE',
    /"b" at byte 0 .* instead of 4$/,
  ],
  'a gap between tensors': [
    fileOf({ a: entry(0, 4), b: entry(8, 12) }, 12),
    'VALUE',
    /"b" at byte 8 of the data instead of 4$/,
  ],
  'a gap before the first tensor': [
    fileOf({ a: entry(4, 8) }, 8),
    'VALUE',
    /"a" at byte 4 of the data instead of 0$/,
  ],
  'an integer that is no float32': [
    bytesOf(unreadable['no float32']),
    'VALUE',
    /"i32" should hold integers with an exact float32, got 16777217$/,
  ],
  'a long integer that is no float32': [
    bytesOf(unreadable['no float32 of 64 bits']),
    'VALUE',
    /"i64" should hold integers with an exact float32, got 9007199254740993n$/,
  ],
}

for (const [name, [file, code, message]] of Object.entries(refused)) {
  test(`refuses ${name}, and neither changes nor leaks anything`, () => {
    const layer = new gpt.Linear(1, 1)
    const values = [...layer.weight.data, ...biasOf(layer).data]
    const before = nextAddress(gpt)
    assertRefuses(() => gpt.loadSafetensors(untyped(file)), code, message)
    assert.equal(nextAddress(gpt), before)
    // For a file of integers the layer reports first that the names are not its own.
    if (!/no float32/.test(name))
      assertRefuses(() => layer.loadStateDict(gpt.loadSafetensors(untyped(file))), code, message)
    assert.deepEqual([...layer.weight.data, ...biasOf(layer).data], values)
  })
}

test('a header may have a string of 10 MB', () => {
  const long = JSON.stringify({ __metadata__: { note: 'ä"\\'.repeat(2_500_000) } })
  assert.deepEqual(gpt.loadSafetensors(fileOf(long)), {})
})

test('a header may have escapes, white space and fields of other programs', () => {
  const odd = fileOf(
    '{ "\\u0061\\\\" :\t{"note": [1, true, [null], {}], "a\\"}": "", "x": -1.5e3, "dtype":"F32","shape":[ ] ,"data_offsets":[0,4]}\n}  ',
    4,
  )
  assert.deepEqual(Object.keys(gpt.loadSafetensors(odd)), ['a\\'])
})

test('metadata may be null, as for Python’s safetensors', () => {
  const tensors = gpt.loadSafetensors(fileOf({ __metadata__: null, a: entry(0, 4) }, 4))
  assert.deepEqual(Object.keys(tensors), ['a'])
})

test('a header may name the tensors in any order, those without elements too', () => {
  const header = {
    last: entry(8, 16, { shape: [2, 1] }),
    first: entry(0, 8),
    noneAtBegin: entry(0, 0),
    noneAtEnd: entry(16, 16),
  }
  const file = fileOf(header, 16)
  file.set(new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer), file.length - 16)
  const tensors = gpt.loadSafetensors(file)
  const values = Object.entries(tensors).map(([name, tensor]) => [name, tensor.toArray()])
  assert.deepEqual(Object.fromEntries(values), {
    first: [1, 2],
    last: [[3], [4]],
    noneAtBegin: [],
    noneAtEnd: [],
  })
})

test('an error about a header has the error of the JSON parser as its cause', () => {
  assert.throws(
    () => gpt.loadSafetensors(fileOf('{"a":nul}')),
    ({ code, cause }) => code === 'VALUE' && cause instanceof SyntaxError,
  )
})

test('every float16 is read as its value', () => {
  const file = fileOf({ a: entry(0, 2 ** 17, { dtype: 'F16', shape: [2 ** 16] }) }, 2 ** 17)
  const start = file.length - 2 ** 17
  for (let bits = 0; bits < 2 ** 16; bits++) file.set([bits & 255, bits >> 8], start + 2 * bits)
  const { data } = gpt.loadSafetensors(file).a
  for (let bits = 0; bits < 2 ** 16; bits++) {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023]
    const ordinary = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
    const special = fraction === 0 ? sign * Infinity : NaN
    const expected = exponent === 31 ? special : exponent === 0 ? sign * fraction * 2 ** -24 : ordinary
    assert.ok(Object.is(data[bits], expected), `${bits}: ${data[bits]}`)
  }
})

test('a file that is cut at any byte is refused', () => {
  const file = bytesOf(state.file)
  for (let length = 0; length < file.length; length++) {
    assertRefuses(
      () => gpt.loadSafetensors(file.subarray(0, length)),
      'VALUE',
      /should be a safetensors file/,
    )
  }
})

test('a tensor that is there under two names is refused, and so are its scales', () => {
  const norm = new gpt.LayerNorm(2)
  const twice = { ...norm.stateDict(), weight: gpt.zeros([2]) }
  assertRefuses(
    () => norm.loadStateDict(twice),
    'VALUE',
    /: dict should have scale once, got scale and weight$/,
  )
  assert.deepEqual(norm.scale?.toArray(), [1, 1])
  const model = new gpt.GPTModel({
    vocabSize: 5,
    contextLength: 4,
    embDim: 8,
    nHeads: 2,
    nLayers: 1,
  }).quantize()
  const entries = gpt.loadSafetensors(gpt.saveSafetensors(model, { names: 'ours' }))
  const names = ['trf_blocks.0.attn.c_attn.weight_scale', 'h.0.attn.c_attn.weight_scale']
  const scales = { ...entries, [names[1]]: entries[names[0]] }
  const load = () => model.loadStateDict(gpt.loadSafetensors(gpt.saveSafetensors(scales)))
  assertRefuses(load, 'VALUE', /have trf_blocks\.0\.attn\.c_attn\.weight_scale once, got h\.0.* and trf_/)
})

test('tied weights that differ in a state dict are refused, and nothing is changed', () => {
  const sizes = { vocabSize: 5, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 1, tieWeights: true }
  const model = new gpt.GPTModel(sizes)
  const before = model.tokEmb.weight.data.slice()
  const same = gpt.randn([5, 8])
  const other = same.clone()
  other.data[39] += 1
  const state = { ...model.stateDict(), 'tok_emb.weight': same, 'out_head.weight': other }
  assertRefuses(
    () => model.loadStateDict(state),
    'VALUE',
    /_.*\.weight, with which it is tied, got other values$/,
  )
  assert.deepEqual(model.tokEmb.weight.data, before)
  model.loadStateDict({ ...state, 'out_head.weight': same })
  assert.deepEqual(model.outHead.weight.data, same.data)
})

test('a file of another layer, or with a bad last tensor, changes nothing', () => {
  const layer = new gpt.Linear(2, 1)
  const values = [...layer.weight.data, ...biasOf(layer).data]
  const file = (/** @type {Record<string, Tensor>} */ tensors) => gpt.saveSafetensors(tensors)
  const weight = gpt.ones([1, 2])
  const load = (/** @type {Uint8Array} */ bytes) => () => layer.loadStateDict(gpt.loadSafetensors(bytes))
  assertRefuses(load(file({ weight })), 'VALUE', /^Linear.loadStateDict: dict should have bias, got weight$/)
  assertRefuses(
    load(file({ weight, bias: weight, gain: weight })),
    'VALUE',
    /should have no other tensors, or come with strict: false, got gain$/,
  )
  // What stands before the dot is a tensor, not a layer.
  assertRefuses(
    load(file({ weight, bias: weight, 'weight.x': weight })),
    'VALUE',
    /strict: false, got weight.x$/,
  )
  assertRefuses(load(file({ weight, bias: weight })), 'SHAPE', /bias should have shape \[1\], got \[1, 2\]$/)
  const integer = fileOf({ weight: entry(0, 8, { shape: [1, 2] }), bias: entry(8, 12, { dtype: 'I32' }) }, 12)
  integer.fill(255, integer.length - 3)
  integer[integer.length - 4] = 1
  layer.loadStateDict(gpt.loadSafetensors(integer))
  assert.equal(biasOf(layer).item(), -255)
  layer.weight.data.set(values.slice(0, 2))
  biasOf(layer).data.set(values.slice(2))
  integer.fill(1, integer.length - 4)
  assertRefuses(load(integer), 'VALUE', /"bias" should hold integers with an exact float32, got 16843009$/)
  assert.deepEqual([...layer.weight.data, ...biasOf(layer).data], values)
})

test('names that would hide each other in a file are refused, with both properties', () => {
  class Heads extends gpt.Module {
    headA = new gpt.Linear(1, 1)
    head_a = new gpt.Linear(1, 1)
  }
  class Tensors extends gpt.Module {
    runningMean = gpt.ones([1])
    running_mean = gpt.zeros([1])
  }
  const cases = /** @type {const} */ ([
    [
      new Heads(),
      /: head_a.weight should have a name of its own .*, got head_a.weight, which headA.weight has$/,
    ],
    [new gpt.Sequential(new Tensors()), /: 0.running_mean should .*, which 0.runningMean has$/],
  ])
  for (const [layer, message] of cases) {
    assertRefuses(() => layer.stateDict(), 'VALUE', message)
    assertRefuses(() => gpt.saveSafetensors(layer, { names: 'ours' }), 'VALUE', message)
    assertRefuses(() => layer.loadStateDict({}), 'VALUE', message)
    layer.dispose()
  }
  class Reserved extends gpt.Module {
    __metadata__ = gpt.ones([1])
  }
  const message = /^saveSafetensors: names should not be reserved by the format, got "__metadata__"$/
  assertRefuses(() => gpt.saveSafetensors(new Reserved()), 'VALUE', message)
  class Shared extends gpt.Module {
    headA = gpt.ones([1])
    head_a = this.headA
  }
  assert.deepEqual(Object.keys(new Shared().stateDict()), ['head_a'])
})

test('long names are cut in messages', () => {
  const layer = new gpt.LayerNorm(1)
  const long = 'x'.repeat(1e6)
  const x = gpt.ones([1])
  const gone = gpt.ones([1])
  gone.dispose()
  for (const call of [
    () => layer.loadStateDict({ [long]: x }),
    () => layer.loadStateDict({ weight: x, [`${long}1`]: x, [`${long}2`]: x }),
    () => gpt.saveSafetensors({ [long]: gone }),
    () => gpt.loadSafetensors(fileOf({ [long]: entry(0, 4, { dtype: long }) }, 4)),
    () => layer.loadStateDict(gpt.loadSafetensors(fileOf({ [long]: entry(0, 4) }, 4))),
    () =>
      new gpt.GPTModel(SMALL).loadStateDict(gpt.loadSafetensors(fileOf({ [`h.0.${long}`]: entry(0, 4) }, 4))),
  ]) {
    assert.throws(call, (error) => {
      assert.ok(error instanceof Error && error.message.length < 1500, String(error).slice(0, 1500))
      return true
    })
  }
})

test('saveSafetensors requires live tensors, and refuses the name __metadata__', () => {
  const gone = gpt.ones([1])
  gone.dispose()
  assertRefuses(
    () => gpt.saveSafetensors(untyped([gone])),
    'TYPE',
    /^saveSafetensors: dictOrModule should be a plain object, got an array of 1$/,
  )
  assertRefuses(() => gpt.saveSafetensors({ gone }), 'DISPOSED', /gone should be a live Tensor/)
  assertRefuses(
    () => gpt.saveSafetensors({ a: untyped([1]) }),
    'TYPE',
    /^saveSafetensors: a should be a Tensor, got \[1\]$/,
  )
  assertRefuses(() => gpt.saveSafetensors({ __metadata__: gpt.ones([1]) }), 'VALUE', /got "__metadata__"$/)
  const layer = new gpt.Linear(1, 1)
  biasOf(layer).dispose()
  assertRefuses(
    () => gpt.saveSafetensors(layer, { names: 'ours' }),
    'DISPOSED',
    /bias should be a live Tensor/,
  )
})

test('a property that is not camelCase keeps its name in files, and a layer’s own names come first', () => {
  class Book extends gpt.Module {
    W_query = new gpt.Linear(2, 2)
    KVCache = gpt.zeros([1])
    headA = new gpt.Linear(2, 1)
  }
  assert.deepEqual(Object.keys(new Book().stateDict()), [
    'KVCache',
    'W_query.weight',
    'W_query.bias',
    'head_a.weight',
    'head_a.bias',
  ])
  const config = { vocabSize: 3, contextLength: 2, embDim: 4, nHeads: 1, nLayers: 1 }
  const added = (/** @type {any} */ layer, /** @type {string} */ name) =>
    Object.assign(layer, { [name]: gpt.parameter(gpt.randn([4])) })
  // Each name is one that others use for something else.
  const layers = [
    added(new gpt.TransformerBlock(config), 'mlp'),
    added(new gpt.LayerNorm(4), 'bias'),
    added(new gpt.BatchNorm(4), 'weight'),
    added(new gpt.Attention(config), 'bias'),
    added(new gpt.FeedForward(config), 'c_fc'),
    Object.assign(new gpt.GPTModel(config), {
      lmHead: new gpt.Linear(4, 3),
      transformer: new gpt.Linear(2, 2),
    }),
  ]
  for (const layer of [new Book(), ...layers]) {
    const file = gpt.saveSafetensors(layer, { names: 'ours' })
    const before = Object.values(layer.stateDict()).map(({ data }) => [...data])
    for (const { data } of Object.values(layer.stateDict())) data.fill(0)
    layer.loadStateDict(gpt.loadSafetensors(file))
    assert.deepEqual(
      Object.values(layer.stateDict()).map(({ data }) => [...data]),
      before,
    )
  }
})

test('with strict: false missing and unknown names are left out, and named', () => {
  const layer = new gpt.Linear(2, 1)
  const bias = biasOf(layer).item()
  const dict = { weight: gpt.ones([1, 2]), gain: gpt.ones([1]) }
  assertRefuses(() => layer.loadStateDict(dict), 'VALUE', /should have bias, got gain$/)
  const keys = layer.loadStateDict(dict, { strict: false })
  assert.deepEqual(keys, { missingKeys: ['bias'], unexpectedKeys: ['gain'] })
  assert.deepEqual([...layer.weight.data, biasOf(layer).item()], [1, 1, bias])
  const all = layer.loadStateDict(layer.stateDict())
  assert.deepEqual(all, { missingKeys: [], unexpectedKeys: [] })
})

test('float16 files have the nearest values, read back the same, and refuse what is too large', () => {
  const values = [
    0,
    -0,
    1,
    1 / 3,
    65504,
    65519,
    2 ** -14,
    2 ** -24,
    2 ** -25,
    3 * 2 ** -26,
    2049,
    2051,
    1e-30,
  ]
  const nearest = [0, -0, 1, 0.333251953125, 65504, 65504, 2 ** -14, 2 ** -24, 0, 2 ** -24, 2048, 2052, 0]
  const x = gpt.tensor([...values, NaN, Infinity, -Infinity])
  const bytes = gpt.saveSafetensors({ x }, { dtype: 'float16' })
  assert.equal(bytes.length, gpt.saveSafetensors({ x }).length - 2 * x.size)
  assert.deepEqual([...gpt.loadSafetensors(bytes).x.data], [...nearest, NaN, Infinity, -Infinity])
  const large = { x: gpt.tensor([1, -65520]) }
  const message = /"x" should hold numbers up to 65504 to become float16, got -65520$/
  assertRefuses(() => gpt.saveSafetensors(large, { dtype: 'float16' }), 'VALUE', message)
})

test('a GPT is written under others’ names only where they compute the same', async () => {
  const config = { vocabSize: 9, contextLength: 4, embDim: 8, nHeads: 2, nLayers: 2 }
  const ids = [1, 2, 3]
  for (const more of [
    { tieWeights: true },
    { qkvBias: false },
    { bias: false, hiddenDim: 12 },
    { hiddenDim: 1 },
  ]) {
    const model = new gpt.GPTModel({ ...config, ...more }).eval()
    for (const names of /** @type {const} */ (['gpt2', 'book', 'ours', undefined])) {
      const file = gpt.saveSafetensors(model, names && { names })
      const loaded = await gpt.GPTModel.fromPretrained(file)
      assert.equal(String(loaded.forward(ids)), String(model.forward(ids)), `${names}`)
      assert.equal('transformer.wte.weight' in gpt.loadSafetensors(file), names === 'gpt2' || !names)
    }
  }
  const exact = new gpt.GPTModel({ ...config, approximate: 'none', layerNormEpsilon: 1e-3 }).eval()
  const loaded = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(exact))
  assert.equal(String(loaded.forward(ids)), String(exact.forward(ids)))

  const bare = new gpt.GPTModel(config).eval()
  bare.trfBlocks[1].norm2 = new gpt.LayerNorm(8, { elementwiseAffine: false })
  for (const names of /** @type {const} */ (['gpt2', 'book'])) {
    const loaded = await gpt.GPTModel.fromPretrained(gpt.saveSafetensors(bare, { names }))
    assert.equal(String(loaded.forward(ids)), String(bare.forward(ids)), names)
  }

  const replaced = new gpt.GPTModel(config)
  replaced.trfBlocks[1].norm2 = new gpt.RMSNorm(8)
  const refused = /** @type {const} */ ([
    [exact, { names: 'book' }, 'VALUE', /names should not be 'book' for a model with another eps than 1e-5/],
    [
      replaced,
      { names: 'gpt2' },
      'VALUE',
      /names should be 'ours' for a model with other layers than GPT-2's/,
    ],
    [new gpt.GPTModel(config).quantize(), { names: 'gpt2' }, 'UNSUPPORTED', /'ours' for int8 weights/],
    [
      new gpt.Linear(1, 1),
      { names: 'book' },
      'VALUE',
      /names should be 'ours' for a layer that is no GPTModel/,
    ],
    [{ x: gpt.ones([1]) }, { names: 'gpt2' }, 'VALUE', /names should be 'ours' for tensors by name/],
  ])
  for (const [given, options, code, message] of refused) {
    assertRefuses(() => gpt.saveSafetensors(untyped(given), options), code, message)
  }
  const int8 = gpt.saveSafetensors(new gpt.GPTModel(config).quantize()) // ours by default
  assert.ok('tok_emb.weight' in gpt.loadSafetensors(int8))
})
