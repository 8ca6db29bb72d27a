// The names of norms and tokens on the page.

/** @param {string} norm the model's name for it @returns {string} */
export function nameOf(norm) {
  const [, block, which] = /^trf_blocks\.(\d+)\.(norm\d)$/.exec(norm) ?? []
  return block === undefined ? 'the final norm' : `${which} of block ${Number(block) + 1}`
}

/** @param {string} token @returns {string} a space becomes visible */
export const shown = (token) => (token === ' ' ? '␣' : token)
