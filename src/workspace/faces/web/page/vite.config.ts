import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Builds the page into `built/`, which the server serves unchanged: `vite build --config FILE`. */
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
    // The content security policy forbids inline scripts, and all target browsers preload modules natively.
    modulePreload: { polyfill: false },
    // Assets are never inlined as data: URLs.
    assetsInlineLimit: 0,
    // Licenses of the bundled packages, shipped next to the page.
    license: { fileName: 'licenses.md' },
  },
})
