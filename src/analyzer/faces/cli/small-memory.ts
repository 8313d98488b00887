/**
 * Options for a small memory footprint. Most of the server's memory is flat tables, so little in V8's heap is
 * young (a semi-space takes three times its MiB). It is collected when the server is idle and rarely while
 * code loads, and glibc returns free memory early.
 */
export const SMALL_MEMORY = {
  flags: ['--max-semi-space-size=2', '--initial-old-space-size=64', '--expose-gc'],
  environment: { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' },
}
