import type { Runtime } from './runtime/runtime.js'
import { fail, nameErrors, withName } from './errors.js'
import { KeyValueCache } from './generate/cache.js'
import { Attention } from './layers/attention.js'
import { BatchNorm } from './layers/batchnorm.js'
import { Conv1D } from './layers/conv1d.js'
import { Dropout } from './layers/dropout.js'
import { Embedding } from './layers/embedding.js'
import { FeedForward } from './layers/feedforward.js'
import { GELU } from './layers/gelu.js'
import { GPTModel } from './layers/gptmodel.js'
import { Identity } from './layers/identity.js'
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
import { RUNTIME } from './runtime/runtime.js'
import { Tensor } from './tensor/tensor.js'

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
  Identity,
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

// The message of an error begins with the class, of the user's where it extends ours, and the method.
const prototypes = new Set(
  Object.values(CLASSES).flatMap((Class) => [Class.prototype, Object.getPrototypeOf(Class.prototype)]),
)
prototypes.delete(Object.prototype)
for (const prototype of [...prototypes, KeyValueCache.prototype]) {
  nameErrors(prototype, (self, method) => `${self.constructor.name}.${method}`, ['append', 'checkState'])
}
nameErrors(Tensor.prototype, (_tensor, method) => method, [
  'checkUsable',
  'asParameter',
  'empty',
  'zeroed',
  'hold',
  'own',
])

/**
 * The classes of one instance. Each makes its objects in that instance's memory: it passes the runtime on to
 * the constructor. web/bundle.js leaves that parameter out of the published types.
 */
export const BoundClasses = class {
  constructor(runtime: Runtime) {
    for (const [name, Class] of Object.entries(CLASSES)) {
      Object.defineProperty(this, name, { value: bind(runtime, name, Class), enumerable: true })
    }
  }
} as new (runtime: Runtime) => Readonly<typeof CLASSES>

/**
 * @param Class whose constructor takes the runtime first
 * @returns a subclass whose constructor passes the runtime on
 */
function bind(runtime: Runtime, name: string, Class: Function): Function {
  function Bound(...args: unknown[]) {
    try {
      if (new.target) return Reflect.construct(Class, [runtime, ...args], new.target)
      throw fail('TYPE', 'the class', `be called with new, as new gpt.${name}(...)`)
    } catch (error) {
      throw withName(error, name)
    }
  }
  Object.setPrototypeOf(Bound, Class)
  Bound.prototype = Object.create(Class.prototype, { constructor: { value: Bound } })
  Object.defineProperty(Bound, RUNTIME, { value: runtime }) // for static methods
  // So that a layer that another layer has made is an instance, too.
  Object.defineProperty(Bound, Symbol.hasInstance, {
    value(this: Function, value: unknown): boolean {
      return Function.prototype[Symbol.hasInstance].call(this === Bound ? Class : this, value)
    },
  })
  // Errors show the name, which an app's minifier may have changed.
  for (const named of [Class, Bound]) Object.defineProperty(named, 'name', { value: name })
  return Bound
}
