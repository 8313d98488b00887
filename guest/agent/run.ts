import { execFile } from 'node:child_process'

/** Runs a program of this machine; resolves with its output and status, 127 if it does not exist. */
export function run(
  program: string,
  argv: readonly string[],
): Promise<{ readonly status: number; readonly said: string }> {
  return new Promise((resolve) => {
    execFile(program, argv, { timeout: 60_000 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 127
      resolve({ status, said: `${stdout}${stderr}`.trim() || (error?.message ?? '') })
    })
  })
}
