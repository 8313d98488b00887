/** Exits without an error on a signal, or when the reader of standard output closes it, as `head` does. */
export function exitOnSignal(): void {
  process.stdout.on('error', () => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
}
