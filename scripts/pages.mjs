// Bundles the scripts of pages into `built/` next to their sources, so that a checkout serves the same as the
// package: node scripts/pages.mjs The workspace server's page has a separate build
// (src/workspace/faces/web/page/vite.config.ts).
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
  // Published sites include it, also those that load it without `type=module`.
  {
    source: 'src/content/faces/http/page/versions.ts',
    built: 'src/content/faces/http/built/versions.js',
    format: 'iife',
  },
  {
    source: 'src/supervisor/faces/web/page/page.ts',
    built: 'src/supervisor/faces/web/built/page.js',
    format: 'esm',
  },
]
for (const { source, built, format } of scripts) {
  const bundle = await rolldown({ input: resolve(root, source), platform: 'browser' })
  await bundle.write({ file: resolve(root, built), format, codeSplitting: false })
  await bundle.close()
}
