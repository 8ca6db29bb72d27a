// Builds small ONNX models in code. Only the messages of onnx.proto that these models use are here.

const text = new TextEncoder()
const FLOAT = 1 // TensorProto.DataType
const VARINT = 0
const LENGTH = 2 // a byte count and the bytes: strings, raw data, messages
const FIXED32 = 5

/** The domain of the operators that onnxruntime adds to ONNX's. */
export const MICROSOFT = 'com.microsoft'

/** @param {Uint8Array[]} parts */
function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Seven bits per byte, lowest first; the eighth bit is set in all bytes but the last. @param {number} n */
function varint(n) {
  const bytes = []
  for (; n >= 0x80; n = Math.floor(n / 0x80)) bytes.push((n % 0x80) | 0x80)
  return Uint8Array.of(...bytes, n)
}

/** @param {number} number @param {number} type @param {Uint8Array[]} parts */
const field = (number, type, ...parts) => concat([varint(number * 8 + type), ...parts])

/** @param {number} number @param {number} n */
const integer = (number, n) => field(number, VARINT, varint(n))
/** @param {number} number @param {number} x */
const float = (number, x) => field(number, FIXED32, new Uint8Array(Float32Array.of(x).buffer))
/** @param {number} number @param {Uint8Array} bytes */
const blob = (number, bytes) => field(number, LENGTH, varint(bytes.length), bytes)
/** @param {number} number @param {string} string */
const string = (number, string) => blob(number, text.encode(string))
/** @param {number} number @param {Uint8Array[]} fields */
const message = (number, ...fields) => blob(number, concat(fields))

/**
 * AttributeProto, of a node: name = 1, f = 2, i = 3, s = 4, type = 20 (1, 2 or 3 for these)
 *
 * @param {[string, number | string]} attribute a fraction, an integer or a string
 */
function attribute([name, value]) {
  if (typeof value === 'string') return message(5, string(1, name), string(4, value), integer(20, 3))
  if (Number.isInteger(value)) return message(5, string(1, name), integer(3, value), integer(20, 2))
  return message(5, string(1, name), float(2, value), integer(20, 1))
}

/**
 * NodeProto, of a graph: input = 1, output = 2, op_type = 4, attribute = 5, domain = 7
 *
 * @param {string} operator
 * @param {string[]} inputs
 * @param {string} output
 * @param {Record<string, number | string>} [attributes]
 * @param {string} [domain] of the operator; by default ONNX's own
 */
export function node(operator, inputs, output, attributes = {}, domain = '') {
  const names = [...inputs.map((name) => string(1, name)), string(2, output)]
  return message(
    1,
    ...names,
    string(4, operator),
    ...Object.entries(attributes).map(attribute),
    string(7, domain),
  )
}

/**
 * TensorProto of a graph, for a weight inside the model: dims = 1, data_type = 2, name = 8, raw_data = 9
 *
 * @param {string} name
 * @param {number[]} shape
 * @param {Float32Array} values
 */
export function weight(name, shape, values) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const dims = shape.map((size) => integer(1, size))
  return message(5, ...dims, integer(2, FLOAT), string(8, name), blob(9, bytes))
}

/**
 * ValueInfoProto, of a graph: name = 1, type = 2 { tensor_type = 1 { elem_type = 1, shape = 2 { dim = 1 } } }
 *
 * @param {number} number
 * @param {string} name
 * @param {number[]} shape
 */
function value(number, name, shape) {
  const dims = shape.map((size) => message(1, integer(1, size)))
  const tensor = message(1, integer(1, FLOAT), message(2, ...dims))
  return message(number, string(1, name), message(2, tensor))
}

/**
 * ModelProto: ir_version = 1, graph = 7, opset_import = 8 { domain = 1, version = 2 }. The graph computes y
 * from x, of the same shape: node = 1, name = 2, initializer = 5, input = 11, output = 12.
 *
 * @param {number[]} shape
 * @param {Uint8Array[]} parts nodes and weights
 */
export function model(shape, ...parts) {
  const graph = message(7, ...parts, string(2, 'graph'), value(11, 'x', shape), value(12, 'y', shape))
  const operators = message(8, string(1, ''), integer(2, 20)) // The first version with Gelu.
  const contributed = message(8, string(1, MICROSOFT), integer(2, 1))
  return concat([integer(1, 9), operators, contributed, graph])
}
