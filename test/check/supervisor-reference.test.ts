import { supervisorSchema } from '../../src/supervisor/config-schema.ts'
import { SUPERVISOR_CODES } from '../../src/supervisor/errors.ts'
import { createSupervisorProgram } from '../../src/supervisor/faces/cli/main.ts'
import { referenceSuite } from '../support/check/reference-suite.ts'
import { startSupervisor } from '../support/supervisor/supervisor.ts'

referenceSuite({
  name: 'supervisor',
  prefix: 'SUPERVISOR',
  schema: supervisorSchema,
  codes: SUPERVISOR_CODES,
  program: createSupervisorProgram(),
  start: () => startSupervisor({}),
  variables: [
    'COMPOSE_SHELL',
    ...['', '_EXIT', '_PID', '_PROCESS', '_REASON', '_RESTARTS', '_STATUS'].map(
      (each) => `SUPERVISOR_EVENT${each}`,
    ),
    'SUPERVISOR_INSTANCE',
    'SUPERVISOR_PROCESS',
    'SUPERVISOR_URL',
    'NOTIFY_SOCKET',
    'NO_COLOR',
  ],
})
