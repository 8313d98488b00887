import type { MachineFiles } from './files/machine-files.ts'
import type { Metadata } from './files/metadata.ts'
import type { MachineRunner } from './machine-runner.ts'
import { attempt, type Report, workspaceSubject } from '../trouble.ts'

/**
 * Finishes or undoes what a server left of a VM that stopped during a rename, rewind, suspend or resume. What cannot be
 * finished now is reported, and finished before its next start or deletion.
 */
export async function finishInterrupted(
  metadata: Metadata,
  files: MachineFiles,
  runner: Pick<MachineRunner, 'killRemains' | 'unpause'>,
  hostBoot: string,
  report: Report,
): Promise<void> {
  const subject = workspaceSubject(metadata.name)
  await attempt(report, 'finish an interrupted rename', () => files.finishRename(metadata), subject)
  await attempt(report, 'finish an interrupted rewind', () => files.removeNextUpper(metadata.name), subject)
  const finish = () => finishSuspend(metadata, files, runner, hostBoot)
  await attempt(report, 'finish an interrupted suspend or resume', finish, subject)
}

/** Completes a suspend or resume: the metadata decides which of the two states the VM has. */
async function finishSuspend(
  metadata: Metadata,
  files: MachineFiles,
  runner: Pick<MachineRunner, 'killRemains' | 'unpause'>,
  hostBoot: string,
): Promise<void> {
  if ((await files.memoryBytes(metadata.name)) === undefined) return
  if (metadata.memory != null) await runner.killRemains(metadata)
  else if (metadata.run?.hostBoot === hostBoot) await runner.unpause(metadata)
  else await files.removeMemory(metadata.name)
}
