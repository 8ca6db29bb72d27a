// The table of environments in web/lib/README.md, made from results.json.

/**
 * What the application did in one environment.
 *
 * @typedef {object} Row
 * @property {string} kind
 * @property {string} title
 * @property {string} tool see Environment
 * @property {string} version '' where there is none
 * @property {string} needs what a user must do, in Markdown; '' for nothing
 * @property {number | null} threads of the two that were asked for; null where nothing runs
 * @property {string | null} reason why there is one thread; null where there are two
 */

/** @param {{ title: string, tool: string }} environment @returns {string} its name, which no other one has */
export const nameOf = ({ title, tool }) => (tool ? `${title} (${tool})` : title)

/**
 * @param {readonly { title: string, tool: string }[]} environments
 * @param {readonly Row[]} before the results so far
 * @param {ReadonlyMap<string, Row | null>} tried by name, what came of the environments that were tried; null
 *   for one that failed
 * @returns {Row[]} a row for each environment that works, as far as it was ever tried
 */
export function updated(environments, before, tried) {
  const rows = new Map([...before.map((row) => /** @type {const} */ ([nameOf(row), row])), ...tried])
  return environments.flatMap((environment) => rows.get(nameOf(environment)) ?? [])
}

/**
 * The environments of one kind with the same result and needs stand in one line; of one tool, its versions.
 *
 * @param {readonly Row[]} rows
 * @returns {string} Markdown
 */
export function tableOf(rows) {
  const header =
    '| | environment | threads | what it needs, or why it has one thread |\n| --- | --- | ---: | --- |\n'
  const resultOf = (/** @type {Row} */ { threads, needs, reason }) =>
    `${threads ?? ''} | ${needs || reason || 'nothing'}`
  const lines = [...group(rows, (row) => `${row.kind}${resultOf(row)}`).values()].map((members) => {
    const tools = [...group(members, ({ title }) => title)].map(([title, same]) =>
      `${title} ${same.map(({ version }) => shorten(version)).join(', ')}`.trim(),
    )
    return `| ${members[0].kind} | ${tools.join('; ')} | ${resultOf(members[0])} |\n`
  })
  return header + lines.join('')
}

/** @param {string} version @returns {string} without the last of its numbers */
const shorten = (version) => version.split('.').slice(0, 2).join('.')

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => string} key
 * @returns {Map<string, T[]>} in the order of the first items
 */
function group(items, key) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item])
  return groups
}
