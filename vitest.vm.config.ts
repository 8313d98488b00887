import { defineConfig } from 'vitest/config'
import everyday from './vitest.config.ts'

/** The suites that make images and boot virtual machines: `npm run test:vm`. */
export default defineConfig({
  test: {
    ...everyday.test,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    include: ['test/vm/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/vm-parts.ts', 'test/support/vm-image-setup.ts'],
  },
})
