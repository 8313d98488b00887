import { expect, test } from 'vitest'
import { describePastExit } from '../../../src/supervisor/diagnosis/describe-exit.ts'
import { processSpec } from '../../support/supervisor/process-spec.ts'

const exited = { code: undefined, signal: undefined }

test.each([
  [{ ...exited, code: 1 }, false, {}, 'exited with status 1'],
  [{ ...exited, code: 0 }, true, {}, 'exited with status 0 on request'],
  [exited, false, {}, 'exited with an unknown status'],
  [{ ...exited, code: 127 }, false, {}, 'exited with status 127 (the shell did not find the command)'],
  [{ ...exited, code: 127 }, false, { command: ['x'] }, 'exited with status 127'],
  [{ ...exited, code: 139 }, false, {}, 'exited with status 139 (SIGSEGV killed the command in the shell)'],
  [{ ...exited, code: 255 }, false, {}, 'exited with status 255'],
  [{ ...exited, signal: 'SIGTERM' }, true, {}, 'stopped by SIGTERM on request'],
  // A guess is not a fact: without the kernel's count, nobody knows who sent SIGKILL.
  [{ ...exited, signal: 'SIGKILL' }, false, { memoryBytes: 1 }, 'killed by SIGKILL'],
  [
    { ...exited, signal: 'SIGKILL', isOutOfMemory: true },
    false,
    { memoryBytes: 1 },
    'killed by SIGKILL: the kernel killed it because it exceeded limits.memory',
  ],
  [
    { ...exited, signal: 'SIGKILL', isOutOfMemory: true },
    false,
    {},
    'killed by SIGKILL: the kernel killed it because memory ran out',
  ],
  [{ ...exited, failure: 'cannot be started' }, false, {}, 'cannot be started'],
] as const)(
  'the exit %j, requested %s, with the settings %j is described as %s',
  (exit, isRequested, more, text) => {
    expect(describePastExit({ atMs: 0, exit, uptimeMs: 0, isRequested }, processSpec('web', more))).toBe(text)
  },
)
