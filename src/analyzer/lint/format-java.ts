import * as prettier from 'prettier'
import java from 'prettier-plugin-java'
import { messageOf } from '../../lib/errors/message.ts'
import { changedLines } from './compare-texts.ts'

/** Runs of the formatter after which a text that still changes is left as it is. */
const MAX_PASSES = 12

/** Of a text's lines, when formatting changes so many that it never was formatted. */
const FAR_SHARE = 1 / 4

/** A text that is Java has no formatted form: the formatter refuses it, or comes to no rest. */
export class NoFormat extends Error {}

/**
 * A text's formatted form, which is its own formatted form: the plugin alone is not idempotent, and moves some comments at every
 * pass. Of forms that follow each other in a circle it is the least, whichever one starts with.
 *
 * @throws what the formatter throws at the first pass, and NoFormat
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
  throw new NoFormat(`after ${MAX_PASSES} passes the formatter still changes what it has written`)
}

/**
 * What a text is compared with in a check: its formatted form, or, where it is far from it, what one pass makes of it. Texts that
 * the formatter goes round between differ in few places.
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
    throw new NoFormat('the formatter does not take what it has written itself', { cause: error })
  }
}

/** What the formatter has against some options; undefined where it takes them. */
export async function optionsProblem(options: prettier.Options): Promise<string | undefined> {
  try {
    await formatOnce('class A {}', options, 0)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
