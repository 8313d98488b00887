/** Sends a signal to a process group. Does nothing if it no longer exists. */
export function endGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch {
    // Already exited.
  }
}
