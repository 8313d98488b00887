import { readFileSync } from 'node:fs'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'

const require = createRequire(import.meta.url)

/**
 * Loads a module of ssh2 1.17.0 with one text replaced, before anything else loads it, as dockerode does. For what cannot be
 * configured; the version is pinned, and tests fail if a text is no longer there.
 *
 * @param names values that the replacement may use, by name
 * @throws Error when the module does not contain the text
 */
export function patchSsh2(
  path: string,
  text: string,
  replacement: string,
  names: Readonly<Record<string, unknown>> = {},
): void {
  const file = require.resolve(path)
  const source = readFileSync(file, 'utf8')
  if (!source.includes(text)) throw new Error(`${path} does not contain ${text}`)
  const owner = new Module(file)
  owner.filename = file
  require.cache[file] = owner
  const scope = {
    module: owner,
    exports: owner.exports,
    require: createRequire(file),
    __filename: file,
    __dirname: dirname(file),
    ...names,
  }
  const run = compileFunction(source.replace(text, replacement), Object.keys(scope), { filename: file })
  run(...Object.values(scope))
  owner.loaded = true
}
