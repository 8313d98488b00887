const warned = new Set<string>()

/** Says once, in each thread, that a slower JavaScript twin does the addon's work, and why. */
export function warnOfFallback(subject: string, reason: string): void {
  if (warned.has(subject)) return
  warned.add(subject)
  process.emitWarning(`${subject} runs in JavaScript, which is slower: ${reason}`, {
    type: 'NativeFallbackWarning',
    code: 'WORKSPACE_NATIVE_FALLBACK',
  })
}
