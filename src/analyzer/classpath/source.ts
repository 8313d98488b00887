/** Origin of classes: the project itself, a library or the JDK. */
export type Source = 'PROJECT' | 'LIBRARY' | 'JDK'
