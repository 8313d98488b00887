/** Lets a program reuse what others compiled (`vitest.config.ts`): for environments with nothing else of the tester's. */
export const compileCache = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
