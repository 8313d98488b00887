import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Returns the program that opens URLs on this machine's desktop; undefined without a desktop. */
export function urlOpener(environment: NodeJS.ProcessEnv): string | undefined {
  if (process.platform === 'darwin') return 'open'
  const hasDisplay = Boolean(environment['DISPLAY'] ?? environment['WAYLAND_DISPLAY'])
  return hasDisplay ? 'xdg-open' : undefined
}

/** Starts a desktop program that outlives this one; returns false if it cannot be started. */
export async function startDetached(program: string, argv: readonly string[]): Promise<boolean> {
  const child = spawn(program, argv, { detached: true, stdio: 'ignore' })
  try {
    await once(child, 'spawn')
  } catch {
    return false
  }
  child.unref()
  return true
}
