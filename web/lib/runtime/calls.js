/** @import { Disposable, Memory } from './memory.js' */

/** Calls have numbers, not references: a layer that is kept alone must not keep the model that called it. */
let count = 0

/**
 * One call of a layer's `forward`, with what it keeps for `backward`. `backward` may follow while the call is
 * live: once, and only where nothing has replaced the call since.
 */
export class Call {
  /** @param {Call | null} parent the call that made this one */
  constructor(parent) {
    this.id = ++count
    this.parentId = parent === null ? 0 : parent.id
    /** Whether `backward` may follow. */
    this.live = true
    /** The tensors that `backward` needs. @type {Record<string, Disposable> | null} */
    this.saved = null
    /** The calls made inside this one. @type {Call[] | null} */
    this.inside = null
    if (parent === null) return
    if (parent.inside === null) parent.inside = [this]
    else parent.inside.push(this)
  }

  /** Whether `backward` has followed some of the calls inside, but not this one. */
  get halfDone() {
    return this.inside !== null && this.inside.some((call) => !call.live)
  }

  /** Frees the tensors that are kept. */
  release() {
    if (this.saved === null) return
    for (const tensor of Object.values(this.saved)) tensor.dispose()
    this.saved = null
  }

  /** Frees the tensors that this call and those inside keep. No `backward` may follow any more. */
  end() {
    this.release()
    this.live = false
    if (this.inside === null) return
    for (const call of this.inside) call.end()
    this.inside = null
  }
}

/**
 * Which layer's `forward` or `backward` runs at the moment, and what puts things back if it fails. There is
 * one of these for each instance.
 */
export class Calls {
  /** @type {Memory} */ #memory
  /** The scopes that were open when the outermost layer began. */ #depth = 0
  /** What puts back the changes that the outermost layer has made. @type {(() => void)[]} */ #undo = []

  /** The innermost layer that runs, or null. @type {object | null} */
  owner = null
  /** Its call; while `backward` runs, the call of `forward` that it belongs to. @type {Call | null} */
  current = null
  /** The gradients that the open backward has computed; see gradients.js. @type {Map<any, any> | null} */
  gradients = null
  /** The number of the outermost layer's call. */
  outermost = 0
  /** Whether a listener runs, within another outermost layer. */
  listening = false

  /** @param {Memory} memory */
  constructor(memory) {
    this.#memory = memory
  }

  /**
   * Begins a layer's `forward` or `backward`. `leave`, with the owner and the call of before, ends it.
   *
   * @param {object} owner the layer
   * @param {Call | null} call
   */
  enter(owner, call) {
    if (this.owner === null) {
      this.#depth = this.#memory.depth
      this.outermost = ++count
    }
    this.owner = owner
    this.current = call
  }

  /** @param {object | null} owner the layer around @param {Call | null} call its call */
  leave(owner, call) {
    this.owner = owner
    this.current = call
    if (owner === null && this.#undo.length > 0) this.#undo.length = 0
  }

  /**
   * Says how to put something back if the outermost layer fails: before its first change.
   *
   * @param {() => void} undo cannot fail
   */
  onFailure(undo) {
    if (this.owner !== null) this.#undo.push(undo)
  }

  /** Puts back the changes of a layer that has failed, where it is the outermost one. */
  fail() {
    for (const undo of this.#undo.reverse()) undo()
  }

  /**
   * Runs a listener as if the caller of the outermost layer ran it: the tensors that it makes belong to the
   * caller's scope, and a `forward` that it calls is no part of the one that it listens to.
   *
   * @param {() => void} fn
   */
  outside(fn) {
    const { owner, current, gradients, outermost, listening } = this
    const [depth, undo] = [this.#depth, this.#undo]
    this.owner = null
    this.current = null
    this.gradients = null
    this.listening = true
    this.#undo = []
    try {
      this.#memory.outside(depth, fn)
    } finally {
      this.owner = owner
      this.current = current
      this.gradients = gradients
      this.outermost = outermost
      this.listening = listening
      this.#depth = depth
      this.#undo = undo
    }
  }
}
