/** Environment that shares the compile cache (`vitest.config.ts`), for programs that inherit nothing else. */
export const compileCache = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] }
