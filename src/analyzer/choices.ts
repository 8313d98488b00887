/**
 * Values of options. A separate module, so that the command line need not load the code that answers queries.
 */
/** How a class path is resolved. */
export const MODES = ['auto', 'buildtool', 'jar'] as const

/** Targets of annotations that a search can be limited to. */
export const USAGE_SCOPES = ['class', 'method', 'field', 'param', 'all'] as const

/**
 * Kinds of references in code besides INSTANTIATION and CALL_RECEIVER, which the specification lists before
 * the kinds in declarations.
 */
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

/** Kinds of references, in the order of `USE`. */
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
/** Kind of a reference. */
export type ReferenceKind = (typeof REFERENCE_KINDS)[number]

/** Kinds of members of a dependency cycle. */
export const CYCLE_MEMBERS = ['class', 'package'] as const

/** Things that can be on the class path several times. */
export const DUPLICATES = ['class', 'package'] as const

/** Findings about declared dependencies: declared but not used, or used but not declared. */
export const DEPENDENCY_FINDINGS = ['unused', 'undeclared'] as const

/** Output formats of the dependency graph. */
export const GRAPH_FORMATS = ['json', 'dot', 'mermaid', 'graphml', 'html'] as const

/** Kinds of references in the code of methods. */
export const KINDS_IN_CODE: ReadonlySet<ReferenceKind> = new Set([
  'INSTANTIATION',
  'CALL_RECEIVER',
  ...FURTHER_KINDS_IN_CODE,
])

/**
 * Overrides that a dispatched call reaches: `rta` (rapid type analysis) those of classes that reached code
 * creates, `cha` (class hierarchy analysis) those of all subtypes.
 */
export const ANALYSES = ['rta', 'cha'] as const
/** An analysis of dispatched calls. */
export type Analysis = (typeof ANALYSES)[number]

/** Rows of an answer about changes: entry points with tests, or methods. */
export const IMPACT_ROWS = ['entry', 'method'] as const
/** One of `IMPACT_ROWS`. */
export type ImpactRows = (typeof IMPACT_ROWS)[number]
