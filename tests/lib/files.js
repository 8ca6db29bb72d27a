// Files and other sources that must be refused, one row each: what it is, the file as an expression, the error's
// code (VALUE where there is none) and its message. The names that an expression may have are in files.test.js.
//
// A message may end in `...`: then the error's goes on.

/**
 * Broken safetensors files and other formats. They are refused as bytes, and by GPTModel.fromPretrained as a
 * stream, too. `json(text, n)` is a file with this header and n bytes of zeros; `one(entry, n)` one whose tensor
 * "a" of n bytes has these fields in its entry, n = 4 by default.
 */
export const BROKEN = String.raw`
an empty file: bytes() // got 0 bytes
a file of 7 bytes: new Uint8Array(7) // got 7 bytes
a header longer than the file: bytes(2, 0, 0, 0, 0, 0, 0, 0, 0x7b) // got 9 bytes, with a header that ends at 10
a header of 2^64 - 1 bytes: new Uint8Array(16).fill(255) // got a header of 18446744073709551615 bytes, more than 100000000
a header that is not JSON: json('{"a":') // got a header that is not JSON in UTF-8
a header with a word that is not JSON: json('{"a":nul}') // got a header that is not JSON in UTF-8
a string without an end: json('{"a\\"') // got a header that is not JSON in UTF-8
a string that is not UTF-8: json('{"a":"xy"}').fill(0xff, 14, 15) // got a header that is not JSON in UTF-8
a header that is not UTF-8: json('{}').fill(0xff, 9) // got a header that is not JSON in UTF-8
text after the header: json('{}x') // got a header that is not JSON in UTF-8
a comma at the end: json('{"__metadata__":{},}') // got a header that is not JSON in UTF-8
nested lists without an end: json('{"a":' + '['.repeat(1e6)) // got a header that is not JSON in UTF-8
nested objects: json('{"a":'.repeat(1e5) + 1 + '}'.repeat(1e5)) // got "a" with dtype undefined
nested lists: json('{"a":' + '['.repeat(1e5) + ']'.repeat(1e5) + '}') // got "a" with dtype undefined
a header padded with NUL: json('{}\0\0\0\0\0\0') // got a header that is padded with NUL instead of spaces
a header that is a list: json('[]') // got a header that does not begin with {
a header that begins with a space: json(' {}') // got a header that does not begin with {
a header of 640 bytes that begins with a space: json(' {}' + ' '.repeat(637)) // got a header that does not begin with {
a byte order mark: json('\ufeff{}') // got a header that does not begin with {
a page of HTML: latin('<!doctype html><title>Not found</title>') // got one that starts with "<!doctype html><title>No"
an answer in JSON: latin('{"error": "not found"}\n') // got one that starts with "{\"error\": \"not found\"}"
a file that gzip has compressed: gzipSync(json('{}')) // got one that gzip has compressed
a ZIP archive: bytes(0x50, 0x4b, 3, 4, 20, 0, 8, 8, 0, 0) // got a ZIP archive, as torch.save writes it: loadTorch reads it
a pickle of PyTorch before 1.6: bytes(0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e) // got a pickle, as torch.save wrote it before PyTorch 1.6: load it there, and save it again
five bytes of another pickle: bytes(0x80, 2, 0x80, 2, 0x7d) // got 5 bytes
a GGUF file: latin('GGUF\x03\0\0\0' + '\0'.repeat(24)) // got a GGUF file
an HDF5 file: latin('\x89HDF\r\n\x1a\n\0\0\0\0\0') // got an HDF5 file
a .npy file: latin("\x93NUMPY\x01\0v\0{'descr'") // got a .npy file of NumPy
an ONNX model: latin('\x08\x07\x12\x07pytorch\x1a\x061.13.0') // got an ONNX model
metadata that is a number: json({ __metadata__: { epoch: 3 } }) // got __metadata__ that is not an object of strings
metadata that is text: json({ __metadata__: 'pt' }) // got __metadata__ that is not an object of strings
null as a tensor: json({ a: null }) // got "a" with dtype undefined
a dtype that is a number: one({ dtype: 32 }) // got "a" with dtype 32
a dtype of 8 bits: one({ dtype: 'F8_E4M3' }) // UNSUPPORTED "a" should have a dtype among F64, F32, F16, BF16, I64, U64, I32, U32, I16, U16, I8, U8, BOOL, got "F8_E4M3"
a dtype that is a property of every object: one({ dtype: 'toString' }) // UNSUPPORTED "a" should have a dtype among F64, F32, F16, BF16, I64, U64, I32, U32, I16, U16, I8, U8, BOOL, got "toString"
a tensor without a shape: one({ shape: undefined }) // got "a" of shape undefined
a negative size: one({ shape: [-1, -1] }) // got "a" of shape [-1, -1]
a fractional size: one({ shape: [0.5, 2] }) // got "a" of shape [0.5, 2]
a shape of text: one({ shape: ['1'] }) // got "a" of shape an array of 1
a list in a list: one({ shape: [[1]] }) // got "a" of shape an array of 1
a shape of a million axes: one({ shape: Array(1_000_001).fill(1) }) // got "a" of shape an array of 1000001
a size of -0: json('{"a":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}}') // got "a" of shape [0]
a size of 1e308: one({ shape: [1e308, 0] }, 0) // got "a" of shape [1e+308, 0]
a size of a million digits: json('{"a":{"dtype":"F32","shape":[' + '1'.repeat(1e6) + '],"data_offsets":[0,4]}}', 4) // got "a" of shape [Infinity]
a huge shape: one({ shape: [2 ** 52, 2 ** 52] }) // got "a", F32 of shape [4503599627370496, 4503599627370496], in 4 bytes instead of 8.112963841460668e+31
a shape that does not fit the offsets: one({ shape: [3] }, 8) // got "a", F32 of shape [3], in 8 bytes instead of 12
one offset instead of two: one({ data_offsets: [0] }) // got "a" at offsets [0]
negative offsets: one({ data_offsets: [-4, 0] }) // got "a" at offsets [-4, 0]
offsets with fractions: one({ data_offsets: [0.5, 4.5] }) // got "a" at offsets [0.5, 4.5]
offsets past 2^53: one({ data_offsets: [2 ** 60, 2 ** 60] }) // got "a" at offsets [1152921504606847000, 1152921504606847000]
offsets in reverse order: one({ data_offsets: [4, 0] }) // got "a", F32 of shape [1], in -4 bytes instead of 4
missing data: json({ a: entry(0, 8) }, 4) // got 66 bytes instead of 70
data that no tensor uses: json({ a: entry(0, 4) }, 8) // got 70 bytes instead of 66
overlapping tensors: json({ a: entry(0, 8), b: entry(4, 12) }, 12) // got "b" at byte 4 of the data instead of 8
the same bytes twice: json({ a: entry(0, 4), b: entry(0, 4) }, 4) // got "b" at byte 0 of the data instead of 4
a gap between tensors: json({ a: entry(0, 4), b: entry(8, 12) }, 12) // got "b" at byte 8 of the data instead of 4
a gap before the first tensor: json({ a: entry(4, 8) }, 8) // got "a" at byte 4 of the data instead of 0
two tensors of one name: json(JSON.stringify({ a: entry(0, 4), b: entry(4, 8) }).replace('"b"', '"\\u0061"'), 8) // got "a" at byte 4 of the data instead of 0
more than 100,000 tensors, which take no data: json(Object.fromEntries(Array.from({ length: 100_001 }, (_, i) => ['t' + i, entry(0, 0)]))) // got a header with 100001 names, more than 100000
a boolean of 2: one({ dtype: 'BOOL', shape: [1], data_offsets: [0, 1] }, 1).fill(2, -1) // "a" should hold booleans, which are 0 or 1, got 2
an integer that is no float32: last(one({ dtype: 'I32' }), 1, 0, 0, 1) // "a" should hold integers with an exact float32, got 16777217
a long integer that is no float32: last(one({ dtype: 'I64', shape: [1] }, 8), 1, 0, 0, 0, 0, 0, 0x20, 0) // "a" should hold integers with an exact float32, got 9007199254740993n
`

/**
 * What GPTModel.fromPretrained refuses: its source, and its options where there are any. Bytes are refused as a
 * stream, too. `gpt2` is a file of Hugging Face's layout; `without(name)` is it without a tensor, `changed(name,
 * entry)` with other fields of one, `and(name, shape, value)` with one more, all of whose values are the same.
 */
export const REFUSED = String.raw`
five bytes: gpt2.slice(0, 5) // source should be a safetensors file, got 5 bytes
a part of the header: gpt2.slice(0, 100) // source should be a safetensors file, got 100 bytes, with a header that ends at 2301
all but the last byte: gpt2.slice(0, -1) // source should be a safetensors file, got 409340 bytes instead of 409341
one byte more: concat(gpt2, bytes(0)) // source should be a safetensors file, got more than 409341 bytes
another layer: saveSafetensors(new Linear(2, 3), { names: 'ours' }) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got bias, weight
no positions: without('wpe.weight') // source should have wpe.weight or pos_emb.weight [contextLength, embDim], got ...
no last shift: without('ln_f.bias') // source should have final_norm.shift, got ...
no shift in a block: without('h.1.ln_2.bias') // source should have trf_blocks.1.norm2.shift, got ...
no bias in a feed-forward layer: without('h.0.mlp.c_fc.bias') // source should have trf_blocks.0.ff.layers.0.bias, got ...
no bias in attention: without('h.0.attn.c_proj.bias') // source should have trf_blocks.0.attn.c_proj.bias, got ...
no biases but those of norms: without(/(attn|mlp)\..*bias$/) // source should have trf_blocks.0.attn.c_proj.bias, ...
no blocks: without(/^h\./) // source should have blocks, such as h.0.ln_1.weight or trf_blocks.0.norm1.scale, got ln_f.bias, ln_f.weight, wpe.weight, wte.weight
positions of two batches: changed('wpe.weight', { shape: [2, 7, 64] }) // source should have wpe.weight or pos_emb.weight [contextLength, embDim], got shape [2, 7, 64]
a tensor too many: and('more', [1], 0) // source should have no other tensors, or come with strict: false, got more
another shape: changed('ln_f.bias', { shape: [2, 32] }) // SHAPE ln_f.bias should have shape [64], got [2, 32]
names of 20,000 parts, module: renamed((name) => 'module.'.repeat(20_000) + name) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
names of 20,000 parts, _orig_mod: renamed((name) => '_orig_mod.'.repeat(20_000) + name) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
names of 20,000 parts, a: renamed((name) => 'a.'.repeat(20_000) + name) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
names of 20,000 parts, nothing: renamed((name) => '.'.repeat(20_000) + name) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
a prefix before some names: renamed((name) => name.replace(/^h\.1\./, 'other.$&')) // source should have trf_blocks.1.attn.c_attn.weight, trf_blocks.1.attn.c_attn.bias, ...
an average beside a network: both('ema', 'net') // source should have one GPT, or one named model, module or state_dict, got ema, net
an average beside a network, not strict: both('ema', 'net'), { strict: false } // source should have one GPT, or one named model, module or state_dict, got ema, net
a student and a teacher: read('two_models.pt'), { config: { n_head: 3 } } // source should have one GPT, or one named model, module or state_dict, got student.model, teacher.model
another head than the tied one: and('lm_head.weight', [19, 64], 1), { config: { tieWeights: true } } // out_head.weight should be tok_emb.weight, with which it is tied, got other values
a tied weight under the name of the head, not tied: renamed((name) => name.replace('wte', 'lm_head')), { config: { tieWeights: false } } // source should have tok_emb.weight, got ...
a head for two classes: and('lm_head.weight', [2, 64], 9) // SHAPE lm_head.weight should have shape [19, 64], or come with strict: false, got shape [2, 64]
a head for two classes with a bias: and('out_head.weight', [2, 64], 9, 'out_head.bias', [2], 0) // SHAPE out_head.weight should have shape [19, 64], or come with strict: false, got shape [2, 64]
a head for two classes, not strict, not tied: and('lm_head.weight', [2, 64], 9), { strict: false, config: { tieWeights: false } } // source should have out_head.weight, got lm_head.weight
a classifier's score: read('hf_score.safetensors'), { config: { n_head: 3 } } // source should have no other tensors, or come with strict: false, got score.weight
a matrix whole and in thirds: fileOf([...entriesOf(book), entryOf('trf_blocks.0.att.qkv.weight', [192, 64], 0)]) // source should have trf_blocks.0.attn.c_attn.weight once, got ...
a weight of NaN as int8: changed('h.1.mlp.c_fc.weight', NaN), { dtype: 'int8' } // h.1.mlp.c_fc.weight should be finite to become int8, got NaN or an infinity
integers of 8 bits: changed(ATTN, { dtype: 'I8' }) // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got I8
integers of 8 bits, not strict: changed(ATTN, { dtype: 'I8' }), { strict: false } // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got I8
unsigned integers: changed(ATTN, { dtype: 'U8' }) // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got U8
integers of 32 bits: changed(ATTN, { dtype: 'I32' }) // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got I32
integers with bitsandbytes' scales: bitsandbytes, { dtype: 'int8' } // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got I8
integers with bitsandbytes' scales, not strict: bitsandbytes, { strict: false, dtype: 'int8' } // UNSUPPORTED h.1.attn.c_attn.weight should have floats, or be a weight with scales in h.1.attn.c_attn.weight_scale, got I8
int8 scales of another shape: changed('tok_emb.weight_scale', { shape: [1, 19] }, int8) // SHAPE tok_emb.weight_scale should have shape [19, groups], with groups of equal, even length, got [1, 19]
int8 scales of float16: changed('tok_emb.weight_scale', { dtype: 'F16' }, int8) // tok_emb.weight and tok_emb.weight_scale should be I8 and F32, got I8 and F16
an int8 scale of NaN: changed('tok_emb.weight_scale', NaN, int8) // tok_emb.weight_scale should have finite scales from 0 on, got NaN
an int8 scale of Infinity: changed('tok_emb.weight_scale', Infinity, int8) // tok_emb.weight_scale should have finite scales from 0 on, got Infinity
an int8 scale of -1: changed('tok_emb.weight_scale', -1, int8) // tok_emb.weight_scale should have finite scales from 0 on, got -1
an int8 matrix of the other layout: changed('trf_blocks.0.attn.c_attn.weight', { shape: [64, 192] }, int8) // SHAPE trf_blocks.0.attn.c_attn.weight should have shape [192, 64], got [64, 192]
int8 scales without their values: without('tok_emb.weight', int8) // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
heads of 1.2.3 in the metadata: fileOf(entriesOf(gpt2), { nHeads: '1.2.3' }) // TYPE GPTModel: nHeads should be a positive integer, got "1.2.3"
heads of a point: fileOf(entriesOf(gpt2), { nHeads: '.' }) // TYPE GPTModel: nHeads should be a positive integer, got "."
heads of a minus: fileOf(entriesOf(gpt2), { nHeads: '-' }) // TYPE GPTModel: nHeads should be a positive integer, got "-"
heads of 1e: fileOf(entriesOf(gpt2), { nHeads: '1e' }) // TYPE GPTModel: nHeads should be a positive integer, got "1e"
heads of nothing: fileOf(entriesOf(gpt2), { nHeads: '' }) // TYPE GPTModel: nHeads should be a positive integer, got ""
no number of heads: untold // config.nHeads should be given for a file that does not say it, unless its sizes are those of OpenAI's GPT-2s, got none for vocabSize 19, contextLength 7, embDim 64, nLayers 2
no number of heads, Hugging Face's file: read('hf.safetensors') // config.nHeads should be given for a file that does not say it, ...
no number of heads, Hugging Face's .bin: read('pytorch_model.bin') // config.nHeads should be given for a file that does not say it, ...
no number of heads, minGPT's: read('mingpt.pt') // config.nHeads should be given for a file that does not say it, ...
no number of heads, the book's: read('model.pth') // config.nHeads should be given for a file that does not say it, ...
no number of heads, the book's as safetensors: read('book.safetensors') // config.nHeads should be given for a file that does not say it, ...
heads of null: untold, { config: { nHeads: null } } // TYPE GPTModel: nHeads should be a positive integer, got null
heads that do not divide: untold, { config: { nHeads: 3 } } // GPTModel: nHeads should be a divisor of 64 (embDim), got 3
other heads than the file's: gpt2, { config: { nHeads: 4 } } // config.nHeads should be 1, as in the file, got 4
another vocabulary: gpt2, { config: { vocabSize: 20 } } // config.vocabSize should be 19, as in the file, got 20
another width: gpt2, { config: { embDim: 128 } } // config.embDim should be 64, as in the file, got 128
another number of blocks: gpt2, { config: { nLayers: 3 } } // config.nLayers should be 2, as in the file, got 3
no bias of q, k and v: gpt2, { config: { qkvBias: false } } // config.qkvBias should be true, as in the file, got false
another n_embd: gpt2, { config: { n_head: 1, n_embd: 16 } } // config.n_embd should be 64, as in the file, got 16
no bias: gpt2, { config: { n_head: 1, bias: false } } // config.bias should be true, as in the file, got false
two lengths of a context: gpt2, { config: { n_head: 1, n_ctx: 6, n_positions: 7 } } // config.n_positions should be 6, as config.n_ctx, got 7
another number of layers than nanoGPT's: read('ckpt.pt'), { config: { n_layer: 5, n_head: 3 } } // config.n_layer should be 1, as in the file, got 5
other heads than nanoGPT's: read('ckpt.pt'), { config: { n_head: 4 } } // config.n_head should be 3, as in the file, got 4
another vocabulary than the book's: read('model.pth'), { config: { emb_dim: 12, n_heads: 3, vocab_size: 50257 } } // config.vocab_size should be 19, as in the file, got 50257
an unknown name in config: gpt2, { config: { heads: 3 } } // config should have names among vocabSize, contextLength, embDim, nHeads, nLayers, dropRate, qkvBias, bias, layerNormEpsilon, tieWeights, hiddenDim, approximate, got "heads"
a field of a fork of nanoGPT: latin(read('dataclass.pt').toString('latin1').replaceAll('dropout', 'rotary_')) // model_args of source should have names among n_layer, n_head, n_embd, block_size, bias, vocab_size, dropout, got "rotary_"
attention without its scale: gpt2, { config: { n_head: 1, scale_attn_weights: false } } // config.scale_attn_weights should be true, got false
attention scaled by its layer: gpt2, { config: { n_head: 1, scale_attn_by_inverse_layer_idx: true } } // config.scale_attn_by_inverse_layer_idx should be false, got true
cross-attention: gpt2, { config: { n_head: 1, add_cross_attention: true } } // config.add_cross_attention should be false, got true
another activation: gpt2, { config: { n_head: 1, activation_function: 'relu' } } // config.activation_function should be among gelu_new, gelu_pytorch_tanh, gelu_fast, gelu, got "relu"
a quantized model by its config: gpt2, { config: { model_type: 'gpt2', quantization_config: { load_in_8bit: true } } } // config.quantization_config should be null, got an object
a quantized model by its method: gpt2, { config: { model_type: 'gpt2', quantization_config: { quant_method: 'gptq' } } } // config.quantization_config should be null, got an object
onProgress that is no function: gpt2, { onProgress: 1 } // TYPE onProgress should be a function, got 1
a signal that is none: gpt2, { signal: {} } // TYPE signal should be an AbortSignal, got an object
a dtype that is a number: gpt2, { dtype: 1 } // TYPE dtype should be 'float32' or 'int8', got 1
a dtype of 4 bits: gpt2, { dtype: 'int4' } // dtype should be 'float32' or 'int8', got "int4"
a misspelt option: gpt2, { progress: 1 } // options should be among dtype, config, strict, onProgress, signal, got "progress"
a name: 'model.safetensors' // TYPE source should give the bytes: fromPretrained(await fetch(url)) for a URL, fromPretrained(createReadStream(path)), from 'node:fs', for a path, got "model.safetensors"
nothing: undefined // TYPE source should be a Blob, a File, a Response, a ReadableStream, an async iterable of bytes, a file handle of Node or Deno, or bytes, got undefined
a function: fetch // TYPE source should be a Blob, a File, a Response, a ReadableStream, an async iterable of bytes, a file handle of Node or Deno, or bytes, got function fetch
an empty object: {} // TYPE source should be a Blob, a File, a Response, a ReadableStream, an async iterable of bytes, a file handle of Node or Deno, or bytes, got an object
a status of 404: new Response('not found', { status: 404 }) // NETWORK source should be a response with a status from 200 to 299, got 404
a response without a body: new Response(null) // source should be a response with a body, got one without
a response with HTML: new Response('<html>', { headers: { 'content-type': 'text/html; charset=utf-8' } }) // source should be a file, got a page of HTML: content-type "text/html; charset=utf-8"
an index without a map: { index: {}, open: () => gpt2 } // source.index should have a weight_map, got an object
one of two parts: { a: fileOf(entriesOf(gpt2).slice(0, 9)) } // source should have wte.weight or tok_emb.weight [vocabSize, embDim], got ...
a part twice: { a: gpt2, c: fileOf(entriesOf(gpt2).slice(0, 9)) } // source should have trf_blocks.0.attn.c_attn.bias once, got ...
a stream that is locked: lockedStream() // source should be unread, got a stream that is locked or was read before
a stream that fails: new ReadableStream({ pull: (controller) => controller.error(new Error('connection lost')) }) // NETWORK source should be readable to its end, got connection lost
a stream of text: new ReadableStream({ pull: (controller) => controller.enqueue('text') }) // TYPE a chunk of source should be a Uint8Array or an ArrayBuffer, got "text"
an async iterable that fails: (async function* () { yield gpt2.subarray(0, 2000); throw new Error('disk full') })() // NETWORK source should be readable to its end, got disk full
an async iterable of other bytes: (async function* () { for (;;) yield new Uint8Array(1000).fill(123) })() // source should be a safetensors file, got one that starts with "{{{{{{{{{{{{{{{{{{{{{{{{"
an async iterable of nothing: (async function* () { for (;;) yield new Uint8Array(0) })() // source should give bytes, got 1000 empty chunks in a row
a closed handle: closedHandle // source should be readable to its end, got file closed
a handle that read -1 bytes: handle(-1) // source should read at most the 65536 bytes that it is asked for, got -1
a handle that read half a byte: handle(0.5) // source should read at most the 65536 bytes that it is asked for, got 0.5
a handle that read NaN bytes: handle(NaN) // source should read at most the 65536 bytes that it is asked for, got NaN
a handle that read more than asked: handle(2 ** 30) // source should read at most the 65536 bytes that it is asked for, got 1073741824
a handle that read text: handle('5') // source should read at most the 65536 bytes that it is asked for, got "5"
a handle that read undefined: handle(undefined) // source should read at most the 65536 bytes that it is asked for, got undefined
a handle of Deno that read -1 bytes: deno(-1) // source should read at most the 65536 bytes that it is asked for, got -1
a handle of Deno that read half a byte: deno(0.5) // source should read at most the 65536 bytes that it is asked for, got 0.5
a handle of Deno that read NaN bytes: deno(NaN) // source should read at most the 65536 bytes that it is asked for, got NaN
a handle of Deno that read more than asked: deno(2 ** 30) // source should read at most the 65536 bytes that it is asked for, got 1073741824
a handle of Deno that read text: deno('5') // source should read at most the 65536 bytes that it is asked for, got "5"
a handle of Deno that read undefined: deno(undefined) // source should read at most the 65536 bytes that it is asked for, got undefined
a Blob that gives more than asked: blob(gpt2.buffer.slice(0, 70_000)) // source should read at most the 65536 bytes that it is asked for, got 70000
a Blob that gives a number: blob(100) // TYPE a part of source should be a Uint8Array or an ArrayBuffer, got 100
`

/**
 * What loadStateDict of a layer or an optimizer refuses, as a dict and, where it holds tensors alone, as a file of
 * them, too: the layer, and the dict. The layer keeps its values.
 */
export const DICTS = String.raw`
no bias: linear, { weight: ones([3, 6]) } // dict should have bias, got weight
a tensor too many: linear, { ...linear.stateDict(), gain: ones([1]) } // dict should have no other tensors, or come with strict: false, got gain
a tensor of a tensor: linear, { ...linear.stateDict(), 'weight.x': ones([1]) } // dict should have no other tensors, or come with strict: false, got weight.x
another shape: linear, { ...linear.stateDict(), bias: ones([1, 3]) } // SHAPE bias should have shape [3], got [1, 3]
a tensor under two names: norm, { ...norm.stateDict(), weight: ones([2]) } // dict should have scale once, got scale and weight
no tensor: linear, { ...linear.stateDict(), bias: [1, 2, 3] } // TYPE bias should be a Tensor, got [1, 2, 3]
a tensor that was disposed: linear, { ...linear.stateDict(), bias: gone } // DISPOSED bias should be a live Tensor, got one that was disposed
GPT-2 without its positions: untied, Object.fromEntries(Object.entries(theirs).filter(([name]) => name !== 'wpe.weight')) // dict should have pos_emb.weight, got ...
GPT-2 with a block too many: untied, { ...theirs, 'h.2.ln_1.weight': ones([8]) } // dict should have no other tensors, or come with strict: false, got h.2.ln_1.weight
GPT-2 with a tensor under two names: untied, { ...theirs, 'pos_emb.weight': theirs['wpe.weight'] } // dict should have pos_emb.weight once, got ...
GPT-2 with a tensor inside a mask: untied, { ...theirs, 'h.0.attn.bias.x': ones([1]) } // dict should have no other tensors, or come with strict: false, got h.0.attn.bias.x
GPT-2 with a matrix whole and a part of it: untied, { ...theirs, 'h.0.attn.W_key.weight': ones([8, 8]) } // dict should have trf_blocks.0.attn.c_attn.weight once, got ...
GPT-2 with a matrix of the other layout: untied, { ...theirs, 'h.1.mlp.c_fc.weight': ones([32, 8]) } // SHAPE h.1.mlp.c_fc.weight should have shape [8, 32], got [32, 8]
GPT-2 with biases that the model lacks: biasless, theirs // dict should have no other tensors, or come with strict: false, got h.0.attn.c_attn.bias, h.1.attn.c_attn.bias
a tied model without its embedding: untied, Object.fromEntries(Object.entries(tied.stateDict()).filter(([name]) => name !== 'tok_emb.weight')) // dict should have tok_emb.weight, got ...
tied weights that differ: tied, { ...tied.stateDict(), 'tok_emb.weight': ones([5, 8]), 'out_head.weight': zeros([5, 8]) } // out_head.weight should be tok_emb.weight, with which it is tied, got other values
an untied model for a tied one: tied, untied.stateDict() // out_head.weight should be tok_emb.weight, with which it is tied, got other values
int8 scales under two names: int8Model, { ...int8Dict, 'h.0.attn.c_attn.weight_scale': int8Dict['trf_blocks.0.attn.c_attn.weight_scale'] } // dict should have trf_blocks.0.attn.c_attn.weight_scale once, got ...
int8 scales of too many groups: int8Linear, { ...good, weight_scale: zeros([3, 4]) } // SHAPE weight_scale should have shape [3, groups], with groups of equal, even length, got [3, 4]
int8 scales of too few outputs: int8Linear, { ...good, weight_scale: zeros([2, 3]) } // SHAPE weight_scale should have shape [3, groups], with groups of equal, even length, got [2, 3]
int8 scales of one axis: int8Linear, { ...good, weight_scale: zeros([9]) } // SHAPE weight_scale should have shape [3, groups], with groups of equal, even length, got [9]
an int8 weight of another shape: int8Linear, { ...good, weight: zeros([3, 5]) } // SHAPE weight should have shape [3, 6], got [3, 5]
an int8 weight of halves: int8Linear, { ...good, weight: full([3, 6], 0.5) } // weight should have integers from -128 to 127 beside its scales
an int8 scale below 0: int8Linear, { ...good, weight_scale: full([3, 3], -1) } // weight_scale should have finite scales from 0 on, got -1
an int8 scale of NaN: int8Linear, { ...good, weight_scale: full([3, 3], NaN) } // weight_scale should have finite scales from 0 on, got NaN
an int8 scale of Infinity: int8Linear, { ...good, weight_scale: full([3, 3], Infinity) } // weight_scale should have finite scales from 0 on, got Infinity
twelve tensors too many: linear, { ...linear.stateDict(), ...Object.fromEntries(Array.from('abcdefghijkl', (name) => [name, linear.bias])) } // dict should have no other tensors, or come with strict: false, got a, b, c, d, e, f, g, h, i, j, k, l
fourteen tensors too many: linear, { ...linear.stateDict(), ...Object.fromEntries(Array.from('abcdefghijklmn', (name) => [name, linear.bias])) } // dict should have no other tensors, or come with strict: false, got a, b, c, d, e, f, g, h, i, j, k, l and 2 more
scales of a bias: int8Linear, { ...good, bias_scale: zeros([3]) } // dict should have no other tensors, or come with strict: false, got bias_scale
int8 scales without their weight: int8Linear, { weight_scale: good.weight_scale, bias: good.bias } // dict should have weight, int8, got only weight_scale
an infinite weight for an int8 one: int8Linear, { weight: full([3, 6], Infinity), bias: good.bias } // weight should be finite to become int8, got NaN or an infinity
an int8 weight for a parameter of one's own: beside, { w: int8Linear.int8Weight }, { strict: false } // UNSUPPORTED w should have floats, or be a weight with scales in w_scale, got I8
an int8 weight for a table of one's own: beside, { table: int8Linear.int8Weight }, { strict: false } // UNSUPPORTED table should have floats, or be a weight with scales in table_scale, got I8
an int8 weight in a layer without a matrix: own, { w: int8Linear.int8Weight }, { strict: false } // TYPE w should be a Tensor, got an Int8Weight
an optimizer's state of a parameter too many: adam, { ...adam.stateDict(), 'state.2.step': ones([]) } // names in dict should be among state.0.step, state.0.exp_avg, state.0.exp_avg_sq, state.1.step, state.1.exp_avg, state.1.exp_avg_sq, got "state.2.step"
an optimizer's state without a mean: adam, { 'state.0.step': ones([]) } // TYPE state.0.exp_avg should be a Tensor, got undefined
an optimizer's mean of another shape: adam, { ...adam.stateDict(), 'state.0.exp_avg': ones([3]) } // SHAPE state.0.exp_avg should have shape [2], got [3]
an optimizer's mean that was disposed: adam, { ...adam.stateDict(), 'state.0.exp_avg': gone } // DISPOSED state.0.exp_avg should be a live Tensor, got one that was disposed
an optimizer's mean of squares below 0: adam, { ...adam.stateDict(), 'state.0.exp_avg_sq': full([2], -1) } // state.0.exp_avg_sq should have no negative element, got -1
a step of -1: adam, { ...adam.stateDict(), 'state.0.step': full([], -1) } // state.0.step should be an integer from 0 to 16777216, got -1
half a step: adam, { ...adam.stateDict(), 'state.0.step': full([], 0.5) } // state.0.step should be an integer from 0 to 16777216, got 0.5
a step of NaN: adam, { ...adam.stateDict(), 'state.0.step': full([], NaN) } // state.0.step should be an integer from 0 to 16777216, got NaN
a step of Infinity: adam, { ...adam.stateDict(), 'state.0.step': full([], Infinity) } // state.0.step should be an integer from 0 to 16777216, got Infinity
a step beyond the exact integers: adam, { ...adam.stateDict(), 'state.0.step': full([], 2 ** 24 + 2) } // state.0.step should be an integer from 0 to 16777216, got 16777218
`
