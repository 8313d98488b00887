/** Splits a text into words at white space, except within quotes and after the escape character; quotes stay. */
export function splitWords(text: string, escape: string): readonly string[] {
  const words: string[] = []
  let word = ''
  let quote = ''
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if (char === escape && quote !== "'") {
      word += char + (text[(at += 1)] ?? '')
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== '') words.push(word)
      word = ''
    } else {
      if (quote === '' ? /["']/.test(char) : char === quote) quote = quote === '' ? char : ''
      word += char
    }
  }
  return word === '' ? words : [...words, word]
}
