import type { ExecProcess, LoginEnvironment } from '../backend.ts'
import { readProgram } from '../read-program.ts'

/** Reads the user's entry in /etc/passwd with nothing but a POSIX shell, which is all an image must have. */
const SCRIPT = `
user=$(id -un 2>/dev/null || id -u); home=\${HOME:-/}; shell=/bin/sh
while IFS=: read -r name _ _ _ _ dir login; do
  if [ "$name" = "$user" ]; then home=$dir; shell=$login; fi
done </etc/passwd
printf '%s\\n%s\\n%s\\n' "$user" "$home" "$shell"`

/** Asks a workspace who its user is and how they log in. */
export async function readLoginEnvironment(
  exec: (argv: readonly string[]) => Promise<ExecProcess>,
): Promise<LoginEnvironment> {
  const { stdout } = await readProgram(await exec(['/bin/sh', '-c', SCRIPT]))
  const [user, home, login] = stdout.split('\n')
  return {
    user: user || 'root',
    home: home || '/',
    shell: login === undefined || login === '' || login.endsWith('nologin') ? '/bin/sh' : login,
  }
}
