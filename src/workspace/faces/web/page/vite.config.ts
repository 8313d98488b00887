import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the page into `built/`, which the server sends as it is: `vite build --config FILE`. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(import.meta.dirname, '../built'),
    emptyOutDir: true,
    target: 'es2022',
    // The page's policy runs no inline script, and every browser of that target preloads modules by itself.
    modulePreload: { polyfill: false },
    // Nothing becomes a data: URL but what the page itself writes as one.
    assetsInlineLimit: 0,
    // What is bundled keeps its authors' names, beside the page and with it in the package.
    license: { fileName: 'licenses.md' },
  },
})
