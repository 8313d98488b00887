import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'

const SCRIPT = `set -eu
printf '%s' '#include <stdio.h>
int main(int count, char** arguments) { printf("ran with %s\\n", arguments[count - 1]); }' >"$1/program.c"
mkdir "$1/tree"
gcc -Os -static -s -o "$1/tree/program" "$1/program.c"
tar -C "$1/tree" -c program | docker import - "$2" >/dev/null
docker save "$2" | "$3" load -`

/** Loads an image without a shell, C library and users into the tests' cluster. */
export function makeBareImage(): string {
  const image = 'workspace-bare:test'
  const directory = mkdtempSync(join(tmpdir(), 'bare-image-'))
  try {
    execFileSync('bash', [
      '-o',
      'pipefail',
      '-c',
      SCRIPT,
      'bash',
      directory,
      image,
      join(packageRoot, 'scripts/cluster'),
    ])
  } finally {
    rmSync(directory, { recursive: true })
  }
  return image
}
