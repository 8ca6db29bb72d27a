// What the tests of GPT-2's block and model share.

/**
 * The parameters as tests/golden/gptmodel.py's `shake` makes them: those of one axis drawn anew, attention's times 16.
 *
 * @param {Gpt} gpt
 * @param {Module} module
 */
export function shake(gpt, module) {
  for (const [name, parameter] of module.namedParameters()) {
    if (parameter.shape.length === 1)
      parameter.data.set(gpt.scope(() => gpt.randn(parameter.shape).data.slice()))
    else if (name.includes('attn')) parameter.data.set(parameter.data.map((value) => 16 * value))
  }
  return module
}
