/**
 * Seed of generated input. It is the same in each run, so that a test fails only for a change; `npm run test:all` sets the
 * variable to another number each time and prints it. A seed that fails there becomes a fixed case of its test.
 */
export const SEED = Number(process.env['SEED'] ?? 20_261_128)
