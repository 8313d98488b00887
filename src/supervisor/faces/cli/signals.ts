/** Resolves with the first signal that asks for the end; a second one ends this process at once. */
export function untilToldToStop(onSecond: () => void = () => process.exit(1)): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isTold = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (isTold) onSecond()
        isTold = true
        resolve(signal)
      })
    }
  })
}
