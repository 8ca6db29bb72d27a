/** @import { Runtime } from './runtime/runtime.js' */

import { Attention } from './layers/attention.js'
import { BatchNorm } from './layers/batchnorm.js'
import { Conv1D } from './layers/conv1d.js'
import { Dropout } from './layers/dropout.js'
import { Embedding } from './layers/embedding.js'
import { FeedForward } from './layers/feedforward.js'
import { GELU } from './layers/gelu.js'
import { GPTModel } from './layers/gptmodel.js'
import { LayerNorm } from './layers/layernorm.js'
import { Linear } from './layers/linear.js'
import { Module } from './layers/module.js'
import { ReLU } from './layers/relu.js'
import { RMSNorm } from './layers/rmsnorm.js'
import { Sequential } from './layers/sequential.js'
import { Softmax } from './layers/softmax.js'
import { TransformerBlock } from './layers/transformerblock.js'
import { AdamW } from './optim/adamw.js'
import { SGD } from './optim/sgd.js'

/** The classes that an instance offers, such as `gpt.Linear`. */
const CLASSES = {
  Module,
  Linear,
  Conv1D,
  ReLU,
  GELU,
  LayerNorm,
  BatchNorm,
  RMSNorm,
  Dropout,
  Embedding,
  Softmax,
  FeedForward,
  Attention,
  Sequential,
  TransformerBlock,
  GPTModel,
  SGD,
  AdamW,
}

/**
 * The arguments of a class's constructor, without the runtime.
 *
 * @template C
 * @typedef {C extends abstract new (runtime: Runtime, ...args: infer Args) => object ? Args : never}
 *   ArgumentsOf
 */

/**
 * A class as users see it: the constructor has no runtime.
 *
 * @template {abstract new (runtime: Runtime, ...args: never[]) => object} C
 * @typedef {new (...args: ArgumentsOf<C>) => InstanceType<C>} Bound
 */

/** @typedef {{ readonly [Name in keyof typeof CLASSES]: Bound<(typeof CLASSES)[Name]> }} Classes */

/** The classes of one instance. Each makes its objects in that instance's memory. */
export const BoundClasses = /** @type {new (runtime: Runtime) => Classes} */ (
  class {
    /** @param {Runtime} runtime */
    constructor(runtime) {
      const bound = Object.entries(CLASSES).map(([name, Class]) => [name, bind(runtime, Class)])
      Object.assign(this, Object.fromEntries(bound))
    }
  }
)

/**
 * @param {Runtime} runtime
 * @param {Function} Class whose constructor takes the runtime first
 * @returns {Function} a subclass whose constructor passes the runtime on
 */
function bind(runtime, Class) {
  // A mixin, for which TypeScript demands any.
  const Base = /** @type {new (...args: any[]) => object} */ (Class)
  const Bound = class extends Base {
    /** @param {...any} args */
    constructor(...args) {
      super(runtime, ...args)
    }

    /** So that a layer that another layer has made is an instance, too. @override @param {unknown} value */
    static [Symbol.hasInstance](value) {
      const isInstance = Function.prototype[Symbol.hasInstance]
      return isInstance.call(this === Bound ? Class : this, value)
    }
  }
  Object.defineProperty(Bound, 'name', { value: Class.name })
  return Bound
}
