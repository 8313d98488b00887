/** Resolves with the first termination signal; a second one exits immediately. */
export function untilStopSignal(onSecond: () => void = () => process.exit(1)): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isSignaled = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (isSignaled) onSecond()
        isSignaled = true
        resolve(signal)
      })
    }
  })
}
