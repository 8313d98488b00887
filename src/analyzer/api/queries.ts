import { CYCLE_MEMBERS, GRAPH_FORMATS, REFERENCE_KINDS, USAGE_SCOPES } from '../choices.ts'
import { SOURCE_FORMATS } from '../source/java/source-format.ts'
import { SHOWN_LANGUAGES } from '../source/archive/source-text.ts'
import { VISIBILITIES } from '../source/java/visibility.ts'

/** A parameter of a question, as JSON Schema describes it. */
export interface ParameterSchema {
  readonly type: 'string' | 'boolean' | 'integer'
  readonly description: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

interface Subject {
  readonly key: string
  readonly description: string
}

export interface Question {
  /** Below `/api/v1`; what the question is about, where it is about one thing, stands in it as `:name`, a part of that by its key. */
  readonly path: string
  readonly summary: string
  /** What `:name` is. */
  readonly about?: Subject
  readonly part?: Subject
  readonly parameters: Readonly<Record<string, ParameterSchema>>
}

const text = (description: string): ParameterSchema => ({ type: 'string', description })
const flag = (description: string): ParameterSchema => ({ type: 'boolean', description })
const word = (words: readonly string[], description: string): ParameterSchema => ({
  type: 'string',
  enum: words,
  description,
})

const includeLibraries = flag('also classes of libraries and of the JDK; default false')
const paging = {
  page: { type: 'integer', minimum: 0, description: 'which page, from 0; default 0' },
  size: { type: 'integer', minimum: 1, maximum: 10_000, description: 'how many on a page; default 50' },
} as const satisfies Readonly<Record<string, ParameterSchema>>

const decompiling = {
  allowDecompilation: {
    type: 'boolean',
    description: 'whether a class without source is decompiled; default true',
  },
  forceRefresh: flag('decompiles again what has been decompiled before; default false'),
} as const satisfies Readonly<Record<string, ParameterSchema>>

const aboutClass = {
  key: 'fqn',
  description:
    'name of a class, for example java.util.Map, or Map where only one has that name; Map.Entry and Map$Entry both name a nested one',
}

/**
 * Every question that a project's server answers. Its routes, their parameters in the OpenAPI description, and the tools
 * of `analyzer mcp` are made of this table.
 */
const QUERIES = {
  stats: { path: '/stats', summary: 'How much there is', parameters: {} },
  classes_list: {
    path: '/classes',
    summary: 'Classes that pass a filter',
    parameters: {
      package: text('pattern for the package; * stands for any text'),
      name: text('pattern for the simple name; * stands for any text'),
      annotation: text('only those that carry this annotation'),
      extends: text('only those below this class'),
      implements: text('only those below this interface'),
      interfaces: flag('only interfaces; default false'),
      includeLibraries,
      ...paging,
    },
  },
  class_show: {
    path: '/classes/:name',
    summary: 'One class with its members',
    about: aboutClass,
    parameters: {},
  },
  implementations: {
    path: '/implementations/:name',
    summary: 'What extends or implements a type',
    about: aboutClass,
    parameters: { includeLibraries },
  },
  hierarchy: {
    path: '/hierarchy/:name',
    summary: 'What is above and below a type',
    about: aboutClass,
    parameters: {},
  },
  dependencies: {
    path: '/dependencies/:name',
    summary: 'What a class needs and what needs it',
    about: aboutClass,
    parameters: { includeLibraries },
  },
  annotation_usages: {
    path: '/annotations/usages/:name',
    summary: 'Where an annotation stands, or one that carries it',
    about: { key: 'fqn', description: 'full name of the annotation' },
    parameters: {
      scope: word(USAGE_SCOPES, 'on what it stands; default all'),
      direct: flag('leaves out annotations that only carry the one asked for; default false'),
      includeLibraries,
      ...paging,
    },
  },
  methods_search: {
    path: '/methods',
    summary: 'Methods that pass a filter',
    parameters: {
      name: text('pattern for the name; * stands for any text'),
      returnType: text('only those with this erased return type'),
      annotation: text('only those that carry this annotation'),
      inClass: text('pattern for the class'),
      inPackage: text('pattern for the package'),
      includeLibraries,
      ...paging,
    },
  },
  calls: {
    path: '/calls/:name',
    summary: 'The call sites of a class, method by method',
    about: aboutClass,
    parameters: {
      method: text('only in methods of this name'),
      descriptor: text('only in the overload with this JVM descriptor; with method'),
      inMethodsReturning: text('only in methods with this erased return type'),
      inMethodsAnnotated: text('only in methods that carry this annotation'),
      includeLambdas: flag(
        'method references too, and what lambdas call as calls of the method that holds them; default false',
      ),
    },
  },
  callers: {
    path: '/callers/:name',
    summary: 'Who calls a method, also by method references and out of lambdas',
    about: { key: 'method', description: 'owner#method, for example java.util.List#add' },
    parameters: {
      descriptor: text('only calls of the overload with this JVM descriptor'),
      includeLibraries,
      includeSubtypes: flag('also calls on classes below the owner; default false'),
      ...paging,
    },
  },
  xref: {
    path: '/xref/:name',
    summary: 'Where a type is referred to',
    about: { key: 'fqn', description: 'full name of the type' },
    parameters: {
      includeLibraries,
      kind: word(REFERENCE_KINDS, 'only references of this kind'),
      scopeImplementing: text('only from classes below this type'),
      synthetic: flag(
        'also fields, parameters and return types of members that the compiler added; default false',
      ),
      declared: flag(
        'calls count for the class that declares the method, not for the one that the bytecode names; default false',
      ),
      ...paging,
    },
  },
  deps_graph: {
    path: '/graph',
    summary: 'What the project’s classes need of each other',
    parameters: { format: word(GRAPH_FORMATS, 'how it is written; default json') },
  },
  foundation: {
    path: '/graph/foundation',
    summary: 'The classes that most others need',
    parameters: {
      minDependents: { type: 'integer', minimum: 1, description: 'how many must need one; default 2' },
    },
  },
  cycles: {
    path: '/graph/cycles',
    summary: 'Classes or packages that all need each other',
    parameters: { of: word(CYCLE_MEMBERS, 'what the cycles are made of; default class') },
  },
  source_show: {
    path: '/source/:name',
    summary: 'The source of a class: the project’s, a library’s, the JDK’s, or decompiled',
    about: aboutClass,
    parameters: {
      format: word(SOURCE_FORMATS, 'all of the file, or what it declares; default full'),
      visibility: word(VISIBILITIES, 'the least visible members that an excerpt has; default private'),
      lang: word(SHOWN_LANGUAGES, 'only a source in this language; Java is decompiled from any'),
      ...decompiling,
    },
  },
  source_method: {
    path: '/source/:name/method/:method',
    summary: 'The source of a class’s method, with all overloads',
    about: aboutClass,
    part: {
      key: 'method',
      description: 'name of a method; <init> or the class’s simple name for constructors',
    },
    parameters: {
      paramTypes: text('only the overload with these parameters: int, java.lang.String; () for none'),
      context: {
        type: 'integer',
        minimum: 0,
        maximum: 10_000,
        description: 'lines before and after; default 0',
      },
      ...decompiling,
    },
  },
} as const satisfies Readonly<Record<string, Question>>

export type QueryName = keyof typeof QUERIES

export function queryNamed(name: QueryName): Question {
  return QUERIES[name]
}

/** The table for those who take any question. */
export const queries: readonly (readonly [QueryName, Question])[] = Object.entries(QUERIES) as (readonly [
  QueryName,
  Question,
])[]
