/** Whose classes they are: the project's own, those of a library, or those of the JDK. */
export type Source = 'PROJECT' | 'LIBRARY' | 'JDK'
