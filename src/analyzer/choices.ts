/** What an option may be, in a module of its own: the command line needs it, and should not load what answers. */
export const MODES = ['auto', 'buildtool', 'jar'] as const

export const USAGE_SCOPES = ['class', 'method', 'field', 'param', 'all'] as const

/** Beside INSTANTIATION and CALL_RECEIVER, which the specification numbers before the kinds of declarations. */
const FURTHER_KINDS_IN_CODE = [
  'FIELD_READ',
  'FIELD_WRITE',
  'CAST',
  'INSTANCEOF',
  'ARRAY_CREATION',
  'CLASS_LITERAL',
  'CATCH',
  'METHOD_REFERENCE',
  'LAMBDA',
] as const

export const REFERENCE_KINDS = [
  'EXTENDS',
  'IMPLEMENTS',
  'FIELD',
  'PARAM',
  'RETURN',
  'ANNOTATION',
  'INSTANTIATION',
  'CALL_RECEIVER',
  'THROWS',
  'PERMITS',
  'RECORD_COMPONENT',
  'TYPE_PARAMETER',
  'TYPE_ARGUMENT',
  'SERVICE',
  ...FURTHER_KINDS_IN_CODE,
] as const

export const CYCLE_MEMBERS = ['class', 'package'] as const

export const GRAPH_FORMATS = ['json', 'dot', 'mermaid', 'graphml', 'html'] as const

/** The kinds of references in methods' code. */
export const KINDS_IN_CODE: ReadonlySet<(typeof REFERENCE_KINDS)[number]> = new Set([
  'INSTANTIATION',
  'CALL_RECEIVER',
  ...FURTHER_KINDS_IN_CODE,
])
