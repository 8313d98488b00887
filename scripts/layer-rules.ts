// The layers (ARCHITECTURE.md), one rule a sentence. scripts/layers.ts runs them, and test/check/layers.test.ts
// shows each of them firing on test/fixtures/layers.
import type { ICruiseOptions, IForbiddenRuleType } from 'dependency-cruiser'

const programs = 'workspace|supervisor|content|analyzer'
/** Executables, and each program as a library: for others, while inside their parts are imported. */
const entries = `^(?:(?:src/bin|workers|guest)/|src/(?:${programs})/index\\.ts$)`
const guestMayUse = ['^guest/', '^src/native/', '^src/lib/(clock|envelope|errors|guest|log|mux|process)/']

/** @param homes where the packages may be named */
function onlyIn(name: string, packages: string, homes: string[]): IForbiddenRuleType {
  return {
    name,
    severity: 'error',
    from: { pathNot: homes },
    to: { path: `node_modules/(@types/)?(${packages})/` },
  }
}

const faces = `^src/(${programs})/faces/`

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
      'A subject imports neither the api nor the faces of its program; nor do its config and its codes.',
    severity: 'error',
    from: { path: `^src/(${programs})/(?!api/|client/|faces/|(?:index|server)\\.ts$)` },
    to: { path: '^src/$1/(api|faces)/' },
  },
  {
    name: 'clients-know-the-api-alone',
    comment: 'What speaks to a server shares the shapes of its API and nothing else that serves them.',
    severity: 'error',
    from: { path: `^src/(${programs})/client/` },
    to: { path: '^src/$1/faces/' },
  },
  {
    name: 'servers-are-put-together-once',
    comment: 'What knows every part of a program is known to its command line and its library alone.',
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
    comment: 'What runs inside a VM is copied into it: no packages, and of src only what is named here.',
    severity: 'error',
    from: { path: '^guest/' },
    to: { pathNot: guestMayUse, dependencyTypesNot: ['core'] },
  },
  {
    name: 'nobody-imports-an-entry',
    comment: 'Modules of the guest may import each other; the rest of what they may is the rule above.',
    severity: 'error',
    from: { pathNot: '^guest/' },
    to: { path: entries },
  },
  { name: 'no-rings', severity: 'error', from: {}, to: { circular: true } },
  {
    name: 'imports-resolve',
    comment: 'What is not found is not checked either.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true },
  },
]

export const options: ICruiseOptions = {
  // dependency-cruiser reads no TypeScript 7: without swc it sees no module, and passes.
  parser: 'swc',
  // Imports of types alone bind folders to each other just as well.
  tsPreCompilationDeps: true,
  doNotFollow: { path: 'node_modules' },
  // What the build made of the pages.
  exclude: { path: '^src/.*/built/' },
  enhancedResolveOptions: {
    extensions: ['.ts', '.mjs', '.js', '.json'],
    exportsFields: ['exports'],
    conditionNames: ['node', 'import', 'types', 'default'],
  },
}
