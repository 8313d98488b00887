/**
 * The server's memory is flat tables: little is young in V8's heap (which takes three times so many MiB), it is collected
 * when there is nothing to do and hardly while the code is loaded, and glibc is to give back what is free.
 */
export const SMALL_MEMORY = {
  flags: ['--max-semi-space-size=2', '--initial-old-space-size=64', '--expose-gc'],
  environment: { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' },
}
