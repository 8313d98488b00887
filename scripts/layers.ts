// Proves the layer rules of scripts/layer-rules.ts, and that no folders need each other (scripts/folder-rings.ts): node scripts/layers.ts [FOLDER]
// FOLDER holds src, workers and guest, and is the checkout unless named. Prints one line a violation and exits 1.
import { existsSync, globSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { cruise } from 'dependency-cruiser'
import { forbidden, options } from './layer-rules.ts'
import { folderRings } from './folder-rings.ts'

process.chdir(process.argv[2] ?? resolve(import.meta.dirname, '..'))
const roots = ['src', 'workers', 'guest'].filter((root) => existsSync(root))
const { output } = await cruise(roots, { ...options, validate: true, ruleSet: { forbidden } })
if (typeof output === 'string') throw new Error('dependency-cruiser answered with text, not with modules')

const cruised = new Set(output.modules.map((module) => relative('', module.source)))
// A parser that does not know the language finds no module, hence no violation either.
const files = globSync(roots.map((root) => `${root}/**/*.{ts,tsx}`))
const unseen = files.filter((file) => !cruised.has(file))

const lines = [
  ...unseen.map((file) => `not-cruised: ${file} was not seen by dependency-cruiser`),
  ...output.summary.violations.map(({ rule, from, to, cycle }) => {
    const way = cycle ? cycle.map((step) => step.name).join(' → ') : to
    return `${rule.name}: ${from} → ${way}`
  }),
  ...folderRings(output.modules).map((imports) => `no-folder-rings: ${imports.join(', ')}`),
]
for (const line of lines) console.error(line)
console.log(`layers: ${files.length - unseen.length} of ${files.length} modules, ${lines.length} violations`)
process.exitCode = lines.length === 0 ? 0 : 1
