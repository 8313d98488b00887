import { defineConfig } from 'vite'

/** Builds the page of a server into `built/` beside it, which the server serves unchanged: `vite build PAGE --config FILE`. */
export default defineConfig({
  base: '/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    // Beside the page's folder.
    outDir: '../built',
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
