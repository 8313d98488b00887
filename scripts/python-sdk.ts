// Generates the types and the synchronous client of sdk/python: node scripts/python-sdk.ts DESCRIPTION
// DESCRIPTION is a file with the OpenAPI description of a running server, GET /openapi.json. A test compares the results.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Description, synchronousOf, typesOf } from './python-sdk/types-of.ts'

const folder = join(import.meta.dirname, '../sdk/python/src/workspace_suite')
const description = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Description
writeFileSync(join(folder, '_types.py'), typesOf(description))
writeFileSync(join(folder, '_sync.py'), synchronousOf(readFileSync(join(folder, '_async.py'), 'utf8')))
