// The layers (ARCHITECTURE.md), one sentence per rule. scripts/layers.ts runs them, and test/check/layers.test.ts
// shows that each of them detects a violation in test/fixtures/layers.
import type { ICruiseOptions, IForbiddenRuleType } from 'dependency-cruiser'

const programs = 'workspace|supervisor|content|analyzer'
/** Executables, and each program as a library: external users import these, internal code imports their parts. */
const entries = `^(?:(?:src/bin|workers|guest)/|src/(?:${programs})/index\\.ts$)`
const guestMayUse = [
  '^guest/',
  '^src/native/',
  '^src/lib/(clock|connection|envelope|errors|guest|log|mux|process)/',
]

/** @param homes locations where the packages may be imported */
function onlyIn(name: string, packages: string, homes: string[]): IForbiddenRuleType {
  return {
    name,
    severity: 'error',
    from: { pathNot: homes },
    to: { path: `node_modules/(@types/)?(${packages})/` },
  }
}

const faces = `^src/(${programs})/faces/`

/** Imports that the layers forbid. */
export const forbidden: IForbiddenRuleType[] = [
  {
    name: 'native-imports-nothing-of-src',
    severity: 'error',
    from: { path: '^src/native/' },
    to: { path: '^(src|workers|guest)/', pathNot: '^src/native/' },
  },
  {
    name: 'lib-imports-no-program',
    severity: 'error',
    from: { path: '^src/lib/' },
    to: { path: `^src/(${programs})/` },
  },
  {
    name: 'programs-are-strangers',
    severity: 'error',
    from: { path: `^src/(${programs})/` },
    to: { path: `^src/(${programs})/`, pathNot: '^src/$1/' },
  },
  {
    name: 'subjects-know-no-face',
    comment:
      'A subject, including its config and codes, imports neither the API nor the faces of its program.',
    severity: 'error',
    from: { path: `^src/(${programs})/(?!api/|client/|faces/|(?:index|server)\\.ts$)` },
    to: { path: '^src/$1/(api|faces)/' },
  },
  {
    name: 'clients-know-the-api-alone',
    comment: 'A client of a server shares the schemas of its API, but nothing of its implementation.',
    severity: 'error',
    from: { path: `^src/(${programs})/client/` },
    to: { path: '^src/$1/faces/' },
  },
  {
    name: 'servers-are-put-together-once',
    comment: 'Only a program’s command line and its library import the module that assembles it.',
    severity: 'error',
    from: { path: '^src/', pathNot: `^src/(?:${programs})/(?:index\\.ts$|faces/cli/)` },
    to: { path: `^src/(?:${programs})/server\\.ts$` },
  },
  {
    name: 'faces-are-strangers',
    severity: 'error',
    from: { path: `${faces}([^/]+)/` },
    to: { path: '^src/$1/faces/', pathNot: '^src/$1/faces/$2/' },
  },
  onlyIn('fastify-only-in-faces', 'fastify|@fastify/[^/]+', [faces, '^src/lib/http/']),
  onlyIn('ssh2-only-in-its-room', 'ssh2', ['^src/lib/ssh/']),
  {
    name: 'ssh-only-in-faces',
    severity: 'error',
    from: { pathNot: [faces, '^src/lib/ssh/'] },
    to: { path: '^src/lib/ssh/ssh2\\.ts$' },
  },
  onlyIn('commander-only-in-faces', 'commander', [faces, '^src/lib/cli/']),
  onlyIn('dockerode-only-in-its-backend', 'dockerode', ['^src/workspace/backend/docker/']),
  {
    name: 'guest-imports-little',
    comment:
      'Code that runs inside a VM is copied into it: it imports no packages, and only these parts of src.',
    severity: 'error',
    from: { path: '^guest/' },
    to: { pathNot: guestMayUse, dependencyTypesNot: ['core'] },
  },
  {
    name: 'nobody-imports-an-entry',
    comment: 'Modules of the guest may import each other; the rule above allows the rest.',
    severity: 'error',
    from: { pathNot: '^guest/' },
    to: { path: entries },
  },
  { name: 'no-rings', severity: 'error', from: {}, to: { circular: true } },
  {
    name: 'imports-resolve',
    comment: 'An import that cannot be resolved cannot be checked.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
]

/** Options of dependency-cruiser. */
export const options: ICruiseOptions = {
  // dependency-cruiser cannot parse TypeScript 7: without swc it finds no module and passes.
  parser: 'swc',
  // Type-only imports couple folders just as well.
  tsPreCompilationDeps: true,
  doNotFollow: { path: 'node_modules' },
  // Generated from the pages.
  exclude: { path: '^src/.*/built/' },
  enhancedResolveOptions: {
    extensions: ['.ts', '.mjs', '.js', '.json'],
    exportsFields: ['exports'],
    conditionNames: ['node', 'import', 'types', 'default'],
  },
}
