/**
 * Kinds of API changes, with the section of the Java Language Specification that defines their effect on old
 * binaries.
 */
interface Rule {
  /** Whether programs compiled against the old build still link (JLS 13.2). */
  readonly compatible: boolean
  /** Section of chapter 13, and its title. */
  readonly jls: string
  readonly why: string
}

const CLASS = '13.3 Evolution of Packages and Modules'
const ACCESS = '13.4.7 Access to Members and Constructors'
const SUPERTYPES = '13.4.4 Superclasses and Superinterfaces'
const FIELDS = '13.4.8 Field Declarations'
const FINAL_FIELDS = '13.4.9 final Fields and static Constant Variables'
const METHODS = '13.4.12 Method and Constructor Declarations'
const INTERFACE_METHODS = '13.5.6 Interface Method Declarations'
const FINAL_CLASSES = '13.4.2 sealed, non-sealed, and final Classes'

const breaks = (jls: string, why: string): Rule => ({ compatible: false, jls, why })
const keeps = (jls: string, why: string): Rule => ({ compatible: true, jls, why })

/** Rules by kind of change. */
export const RULES = {
  CLASS_ADDED: keeps(CLASS, 'no old binary names it'),
  CLASS_REMOVED: breaks(CLASS, 'naming it throws NoClassDefFoundError'),
  CLASS_KIND_CHANGED: breaks(
    SUPERTYPES,
    'class and interface link differently: IncompatibleClassChangeError',
  ),
  CLASS_LESS_VISIBLE: breaks(
    '13.4.3 public Classes',
    'naming it from another package throws IllegalAccessError',
  ),
  CLASS_MORE_VISIBLE: keeps('13.4.3 public Classes', 'code that could name it still can'),
  CLASS_NOW_ABSTRACT: breaks('13.4.1 abstract Classes', 'creating an instance throws InstantiationError'),
  CLASS_NO_LONGER_ABSTRACT: keeps('13.4.1 abstract Classes', 'subclasses link as before'),
  CLASS_NOW_FINAL: breaks(FINAL_CLASSES, 'loading an old subclass throws VerifyError'),
  CLASS_NOW_FINAL_UNEXTENDED: keeps(FINAL_CLASSES, 'it had no constructor that allowed others to extend it'),
  CLASS_NO_LONGER_FINAL: keeps(FINAL_CLASSES, 'it had no subclasses'),
  CLASS_NOW_SEALED: breaks(FINAL_CLASSES, 'loading an old subclass throws IncompatibleClassChangeError'),
  CLASS_NO_LONGER_SEALED: keeps(FINAL_CLASSES, 'all permitted subclasses still link'),
  PERMITTED_SUBCLASS_REMOVED: breaks(FINAL_CLASSES, 'loading it throws IncompatibleClassChangeError'),
  PERMITTED_SUBCLASS_ADDED: keeps(
    FINAL_CLASSES,
    'links; an old exhaustive switch throws MatchException when it meets one',
  ),
  CLASS_STATIC_CHANGED: keeps(
    '13.4 Evolution of Classes',
    'only its constructors’ parameters link, and they are reported separately',
  ),
  SUPERCLASS_CHANGED: keeps(SUPERTYPES, 'it still inherits from all old superclasses'),
  SUPERCLASS_LOST: breaks(
    SUPERTYPES,
    'old code uses it as the lost superclass: VerifyError or NoSuchMethodError',
  ),
  INTERFACE_ADDED: keeps(SUPERTYPES, 'no old binary uses it as this type'),
  INTERFACE_MOVED: keeps(SUPERTYPES, 'it is still inherited, through another type'),
  INTERFACE_LOST: breaks(SUPERTYPES, 'calls through the interface throw IncompatibleClassChangeError'),
  RETENTION_CHANGED: keeps(
    '13.5.7 Evolution of Annotation Interfaces',
    'nothing links to it; reflection sees the difference',
  ),
  RECORD_COMPONENTS_CHANGED: breaks(
    '13.4.27 Evolution of Record Classes',
    'the old canonical constructor no longer exists: NoSuchMethodError',
  ),
  RECORD_COMPONENTS_EXTENDED: keeps(
    '13.4.27 Evolution of Record Classes',
    'a constructor with the old components still exists',
  ),
  ENUM_CONSTANT_ADDED: keeps(
    '13.4.26 Evolution of Enum Classes',
    'links; an old switch without default does not handle it',
  ),
  ENUM_CONSTANT_REMOVED: breaks('13.4.26 Evolution of Enum Classes', 'naming it throws NoSuchFieldError'),

  METHOD_ADDED: keeps(METHODS, 'no old binary calls it'),
  METHOD_ADDED_ABSTRACT: keeps(
    '13.4.16 abstract Methods',
    'links; new code that calls it on an old subclass gets AbstractMethodError',
  ),
  METHOD_ADDED_TO_INTERFACE: keeps(
    '13.5.3 Interface Members',
    'links; new code that calls it on an old implementation gets AbstractMethodError',
  ),
  METHOD_REMOVED: breaks(METHODS, 'calling it throws NoSuchMethodError'),
  METHOD_MOVED_UP: keeps(METHODS, 'a supertype declares it, where the JVM finds it'),
  METHOD_RETURN_TYPE_CHANGED: breaks(
    '13.4.15 Method Result Type',
    'the descriptor differs: NoSuchMethodError',
  ),
  METHOD_LESS_VISIBLE: breaks(ACCESS, 'calling it throws IllegalAccessError'),
  METHOD_MORE_VISIBLE: keeps(ACCESS, 'code that could call it still can'),
  METHOD_NOW_ABSTRACT: breaks(
    '13.4.16 abstract Methods',
    'calling it on an old subclass throws AbstractMethodError',
  ),
  METHOD_NO_LONGER_ABSTRACT: keeps('13.4.16 abstract Methods', 'subclasses override it as before'),
  METHOD_NO_LONGER_DEFAULT: breaks(
    INTERFACE_METHODS,
    'calling it on an old implementation throws AbstractMethodError',
  ),
  METHOD_NOW_DEFAULT: keeps(INTERFACE_METHODS, 'implementations override it as before'),
  METHOD_NOW_FINAL: breaks(
    '13.4.17 final Methods',
    'loading an old subclass that overrides it throws VerifyError',
  ),
  METHOD_NOW_FINAL_UNEXTENDED: keeps('13.4.17 final Methods', 'nothing outside could override it'),
  METHOD_NO_LONGER_FINAL: keeps('13.4.17 final Methods', 'nothing overrides it'),
  METHOD_NOW_STATIC: breaks(
    '13.4.19 static Methods',
    'calling it as before throws IncompatibleClassChangeError',
  ),
  METHOD_NO_LONGER_STATIC: breaks(
    '13.4.19 static Methods',
    'calling it as before throws IncompatibleClassChangeError',
  ),
  METHOD_EXCEPTIONS_CHANGED: keeps(
    '13.4.21 Method and Constructor Throws',
    'the JVM does not check them; compilers do',
  ),

  FIELD_ADDED: keeps(FIELDS, 'no old binary names it'),
  FIELD_REMOVED: breaks(FIELDS, 'naming it throws NoSuchFieldError'),
  FIELD_MOVED_UP: keeps(FIELDS, 'a supertype declares it, where the JVM finds it'),
  FIELD_TYPE_CHANGED: breaks(FIELDS, 'the descriptor differs: NoSuchFieldError'),
  FIELD_LESS_VISIBLE: breaks(ACCESS, 'naming it throws IllegalAccessError'),
  FIELD_MORE_VISIBLE: keeps(ACCESS, 'code that could name it still can'),
  FIELD_NOW_FINAL: breaks(FINAL_FIELDS, 'assigning to it throws IllegalAccessError'),
  FIELD_NO_LONGER_FINAL: keeps(FINAL_FIELDS, 'links; old binaries keep the value of a former constant'),
  FIELD_NOW_STATIC: breaks('13.4.10 static Fields', 'naming it throws IncompatibleClassChangeError'),
  FIELD_NO_LONGER_STATIC: breaks('13.4.10 static Fields', 'naming it throws IncompatibleClassChangeError'),
  FIELD_CONSTANT_CHANGED: keeps(FINAL_FIELDS, 'links; old binaries keep the old value'),
} as const satisfies Readonly<Record<string, Rule>>

/** Kind of an API change. */
export type ChangeKind = keyof typeof RULES

/** Rule for changes that no other package can observe. */
export const HIDDEN: Rule = keeps(ACCESS, 'no code outside its package can name it')
