import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unsetVariables } from '../../../src/supervisor/config-file/unset-variables.ts'
import { loadSupervisorConfig } from '../../../src/supervisor/index.ts'
import { tempDir } from '../../support/temp-dir.ts'

function unset(process: string, file = 'supervisor.yaml'): readonly string[] {
  const dir = tempDir()
  writeFileSync(join(dir, '.env'), 'FROM_FILE=1\n')
  writeFileSync(join(dir, file), `processes: {web: ${process}}\n`)
  const environment = { HOME: dir, SET: 'x' }
  const { config } = loadSupervisorConfig(environment, { cwd: dir })
  return unsetVariables(config.processes, environment)
}

test.each([
  ['{cmd: [serve, $NOT, "a${NOT2}b", $SET]}', ['cmd $NOT', 'cmd $NOT2']],
  ['{cmd: "serve $NOT $NOT ${SET} $HOME"}', ['cmd $NOT']],
  ['{cmd: x, env: {A: "$NOT", B: "$SET", C: "$A"}}', ['env.A $NOT']],
  ['{cmd: x, stop_command: "end $NOT", replicas: 2}', ['stop_command $NOT']],
  ['{cmd: x, healthcheck: {exec: "ask $NOT"}}', ['healthcheck.exec $NOT']],
  // Set elsewhere, with a default, or not read as a variable.
  ['{cmd: "serve $FROM_FILE $OWN", env_file: .env, env: {OWN: 1}}', []],
  ['{cmd: "serve $PORT $PWD $SUPERVISOR_PROCESS $1 $? $$ $(date)"}', []],
  ['{cmd: "${NOT:-a} ${NOT-b} ${NOT:=c} ${NOT:?d} ${NOT:+e}"}', []],
  ['{cmd: "for each in a b; do echo $each; done; NEW=1; read -r LINE; echo $NEW ${LINE}"}', []],
  [`{cmd: "awk '{print $NOT}' x; echo \\\\$NOT"}`, []],
  ['{cmd: [awk, "{print $$NOT}"]}', []],
])('config check did not list unset variables: %s', (process, expected) =>
  expect(unset(process)).toEqual(
    expected.map((each) => {
      const [key = '', name = ''] = each.split(' ')
      return `"processes.web.${key}" uses ${name}, which is not set here`
    }),
  ),
)

test('variables of a process-compose file are resolved by its own rules', () =>
  expect(unset('{command: "echo $NOT $$LATER"}', 'process-compose.yaml')).toEqual([]))
