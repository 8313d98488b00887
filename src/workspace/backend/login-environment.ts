import type { ExecProcess, LoginEnvironment } from './backend.ts'
import { readProgram } from './read-program.ts'

/** Reads the user's entry in /etc/passwd with nothing but a POSIX shell, which is all an image must have. */
const SCRIPT = `
user=$(id -un 2>/dev/null || id -u); number=$user; home=\${HOME:-/}; shell=/bin/sh
while IFS=: read -r name _ uid _ _ dir login; do
  if [ "$name" = "$user" ]; then number=$uid; home=$dir; shell=$login; fi
done </etc/passwd
printf '%s\\n%s\\n%s\\n%s\\n' "$user" "$number" "$home" "$shell"`

/** Asks a workspace who its user is and how they log in. */
export async function readLoginEnvironment(
  exec: (argv: readonly string[]) => Promise<ExecProcess>,
): Promise<LoginEnvironment> {
  const { stdout } = await readProgram(await exec(['/bin/sh', '-c', SCRIPT]))
  const [user, number, home, login] = stdout.split('\n')
  return {
    user: user || 'root',
    userId: Number(number || 0),
    home: home || '/',
    shell: login === undefined || login === '' || login.endsWith('nologin') ? '/bin/sh' : login,
  }
}
