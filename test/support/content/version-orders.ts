/** Versions in the order of the documents that define it, the earliest first. */
export const VERSION_ORDERS: readonly (readonly [where: string, names: string])[] = [
  [
    'semver.org, section 11',
    '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 2.0.0 2.1.0 2.1.1',
  ],
  ['semver.org, section 9', '1.0.0-0.3.7 1.0.0-alpha 1.0.0-alpha.1 1.0.0-x.7.z.92 1.0.0-x-y-z.4 1.0.0'],
  [
    'PEP 440, summary of permitted suffixes',
    '1.0.dev456 1.0a1 1.0a2.dev456 1.0a12.dev456 1.0a12 1.0b1.dev456 1.0b2 1.0b2.post345.dev456 1.0b2.post345 1.0rc1.dev456 1.0rc1 1.0 1.0.post456.dev34 1.0.post456 1.0.15 1.1.dev1',
  ],
  ['PEP 440, final releases', '0.9 0.9.1 0.9.2 0.9.10 0.9.11 1.0 1.0.1 1.1 2.0 2.0.1'],
  ['PEP 440, dates', '2012.4 2012.7 2012.10 2013.1 2013.6'],
  [
    'Maven, ComparableVersion',
    '1-alpha 1-alpha-1 1-alpha2 1-beta-1 1-milestone-1 1-rc 1-rc2 1-SNAPSHOT 1 1-sp 1-sp2 1.1-alpha-1 1.1',
  ],
  [
    'Maven, numbers and qualifiers',
    '1.0-alpha-1-SNAPSHOT 1.0-alpha-1 1.0-alpha-2 1.0-alpha-10 1.0 1-1 1-2 1.0.1 1.0.10 1.3',
  ],
  [
    'Hibernate',
    '6.0.0.Alpha2 6.0.0.Alpha9 6.0.0.Alpha10 6.0.0.Beta1 6.0.0.CR1 6.0.0.Final 6.0.1.Final 6.1.0.Alpha1',
  ],
]
