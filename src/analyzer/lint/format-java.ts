import * as prettier from 'prettier'
import java from 'prettier-plugin-java'

/** Runs of the formatter after which a text that still changes is left as it is. */
const MAX_PASSES = 12

/** The formatter does not come to an end with a text, or not to one that it takes itself. */
export class UnstableFormat extends Error {}

/**
 * A text's formatted form, which is its own formatted form: the plugin alone is not idempotent, and moves some comments at every
 * pass. Of forms that follow each other in a circle it is the least, whichever one starts with.
 *
 * @throws what the formatter throws for a text that is no Java, and UnstableFormat
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
  throw new UnstableFormat(`after ${MAX_PASSES} passes the formatter still changes what it has written`)
}

async function formatOnce(text: string, options: prettier.Options, pass: number): Promise<string> {
  try {
    return await prettier.format(text, { ...options, parser: 'java', plugins: [java] })
  } catch (error) {
    if (pass === 0) throw error
    throw new UnstableFormat('the formatter does not take what it has written itself', { cause: error })
  }
}
