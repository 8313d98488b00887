import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../config/duration.ts'

/** Parses an option's value as a whole number. */
export function wholeNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** Parses an option's value as a whole number of at least 1. */
export function positiveNumber(text: string): number {
  if (/^\d+$/.test(text) && Number(text) > 0) return Number(text)
  throw new InvalidArgumentError('It must be a whole number of at least 1.')
}

/** Returns an option with one of some words, in any case. */
export function wordOption(flags: string, description: string, words: readonly string[]): Option {
  const option = new Option(flags, description).choices(words)
  // Throws for other words.
  const { parseArg } = option
  return option.argParser((text: string) => {
    const word = words.find((each) => each.toLowerCase() === text.toLowerCase())
    return parseArg?.(word ?? text, undefined)
  })
}

/** Parses an option's value as a port; 0 selects a free one. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new InvalidArgumentError('It must be a port, 0 to 65535.')
}

/** Parses an option's value as a port that any user can listen on; 0 selects a free one. */
export function unprivilegedPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && isUnprivileged(Number(text))) return Number(text)
  throw new InvalidArgumentError('It must be a port from 1024 to 65535, or 0.')
}

const isUnprivileged = (port: number): boolean => port === 0 || (port >= 1_024 && port <= 65_535)

/** Collects the values of a repeatable option. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** Parses a duration of at least a second, as an argument, to seconds. @throws InvalidArgumentError */
export function durationSeconds(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= 1_000) return Math.floor(ms / 1_000)
  throw new InvalidArgumentError('It must be a duration such as 30m, 12h or 30d.')
}
