import { contentSchema } from '../../src/content/config-schema.ts'
import { CONTENT_CODES } from '../../src/content/errors.ts'
import { createContentProgram } from '../../src/content/faces/cli/main.ts'
import { startContent } from '../support/content/content-server.ts'
import { referenceSuite } from '../support/check/reference-suite.ts'

referenceSuite({
  name: 'content-server',
  prefix: 'CONTENT',
  schema: contentSchema,
  codes: CONTENT_CODES,
  program: createContentProgram(),
  start: () => startContent({}, { settings: { http: { port: 0, open_metrics: true } } }),
  variables: [
    'XDG_DATA_HOME',
    'PUBLIC_URL',
    'CONTENT_SERVER_URL',
    'CONTENT_SERVER_TOKEN',
    'CONTENT_SERVER_TOKEN_FILE',
  ],
})
