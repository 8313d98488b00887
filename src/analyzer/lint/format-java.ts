import * as prettier from 'prettier'
import java from 'prettier-plugin-java'
import { messageOf } from '../../lib/errors/message.ts'
import { changedLines } from './compare-texts.ts'

/** Maximum number of formatter passes; a text that still changes is left as it is. */
const MAX_PASSES = 12

/** Share of changed lines above which a text counts as never formatted. */
const FAR_SHARE = 1 / 4

/** Thrown for Java that has no formatted form: the formatter rejects it, or its result never stabilizes. */
export class NoFormat extends Error {}

/**
 * Formats a text until formatting changes nothing more: the plugin is not idempotent, and moves some comments
 * at every pass. Of forms that alternate, returns the smallest, independent of the first.
 *
 * @throws errors of the formatter's first pass, and NoFormat
 */
export async function formatJava(text: string, options: prettier.Options): Promise<string> {
  const forms: string[] = []
  for (let form = text; forms.length < MAX_PASSES;) {
    const next = await formatOnce(form, options, forms.length)
    if (next === form) return form
    const start = forms.indexOf(next)
    if (start !== -1) return forms.slice(start).toSorted()[0] ?? next
    forms.push(next)
    form = next
  }
  throw new NoFormat(`the formatter still changes its own output after ${MAX_PASSES} passes`)
}

/**
 * Returns the text to compare with in a check: the formatted form, or the result of one pass if that changes
 * much. Texts that alternate between forms differ in few places.
 *
 * @throws as `formatJava`
 */
export async function nearestForm(text: string, options: prettier.Options): Promise<string> {
  const form = await formatOnce(text, options, 0)
  const isFar = changedLines(text, form) > FAR_SHARE * text.split('\n').length
  return form === text || isFar ? form : formatJava(text, options)
}

async function formatOnce(text: string, options: prettier.Options, pass: number): Promise<string> {
  try {
    return await prettier.format(text, { ...options, parser: 'java', plugins: [java] })
  } catch (error) {
    if (pass === 0) throw error
    throw new NoFormat('the formatter rejects its own output', { cause: error })
  }
}

/** Returns the formatter's error for some options, or undefined if it accepts them. */
export async function optionsProblem(options: prettier.Options): Promise<string | undefined> {
  try {
    await formatOnce('class A {}', options, 0)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
