import type { MachineFiles } from './files/machine-files.ts'
import type { Metadata } from './files/metadata.ts'
import type { MachineRunner } from './machine-runner.ts'

/**
 * Finishes or undoes what a server left of a VM that stopped during a rename, rewind, suspend or resume. What cannot be
 * finished now is finished before its next start or deletion.
 */
export async function finishInterrupted(
  metadata: Metadata,
  files: MachineFiles,
  runner: Pick<MachineRunner, 'killRemains' | 'unpause'>,
  hostBoot: string,
): Promise<void> {
  await files.finishRename(metadata).catch(() => undefined)
  await files.removeNextUpper(metadata.name).catch(() => undefined)
  await finishSuspend(metadata, files, runner, hostBoot).catch(() => undefined)
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
