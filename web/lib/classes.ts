import { checkCount, guardMethods } from './check.ts'
import { fail, withName } from './errors.ts'
import { KeyValueCache } from './generate/cache.ts'
import { Attention } from './layers/attention.ts'
import { BatchNorm } from './layers/batchnorm.ts'
import { Conv1D } from './layers/conv1d.ts'
import { Dropout } from './layers/dropout.ts'
import { Embedding } from './layers/embedding.ts'
import { FeedForward } from './layers/feedforward.ts'
import { GELU } from './layers/gelu.ts'
import { GPTModel } from './layers/gptmodel.ts'
import { Identity } from './layers/identity.ts'
import { LayerNorm } from './layers/layernorm.ts'
import { Linear } from './layers/linear.ts'
import { Module, ourForwards } from './layers/module.ts'
import { ReLU } from './layers/relu.ts'
import { RMSNorm } from './layers/rmsnorm.ts'
import { Sequential } from './layers/sequential.ts'
import { Softmax } from './layers/softmax.ts'
import { TransformerBlock } from './layers/transformerblock.ts'
import { AdamW } from './optim/adamw.ts'
import { SGD } from './optim/sgd.ts'
import { type Runtime, RUNTIME } from './runtime/runtime.ts'
import { Int8Weight } from './tensor/int8weight.ts'
import { Tensor } from './tensor/tensor.ts'

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
const INTERNAL = ['append', 'checkState', 'checkLive', 'checkUsable']
for (const prototype of [...prototypes, KeyValueCache.prototype, Int8Weight.prototype]) {
  guardMethods(prototype, (self, method) => `${self.constructor.name}.${method}`, INTERNAL)
}
for (const { prototype } of Object.values(CLASSES)) {
  if ('forward' in prototype) ourForwards.add(prototype.forward)
}
guardMethods(Tensor.prototype, (_tensor, method) => method, [
  'checkUsable',
  'asParameter',
  'materialize',
  'empty',
  'zeroed',
  'hold',
  'own',
])

/**
 * The classes of one instance. Each makes its objects in that instance's memory: it passes the runtime on to
 * the constructor. web/types.js leaves that parameter out of the published types.
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
  // Without a constructor of its own a class takes nothing but the runtime, and has length 0.
  const most = Class === Sequential ? Infinity : Math.max(Class.length - 1, 0)
  function Bound(...args: unknown[]) {
    try {
      if (!new.target) throw fail('TYPE', 'the class', `be called with new, as new gpt.${name}(...)`)
      checkCount(args, most)
      return Reflect.construct(Class, [runtime, ...args], new.target)
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
