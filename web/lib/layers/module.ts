import type { Indices } from '../tensor/indices.ts'
import type { Disposes } from '../typed.ts'
import type { KeyValueCache } from './kvcache.ts'
import {
  checkArray,
  checkBoolean,
  checkCount,
  checkFunction,
  checkObject,
  checkOptions,
  construct,
  describe,
  type Method,
  named,
  namedMethod,
  nameMethods,
  number,
} from '../check.ts'
import { fail, GptLayersError, withName } from '../errors.ts'
import { type Int8Weight, GROUP_SIZE } from '../tensor/int8weight.ts'
import { snakeCase } from '../tensor/pyformat.ts'
import { addKeeper, chain, registerKeeper, withUserScopes } from '../runtime/scope.ts'
import { checkTensor, Tensor } from '../tensor/tensor.ts'
import { type LoadedKeys, copyDict } from '../files/copy.ts'
import { type Matrix, matricesOf } from '../files/matrix.ts'
import { printLayer } from './print.ts'

/**
 * The second argument of `forward`: options of one call. Sequential gives it to every layer, GPTModel to its
 * blocks, TransformerBlock to `attn`. Embeddings, norms, feed-forward layers and heads get none.
 *
 * - `returnWeights`: Attention also returns its weights
 * - `cache`: the tokens before, whose keys and values Attention then does not compute again
 * - `lastOnly`: GPTModel returns the logits of the last token only; not passed on
 */
export type Context = { returnWeights?: boolean; cache?: KeyValueCache; lastOnly?: boolean } & Record<
  string,
  unknown
>

/** What `forward` returns: a tensor, or an object of it and more where the context asks for more. */
export type Returned = Tensor | { output: Tensor }

/**
 * One call of `forward`, as a listener sees it. The tensors are valid during the listener's call only:
 * `clone` those that you keep.
 */
export interface ForwardEvent {
  /** the module's path in the one that is listened to, such as `trf_blocks.0.norm1`; '' for that one */
  name: string
  module: Module
  /** the first argument: a Tensor, or the integers that Embedding and GPTModel take */
  input: Indices
  output: Tensor
  /** an Attention's [..., nHeads, tokens, tokens], where the context has `returnWeights: true` */
  weights?: Tensor
}

/** @returns a Tensor to take the place of the output, or undefined to leave it */
export type ForwardListener = (event: ForwardEvent) => Tensor | void

const asObject = (returned: Returned): { output: Tensor } =>
  Object.hasOwn(Object(returned), 'output')
    ? (returned as { output: Tensor })
    : { output: returned as Tensor }

/** See `Compared`. */
const NOT_CLONED: symbol = /* @__PURE__ */ Symbol(
  'a layer: send gpt.saveSafetensors(layer), and load it there',
)

export interface Module extends Disposes {}

/**
 * The base of every layer, under nn.Module's names. Extend `gpt.Module` for a layer of your own: it has to
 * define `forward`. Its properties that are layers, or arrays of layers, are the layers inside. Its
 * properties that are tensors, or arrays of tensors, are its parameters where `gpt.parameter` made them so,
 * otherwise its buffers.
 *
 * @example
 * class Scale extends gpt.Module {
 *   constructor(size) {
 *     super()
 *     this.scale = gpt.parameter(gpt.ones([size]))
 *   }
 *   forward(x) {
 *     return x.mul(this.scale)
 *   }
 * }
 * const layer = new Scale(2)
 * layer.forward(gpt.tensor([[1, 2], [3, 4]])).sum().backward()
 * layer.scale.grad.toArray() // [4, 6]
 */
export class Module {
  /** @internal */
  static readonly ownName: string = 'Module'

  /** The first property: see `Compared`. @internal */
  readonly structuredClone = NOT_CLONED

  #listeners: Set<{ name: string; listener: ForwardListener }> = new Set()
  /** Puts `forward` back, which `#tellListeners` has replaced. */
  #stopTelling: () => void = () => {}

  /**
   * Whether the layer is in training mode; true for a new layer. Dropout and Attention drop numbers only in
   * training mode, and BatchNorm uses the batch's statistics. `cache`, `lastOnly` and `generate` are refused
   * in training mode.
   */
  training: boolean

  constructor() {
    nameMethods(new.target, nameMethod)
    construct(new.target, arguments, 0, () => {})
    if (!Object.hasOwn(new.target, 'ownName')) registerKeeper(this)
    this.training = true
  }

  /**
   * Computes the layer.
   *
   * @param context options of this call, such as `{ returnWeights: true }`
   * @throws {GptLayersError} UNSUPPORTED where the class does not define it
   */
  forward(x: Tensor, context?: Context): Tensor {
    const call = [x, context].filter((value) => value !== undefined).map(describe)
    throw new GptLayersError('UNSUPPORTED', `not defined for ${call.join(', ')}`)
  }

  /**
   * Calls a listener after every `forward` of this layer and of every layer inside, as PyTorch's forward
   * hooks. Layers inside come before the layer that contains them. Without listeners a layer runs at full
   * speed. A layer added later is not listened to.
   *
   * A Tensor that the listener returns takes the place of the output: the next listener sees it, and so does
   * the layer after this one. It is yours: no layer frees it.
   *
   * @param listener gets a ForwardEvent. A clone that it makes belongs to the scope, if any, in which you
   *   called the outermost `forward`. An error that it throws ends the `forward`
   * @returns ends it; calling it again does nothing
   * @throws {GptLayersError} from `forward`: TYPE where the listener returns anything but a Tensor or undefined
   * @example
   * const seen = []
   * const stop = model.onForward(({ name, weights }) => {
   *   if (weights) seen.push([name, weights.shape])
   * })
   * model.forward(tokens, { returnWeights: true })
   * stop()
   * seen // [['trf_blocks.0.attn', [2, 2, 3, 3]]]
   * @example
   * const relu = new gpt.ReLU()
   * relu.onForward(({ output }) => output.mul(10))
   * relu.forward(gpt.tensor([-1, 2])).toArray() // [0, 20]
   */
  onForward(listener: ForwardListener): () => void {
    checkFunction('listener', listener)
    const added = namedModules(this).map(([name, module]) => {
      const entry = { name, listener }
      if (module.#listeners.size === 0) module.#tellListeners()
      module.#listeners.add(entry)
      return () => {
        if (module.#listeners.delete(entry) && module.#listeners.size === 0) module.#stopTelling()
      }
    })
    return () => {
      for (const remove of added) remove()
    }
  }

  /** Replaces `forward` of this object by one that tells the listeners. */
  #tellListeners(): void {
    const { forward } = this
    const own = Object.getOwnPropertyDescriptor(this, 'forward')
    const value: typeof forward = (...args) => {
      let returned: Returned = forward.apply(this, args)
      withUserScopes(() => {
        // A copy: a listener may add another one.
        for (const { name, listener } of [...this.#listeners]) {
          const event = { name, module: this, input: args[0], ...asObject(returned) }
          const output = listener(event)
          if (output === undefined) continue
          const expected = 'a Tensor or undefined (an arrow function with braces returns undefined)'
          const check = () => checkTensor("a listener's result", output, expected)
          named(`${this.constructor.name}.onForward`, check)()
          returned = asObject(returned) === returned ? { ...returned, output } : output
        }
      })
      return returned
    }
    if (ourForwards.has(forward)) ourForwards.add(value)
    Object.defineProperty(this, 'forward', { value, configurable: true, writable: true })
    this.#stopTelling = () => {
      Reflect.deleteProperty(this, 'forward')
      if (own) Object.defineProperty(this, 'forward', own)
    }
  }

  /** The tensors and layers directly inside, by property. @internal */
  ownParts(): [string, Tensor | Module][] {
    return Object.entries(this).flatMap(([name, value]) => {
      if (value instanceof Tensor || value instanceof Module) return [[name, value]]
      if (!Array.isArray(value)) return []
      return value.flatMap<[string, Tensor | Module]>((child, i) =>
        child instanceof Tensor || child instanceof Module ? [[`${name}.${i}`, child]] : [],
      )
    })
  }

  /**
   * The layers directly inside, with their names, such as `layers.0`. One that is there twice has the first of
   * its names.
   */
  namedChildren(): [string, Module][] {
    const children = this.ownParts().flatMap<[string, Module]>(([property, part]) =>
      part instanceof Module ? [[snakeCase(property), part]] : [],
    )
    return firstNames(children)
  }

  /** @returns those of `namedChildren` */
  children(): Module[] {
    return this.namedChildren().map(([, module]) => module)
  }

  /**
   * This layer and all layers inside, with their paths: '' for this one, then such as `trf_blocks.0.norm1`. A
   * layer comes before the layers inside it. One that is there twice has the first of its paths.
   */
  namedModules(): [string, Module][] {
    return namedModules(this)
  }

  /**
   * @returns those of `namedModules`
   * @example new gpt.Sequential(new gpt.Linear(5, 6), new gpt.ReLU()).modules().length // 3
   */
  modules(): Module[] {
    return [...new Set(modulesIn(this).map(([, module]) => module))]
  }

  /**
   * Calls a function with every layer inside, then with this one, as PyTorch's `apply`: for weights of your
   * own.
   *
   * @param fn what it returns is ignored
   * @example
   * model.apply((module) => {
   *   if (module instanceof gpt.Linear) gpt.init.normal(module.weight, { std: 0.02 })
   * })
   */
  apply(fn: (module: Module) => void): this {
    checkFunction('fn', fn)
    modulesIn(this) // throws where a layer contains itself
    for (const module of this.children()) module.apply(fn)
    fn(this)
    return this
  }

  /**
   * Sets `requiresGrad` of every parameter, as PyTorch's `requires_grad_`: with false, `backward` leaves them
   * out, and an optimizer does not change them.
   *
   * @param value true by default
   * @example model.requiresGrad(false).parameters().some((parameter) => parameter.requiresGrad) // false
   */
  requiresGrad(value?: boolean): this {
    const isOn = value === undefined || value
    checkBoolean('value', isOn)
    for (const parameter of this.parameters()) parameter.requiresGrad = isOn
    return this
  }

  /**
   * The parameters with their names in the state dict, such as `layers.0.weight`. A parameter that two
   * layers share has the first of its names. Int8 weights are left out: they cannot be trained.
   */
  namedParameters(): [string, Tensor][] {
    return namedTensors(this).filter(([, tensor]) => tensor.isParameter && tensor.int8Weight === null)
  }

  /** @returns those of `namedParameters` */
  parameters(): Tensor[] {
    return this.namedParameters().map(([, tensor]) => tensor)
  }

  /** The tensors that are no parameters with their names in the state dict, such as `running_mean`. */
  namedBuffers(): [string, Tensor][] {
    return namedTensors(this).filter(([, tensor]) => !tensor.isParameter)
  }

  /** @returns those of `namedBuffers` */
  buffers(): Tensor[] {
    return this.namedBuffers().map(([, tensor]) => tensor)
  }

  /**
   * Turns the weights of Linear and Conv1D, here and in the layers inside, into int8, one after the other: a
   * quarter of the memory, and a token is written up to four times as fast. An Embedding tied to such a layer
   * shares the new weight. Biases, norms and other embeddings stay float32.
   *
   * The layer computes as before, but for the rounding of its weights: each group of `groupSize` inputs of an
   * output has a scale, and each weight is rounded to one of 255 multiples of it. From here on `weight` is
   * disposed and `int8Weight` has its place; `parameters()` does not list it, and a `backward`
   * through the layer is refused.
   *
   * A weight that is int8 already stays as it is. Where a weight is not finite, nothing is changed. Where
   * memory runs out, the error names the weight: those before it are int8, all others float32, and the layer
   * computes with both.
   *
   * @param options groupSize: the most inputs that share a scale, an even integer; 128 by default. Groups are
   *   equally long: 150 inputs in groups of at most 128 are two of 76 and 74. With Infinity each output has
   *   one scale
   * @throws {GptLayersError} VALUE for a weight that is not finite
   * @example
   * model.quantize()
   * model.outHead.int8Weight.shape // [5, 8]
   */
  quantize(options?: { groupSize?: number }): this {
    const isSize = (n: number) => n > 0 && (n === Infinity || n % 2 === 0)
    const checks = { groupSize: number('an even positive integer, or Infinity', isSize) }
    const { groupSize } = checkOptions(options, { groupSize: GROUP_SIZE }, checks)
    const matrices = matricesOf(namedModules(this))
    const [matrix] = matrices.values()
    matrix?.int8.quantize(matrices, groupSize, `${this.constructor.name}.quantize`)
    return this
  }

  /** The tensor of this layer that may be int8, and how it is read. @internal */
  get int8Matrix(): Matrix | null {
    return null
  }

  /** Frees the parameters' gradients: `.grad` is null again, as after PyTorch's zero_grad. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.freeGradient()
  }

  /**
   * The parameters and buffers by name. As in PyTorch they are the live tensors: `clone` those that you keep.
   * A weight that `quantize` has made int8 is there, too, as the layer's `weight`: its `int8Weight` has the
   * values and scales.
   *
   * @throws {GptLayersError} VALUE where two tensors get one name, such as `headA` and `head_a`
   * @example writeFileSync('layer.safetensors', gpt.saveSafetensors(new Linear(5, 6).stateDict()))
   */
  stateDict(): Record<string, Tensor> {
    const saved: Map<string, { path: Path; tensor: Tensor }> = new Map()
    for (const [path, tensor] of tensorsIn(this)) {
      const name = nameOf(path)
      const other = saved.get(name) ?? { path, tensor }
      if (other.tensor !== tensor) {
        const given = `${name}, which ${other.path.join('.')} has`
        throw fail('VALUE', path.join('.'), 'have a name of its own in the state dict', given)
      }
      saved.set(name, other)
    }
    return Object.fromEntries([...saved].map(([name, { tensor }]) => [name, tensor]))
  }

  /**
   * Copies values into the parameters and buffers. Where a name or a shape does not fit, nothing is changed.
   *
   * Each tensor stays float32 or int8, whatever is given. A float32 tensor gets each int8 value times its
   * scale. An int8 weight gets float32 values rounded as `quantize` does, and int8 values to the bit where
   * their groups are as long as its own; otherwise their products are rounded once more.
   *
   * @param dict tensors, such as `gpt.loadSafetensors` returns, under the names of `stateDict`, of PyTorch's
   *   layer, or of a GPT that `GPTModel.fromPretrained` reads. Of a tensor with two names, one name is enough
   * @param options strict: whether a name that is missing or unknown is an error; true by default
   * @returns our names that dict lacks, and dict's that we do not know
   * @throws {GptLayersError} VALUE for a name that is missing or unknown
   */
  loadStateDict(dict: Record<string, Tensor | Int8Weight>, options?: { strict?: boolean }): LoadedKeys {
    const { strict } = checkOptions(options, { strict: true })
    return copyDict(this.stateDict(), matricesOf(namedModules(this)), checkObject('dict', dict), strict)
  }

  /**
   * The tree of layers, as PyTorch prints a module. Node's `console.log` shows it, too.
   *
   * @example String(new gpt.Linear(5, 6)) // 'Linear(in_features=5, out_features=6, bias=True)'
   */
  toString(): string {
    const inside: [string, string][] = this.ownParts().flatMap(([name, child]) =>
      child instanceof Module ? [[snakeCase(name), String(child)]] : [],
    )
    return printLayer(this.constructor.name, this.extraRepr(), inside)
  }

  /** @internal */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this)
  }

  /**
   * What `toString` writes between the brackets, as PyTorch's extra_repr. A layer of your own may define it.
   *
   * @example new gpt.LayerNorm(5).extraRepr() // '5, eps=1e-05'
   */
  extraRepr(): string {
    return ''
  }

  /**
   * Sets training mode, or with false evaluation mode, here and in the layers inside.
   *
   * @param mode true by default
   * @example model.train(false).training // false
   */
  train(mode?: boolean): this {
    const training = mode === undefined || mode
    checkBoolean('mode', training)
    for (const [, module] of modulesIn(this)) module.training = training
    return this
  }

  /**
   * Sets evaluation mode, as `train(false)`, here and in the layers inside: Dropout and Attention drop
   * nothing, and BatchNorm uses its running statistics. As in PyTorch, what `backward` needs is still kept:
   * `gpt.noGrad` ends that.
   */
  eval(): this {
    return this.train(false)
  }

  /**
   * Frees the parameters and the buffers at once. Using the layer afterwards is an error; disposing is not.
   */
  dispose(): void {
    for (const [, tensor] of tensorsIn(this)) tensor.dispose()
  }
}

/**
 * Runs the body of a layer's constructor.
 *
 * @param body returns the layer's properties, which are set here
 * @param most, inPyTorch see `construct`
 */
export function constructLayer<T extends Module>(
  layer: T,
  args: ArrayLike<unknown>,
  most: number,
  body: () => Partial<T>,
  inPyTorch?: string,
): void {
  Object.assign(layer, construct(layer.constructor, args, most, body, inPyTorch))
}

/** The properties on the way to a part of a layer: `['trfBlocks.0', 'attn']`. */
type Path = readonly string[]

/** The name in a state dict: `trf_blocks.0.attn`. */
const nameOf = (path: Path): string => path.map(snakeCase).join('.')

/**
 * A layer and every layer inside, each before the layers inside it.
 *
 * @param above the layers that contain it
 */
function modulesIn(module: Module, path: Path = [], above: readonly Module[] = []): [Path, Module][] {
  if (above.includes(module)) {
    const name = above[0].constructor.name
    throw fail('VALUE', `${name}: a layer`, 'not contain itself', `itself at ${nameOf(path)}`)
  }
  const inside = module
    .ownParts()
    .flatMap(([property, part]) =>
      part instanceof Module ? modulesIn(part, [...path, property], [...above, module]) : [],
    )
  return [[path, module], ...inside]
}

const tensorsIn = (root: Module): [Path, Tensor][] =>
  modulesIn(root).flatMap(([path, module]) =>
    module
      .ownParts()
      .flatMap<[Path, Tensor]>(([property, part]) =>
        part instanceof Module ? [] : [[[...path, property], part]],
      ),
  )

export const namedModules = (root: Module): [string, Module][] =>
  firstNames(modulesIn(root).map(([path, module]) => [nameOf(path), module]))

const namedTensors = (root: Module): [string, Tensor][] =>
  firstNames(tensorsIn(root).map(([path, tensor]) => [nameOf(path), tensor]))

/** Keeps each value once. */
export function firstNames<T>(named: [string, T][]): [string, T][] {
  const seen = new Set()
  return named.filter(([, value]) => !seen.has(value) && seen.add(value))
}

export function checkModule(name: string, value: unknown): Module {
  if (value instanceof Module) return value
  throw fail('TYPE', name, 'be a layer', describe(value))
}

/** The `forward` of every class of ours. It keeps no tensor that it gets or returns. */
const ourForwards: WeakSet<object> = new WeakSet()

/** Names a method of a class of ours. The context of `forward` is checked, also where the layer does not read it. */
function nameMethod(key: string, method: Method): Method {
  if (key !== 'forward') return namedMethod(key, method)
  /** As `named`, but for a call less: `forward` is called most. */
  const forward = function (this: Module, ...args: never[]): unknown {
    try {
      if (args[1] !== undefined) checkContext(this, args[1])
      if (args.length > 2) checkCount(args, 2)
      return method.apply(this, args)
    } catch (error) {
      throw withName(error, `${this.constructor.name}.forward`)
    }
  }
  ourForwards.add(forward)
  return forward
}

/** The options of a context that our layers know. */
const OPTIONS = ['returnWeights', 'cache', 'lastOnly']

/** The options that nobody in a layer can know: they are none of ours, and no layer in it is of the user's own. */
function unknownOptions(layer: Module, context: Context): string[] {
  const names = Object.keys(context).filter((name) => !OPTIONS.includes(name))
  if (names.length === 0) return names
  return modulesIn(layer).every(([, { forward }]) => ourForwards.has(forward)) ? names : []
}

/** An unknown option is refused, because it is nearly always misspelled. */
function checkContext(layer: Module, context: unknown): void {
  const [unknown] = unknownOptions(layer, checkObject('context', context))
  if (unknown === undefined) return
  throw fail('VALUE', 'context', `have options among ${OPTIONS.join(', ')}`, describe(unknown))
}

/**
 * Calls a layer that is a part of another one. The user may have put anything in its place.
 *
 * @param name the part's name, for errors
 * @param context may have options for a layer of the user's own elsewhere
 * @returns its output, without the weights
 * @throws {GptLayersError} TYPE where it is no layer, or its output no tensor; what its `forward` throws
 */
export function forwardPart(name: string, layer: unknown, x: Indices, context?: Context): Tensor {
  const module = checkModule(name, layer)
  if (!ourForwards.has(module.forward)) addKeeper(module)
  let known = context
  if (context && unknownOptions(module, context).length > 0) {
    const { returnWeights, cache, lastOnly } = context
    known = { returnWeights, cache, lastOnly }
  }
  const returned: Returned = module.forward(x as Tensor, known) // an Embedding takes integers, too
  return checkTensor(`${name}'s output`, asObject(returned).output)
}

/** Calls the `layers` of another one, each with the output of the one before. See `forwardPart`. */
export function forwardLayers(layers: unknown, x: Tensor, context?: Context): Tensor {
  checkArray('layers', layers, 'an array of layers')
  const calls = layers.map((layer, i) => (h: Tensor) => forwardPart(`layers[${i}]`, layer, h, context))
  return chain(x, calls)
}

/**
 * @param Class one of ours
 * @returns whether its `forward` is that of our class, and nobody listens: a layer around it may run its
 *   kernels without it
 */
export const isPlain = <T extends abstract new (...args: never[]) => Module>(
  layer: unknown,
  Class: T,
): layer is InstanceType<T> => layer instanceof Class && layer.forward === Class.prototype.forward

/** @param option the option of `forward` that needs it */
export function checkEvaluation(option: string, layer: Module): void {
  if (!layer.training) return
  throw fail('VALUE', option, 'be used in evaluation mode; call eval() first', 'training mode')
}
