// The word list of npm run check: words that the project's prose and names avoid, with their replacements.
// When a word makes a reviewer stumble, add it here and fix all its occurrences.

/**
 * A pattern and its replacement. A pattern is the source of a case-insensitive regular expression; one without lookarounds
 * matches whole words. The replacement is shown to the author.
 */
export type Term = readonly [pattern: string, replacement: string]

/** Words and phrases that prose avoids: Markdown, comments, messages, page and test texts. */
export const TERMS: readonly Term[] = [
  ['told', 'reported, logged, notified'],
  ['tells?', 'reports, returns, shows'],
  ['says', 'reports, shows, names'],
  [
    '(?<!\\b(?:there|this|that|it) )\\b(?:is|are|was|were) no (?!longer\\b|more\\b|less\\b|later\\b|earlier\\b|bigger\\b|larger\\b|smaller\\b|older\\b|newer\\b|different\\b)[a-z]+',
    'is not a valid …',
  ],
  ['anew', 'again'],
  ['once more', 'again'],
  ['of (?:its|their|his|her|our|your|my|one.s) own', 'its own, separate, dedicated'],
  ['leads? (?:to|nowhere)', 'redirects to, routes to, resolves to'],
  ['heed(?:s|ed|ing)?', 'honors, applies, follows'],
  ['obey(?:s|ed|ing)?', 'honors, applies, follows'],
  ['whoever', 'the client, the caller'],
  ['whatever', 'any, regardless of'],
  ['whichever', 'any, the … that'],
  ['(?<=^|[^-\\w])stands?\\b(?!-| for\\b)', 'is'],
  ['takes? (?:up )?room', 'uses disk space'],
  ['(?:goes|going|go|went) on', 'continues'],
  ['(?:is|are|was|were) gone', 'no longer exists, is deleted'],
  ['what (?:is|are|was|were) there', 'existing …'],
  ['mend(?:s|ed|ing)?', 'fix'],
  ['news', 'event, progress'],
  ['crews?', 'worker pool'],
  ['(?:shelf|shelves)', 'cache, store'],
  ['twins?', 'fallback'],
  ['by the letter', 'exactly'],
  ['word for word', 'exactly'],
  ['not yet there', 'missing'],
  ['own words', 'message'],
  ['(?:gives?|gave|given) back', 'returns, frees, releases'],
  ['makes? (?:a|the) workspace', 'creates a workspace'],
  ['it is so', 'name the condition'],
  ['in its place', 'instead'],
  ['hears? of', 'is notified of'],
  ['at all times', 'always'],
  ['soil', 'repair'],
  ['doors?', 'client, proxy'],
  ['floors?', 'layer'],
  ['houses?', 'module, project'],
  ['keepers?', 'handler, cache'],
  ['for want of', 'without'],
  ['in vain', 'without success'],
]

/** Words that identifiers and paths avoid, in lower case and in the singular and plural that occur. */
export const NAMES: ReadonlyMap<string, string> = new Map([
  ['crew', 'WorkerPool'],
  ['told', 'reported'],
  ['tell', 'report'],
  ['tells', 'reports'],
  ['anew', 'again'],
  ['door', 'client or proxy'],
  ['shelf', 'cache or store'],
  ['news', 'event or progress'],
  ['heed', 'apply'],
  ['heeds', 'applies'],
  ['obey', 'apply'],
  ['twin', 'fallback'],
  ['looked', 'lookup or result'],
  ['keeper', 'handler'],
  ['keeping', 'maintenance'],
  ['sound', 'valid or repair'],
  ['whoever', 'client or caller'],
])

/**
 * Places where a listed word is correct, with the reason. `file` is a path or its prefix; `text` is part of the line.
 */
export const EXCEPTIONS: readonly {
  readonly file: string
  readonly text: string
  readonly reason: string
}[] = []
