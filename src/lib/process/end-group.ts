/** Sends a signal to a process group. Does nothing when it no longer exists. */
export function endGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal)
  } catch {
    // It has ended by itself.
  }
}
