// Builds small ONNX models in code.

import { createRequire } from 'node:module'

// onnx.proto's messages, which onnxruntime-web has for its own use.
const { onnx } = createRequire(import.meta.url)(
  './node_modules/onnxruntime-web/lib/onnxjs/ort-schema/protobuf/onnx.js',
)
const { FLOAT, INT, STRING, INTS } = onnx.AttributeProto.AttributeType
const DATA_TYPES = onnx.TensorProto.DataType

/** The domain of the operators that onnxruntime adds to ONNX's. */
export const MICROSOFT = 'com.microsoft'

/** @typedef {{ node: object } | { initializer: object }} Part of a graph: a NodeProto or a TensorProto */

/** @param {[string, number | string | number[]]} attribute a fraction, an integer, a string or integers */
function attribute([name, value]) {
  if (Array.isArray(value)) return { name, ints: value, type: INTS }
  if (typeof value === 'string') return { name, s: new TextEncoder().encode(value), type: STRING }
  return Number.isInteger(value) ? { name, i: value, type: INT } : { name, f: value, type: FLOAT }
}

/**
 * @param {string} opType
 * @param {string[]} input
 * @param {string | string[]} output
 * @param {Record<string, number | string | number[]>} [attributes]
 * @param {string} [domain] the domain of the operator; by default ONNX's own
 * @returns {Part}
 */
export function node(opType, input, output, attributes = {}, domain = '') {
  const attributeProtos = Object.entries(attributes).map(attribute)
  return { node: { opType, input, output: [output].flat(), attribute: attributeProtos, domain } }
}

/**
 * @param {string} name
 * @param {number[]} dims
 * @param {Float32Array | Int8Array | BigInt64Array} values
 * @returns {Part} a weight inside the model
 */
export function weight(name, dims, values) {
  const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const dataType = values instanceof Float32Array ? 'FLOAT' : values instanceof Int8Array ? 'INT8' : 'INT64'
  return { initializer: { name, dims, dataType: DATA_TYPES[dataType], rawData } }
}

/**
 * @typedef {{ name: string, shape: (number | string)[], type?: 'FLOAT' | 'INT64' }} Value a string in the
 *   shape names a size that is known only at run time
 *
 * @param {Value} value
 */
function valueInfo({ name, shape, type = 'FLOAT' }) {
  const dim = shape.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }))
  return { name, type: { tensorType: { elemType: DATA_TYPES[type], shape: { dim } } } }
}

/** @param {{ inputs: Value[], outputs: Value[], parts: Part[] }} graph */
export function model({ inputs, outputs, parts }) {
  const graph = {
    name: 'graph',
    node: parts.flatMap((part) => ('node' in part ? part.node : [])),
    initializer: parts.flatMap((part) => ('initializer' in part ? part.initializer : [])),
    input: inputs.map(valueInfo),
    output: outputs.map(valueInfo),
  }
  const opsetImport = [
    { domain: '', version: 20 }, // the first version with Gelu
    { domain: MICROSOFT, version: 1 },
  ]
  return onnx.ModelProto.encode({ irVersion: 9, graph, opsetImport }).finish()
}
