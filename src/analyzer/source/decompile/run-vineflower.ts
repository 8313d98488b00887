import { join } from 'node:path'
import { run } from '../../../lib/process/run.ts'
import { confined, confinedEnvironment } from '../../../lib/sandbox/confine.ts'
import { vineflowerConfinement } from '../../confinement.ts'
import { VINEFLOWER_OPTIONS, type VineflowerCommand } from './decompile-protocol.ts'
import { GIVEN_ARCHIVE, TEXT_ARCHIVE } from './vineflower-archives.ts'

/**
 * Decompiles the archive of a folder into another by a Vineflower jar on a JVM, which reaches that folder and nothing else of the user's. Class files are given in
 * an archive, and the text comes in one, so that no name in a class file becomes a path.
 *
 * @returns why there is no text, as a sentence; undefined when it ended well
 * @throws the system's error when the JVM cannot be started
 */
export async function runVineflower(
  { home, jar, memoryMb, timeoutMs }: VineflowerCommand,
  folder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = Object.entries(VINEFLOWER_OPTIONS).map(([name, value]) => `--${name}=${value}`)
  const [given, out] = [join(folder, GIVEN_ARCHIVE), join(folder, TEXT_ARCHIVE)]
  // Counters of its own in a shared folder, which it cannot reach.
  const jvm = [`-Xmx${memoryMb}m`, '-XX:-UsePerfData', `-Djava.io.tmpdir=${folder}`]
  const argv = [...jvm, '-jar', jar, '--silent', ...options, given, out]
  const limits = { memoryLimitBytes: memoryMb * 2 ** 20, timeLimitMs: timeoutMs }
  const confinement = vineflowerConfinement({ home, jar }, folder, limits)
  const [command, ...rest] = confined(join(home, 'bin/java'), argv, confinement)
  const environment = confinedEnvironment()
  const { status, stderr } = await run(command, rest, { timeoutMs, signal, cwd: folder, environment })
  if (status === null) return `Vineflower took longer than ${timeoutMs / 1_000} s, or more than its limits`
  return status === 0 ? undefined : `Vineflower ended with status ${status}: ${stderr.trim().slice(0, 500)}`
}
