// Bundles the scripts of pages into `built/` next to their sources, so that a checkout serves the same as the
// package: node scripts/pages.mjs The pages of the workspace server and the supervisor have a separate build
// (vite.page.config.ts).
import { resolve } from 'node:path'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '..')
const scripts = [
  // Inlined into its page, where a script cannot be a module.
  {
    source: 'src/analyzer/query/graph/page/page.ts',
    built: 'src/analyzer/query/graph/built/page.js',
    format: 'iife',
  },
  {
    source: 'src/content/faces/http/page/page.ts',
    built: 'src/content/faces/http/built/page.js',
    format: 'esm',
  },
  {
    source: 'src/content/faces/http/page/login.ts',
    built: 'src/content/faces/http/built/login.js',
    format: 'esm',
  },
  // Published sites include it, also those that load it without `type=module`.
  {
    source: 'src/content/faces/http/page/versions.ts',
    built: 'src/content/faces/http/built/versions.js',
    format: 'iife',
  },
]
for (const { source, built, format } of scripts) {
  const bundle = await rolldown({ input: resolve(root, source), platform: 'browser' })
  await bundle.write({ file: resolve(root, built), format, codeSplitting: false })
  await bundle.close()
}
