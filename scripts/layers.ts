// Checks the layer rules of scripts/layer-rules.ts, and that folders form no cycles (scripts/folder-rings.ts): node
// scripts/layers.ts [FOLDER]
// FOLDER contains src, workers and guest, by default the checkout. Prints one line per violation and exits 1.
import { existsSync, globSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { cruise } from 'dependency-cruiser'
import { forbidden, options } from './layer-rules.ts'
import { folderRings } from './folder-rings.ts'

process.chdir(process.argv[2] ?? resolve(import.meta.dirname, '..'))
const roots = ['src', 'workers', 'guest'].filter((root) => existsSync(root))
const { output } = await cruise(roots, { ...options, validate: true, ruleSet: { forbidden } })
if (typeof output === 'string') throw new Error('dependency-cruiser returned text instead of modules')

const cruised = new Set(output.modules.map((module) => relative('', module.source)))
// A parser that does not support the language finds no modules, and therefore no violations.
const files = globSync(roots.map((root) => `${root}/**/*.{ts,tsx}`))
const unseen = files.filter((file) => !cruised.has(file))

const lines = [
  ...unseen.map((file) => `not-cruised: ${file} was not checked by dependency-cruiser`),
  ...output.summary.violations.map(({ rule, from, to, cycle }) => {
    const way = cycle ? cycle.map((step) => step.name).join(' → ') : to
    return `${rule.name}: ${from} → ${way}`
  }),
  ...folderRings(output.modules).map((imports) => `no-folder-rings: ${imports.join(', ')}`),
]
for (const line of lines) console.error(line)
console.log(`layers: ${files.length - unseen.length} of ${files.length} modules, ${lines.length} violations`)
process.exitCode = lines.length === 0 ? 0 : 1
