const warned = new Set<string>()

/** Warns once per thread that a slower JavaScript fallback replaces the addon, and why. */
export function warnOfFallback(subject: string, reason: string): void {
  if (warned.has(subject)) return
  warned.add(subject)
  process.emitWarning(`${subject} runs in JavaScript, which is slower: ${reason}`, {
    type: 'NativeFallbackWarning',
    code: 'WORKSPACE_NATIVE_FALLBACK',
  })
}
