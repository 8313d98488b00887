const HTML = 'text/html'
/** Not valid in UTF-8. */
const LATIN = '\xfcber'
const LATER = `<title>x</title>${'<link href=x>'.repeat(200)}`

/** Texts as Latin-1 bytes, with their media types and the encodings by which browsers decode them. */
export const CHARSET_TEXTS: readonly (readonly [
  text: string,
  mediaType: string,
  charset: string | undefined,
])[] = [
  ['', HTML, 'utf-8'],
  ['<p>plain', HTML, 'utf-8'],
  ['<p>\xc3\xbcber', HTML, 'utf-8'],
  [LATIN, HTML, undefined],
  [LATIN, 'text/plain', undefined],
  ['\xef\xbb\xbf<meta charset=gbk>', HTML, 'utf-8'],
  ['\xff\xfe<\0p\0>\0', HTML, 'utf-16le'],
  ['\xfe\xff\0<\0p\0>', HTML, 'utf-16be'],
  ['\xff\xfe<\0a\0', 'text/plain', 'utf-16le'],
  [`<meta charset="iso-8859-1">${LATIN}`, HTML, 'windows-1252'],
  [`<META CHARSET='Windows-1251'>${LATIN}`, HTML, 'windows-1251'],
  [`<meta\n charset = koi8-r >${LATIN}`, HTML, 'koi8-r'],
  [`<meta charset=sjis />${LATIN}`, HTML, 'shift_jis'],
  [`<meta/charset=gb2312>${LATIN}`, HTML, 'gbk'],
  [`<meta http-equiv=Content-Type content="text/html; charset=euc-kr">`, HTML, 'euc-kr'],
  [`<meta content='text/html; charset="big5"' http-equiv='content-type'>`, HTML, 'big5'],
  [`<meta name=x content="text/html; charset=big5">${LATIN}`, HTML, undefined],
  [`<meta http-equiv=refresh content="0; charset=big5">${LATIN}`, HTML, undefined],
  [`<!-- <meta charset=big5> --><meta charset=koi8-u>`, HTML, 'koi8-u'],
  [`<!--><meta charset=big5>`, HTML, 'big5'],
  [`<p title="<meta charset=big5>">${LATIN}`, HTML, undefined],
  [`<meta charset=none><meta charset=big5>`, HTML, 'big5'],
  [`<meta charset=big5 charset=gbk>`, HTML, 'big5'],
  [`<meta charset=utf-16>`, HTML, 'utf-8'],
  [`<meta charset=x-user-defined>`, HTML, 'windows-1252'],
  [`<title>x</title>${LATIN}<meta charset=windows-1250>`, HTML, 'windows-1250'],
  [`${LATER}<meta charset=windows-1250></head>`, HTML, 'windows-1250'],
  [`${LATER}</head><body>${LATIN}<meta charset=windows-1250>`, HTML, undefined],
  [`<?xml version="1.0" encoding="iso-8859-2"?><html>`, HTML, 'iso-8859-2'],
  [`<?xml version='1.0' encoding='ISO-8859-1'?><a>${LATIN}</a>`, 'application/xml', 'windows-1252'],
  [`<?xml version="1.0" encoding="koi8-r"?><svg/>`, 'image/svg+xml', 'koi8-r'],
  [`<?xml version="1.0"?><a charset="koi8-r">\xc3\xbc</a>`, 'application/xhtml+xml', 'utf-8'],
  ['<\0?\0x\0m\0l\0', 'text/xml', 'utf-16le'],
  [`@charset "ISO-8859-15";h1{}`, 'text/css', 'iso-8859-15'],
  [`@charset 'koi8-r';${LATIN}`, 'text/css', undefined],
  [` @charset "koi8-r";${LATIN}`, 'text/css', undefined],
  [`<meta charset=koi8-r>${LATIN}`, 'text/javascript', undefined],
]
