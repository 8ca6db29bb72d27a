// What is checked in the documents: the links between files and to headings, the length of lines, and that the
// files which a document names in `code` exist.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import links from 'markdownlint-rule-relative-links'

const root = import.meta.dirname
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const listed = ['ls-files', '--cached', '--others', '--exclude-standard']
const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).split('\n')

/**
 * @param {string} name with a slash: a path from the root or beside the document, where * and <layer> stand for
 *   any name; or an entry of the package
 * @param {string} folder of the document
 */
function exists(name, folder) {
  if (name.startsWith('gpt-layers/')) return name.replace('gpt-layers', '.') in exports
  const pattern = name.replace(/[.+]/g, '\\$&').replace(/\*|<\w+>/g, '[^/]*')
  return ['', folder].some(
    (from) =>
      existsSync(join(root, from, name)) ||
      files.some((file) => new RegExp(`^${pattern}$`).test(relative(from, file))),
  )
}

const namedFiles = {
  names: ['named-files'],
  description: 'Files that are named should exist',
  tags: ['links'],
  parser: 'none',
  function({ name, lines }, onError) {
    const folder = dirname(relative(root, name))
    lines.forEach((line, i) => {
      for (const [, named] of line.matchAll(/`([\w.*<>/-]+\/[\w.*<>-]*)`/g)) {
        const isElsewhere = /^(?:build|dist|node_modules)\/|^\/|^\.\//.test(named) // built, or no path
        if (!isElsewhere && !exists(named, folder)) onError({ lineNumber: i + 1, detail: named })
      }
    })
  },
}

export default {
  config: {
    default: false,
    'line-length': { line_length: 110, tables: false },
    'link-fragments': true,
    'named-files': true,
    'relative-links': true,
  },
  customRules: [links, namedFiles],
  globs: ['**/*.md', '.github/*.md'],
  gitignore: true,
}
