/** Kinds of entry points, in the order in which a method or class that is of several gets one. */
export const ROOT_KINDS = [
  'main',
  'test',
  'servlet',
  'spring',
  'jax-rs',
  'cdi',
  'messaging',
  'service',
  'javafx',
  'android',
  'jpa',
  'xml',
] as const
/** A kind of entry points. */
export type RootKind = (typeof ROOT_KINDS)[number]

/** Constructors that a framework calls. */
export type Constructors = 'all' | 'no-arg'

/** Annotations or supertypes, as internal names; `{javax,jakarta}` stands for both. */
interface Rule {
  readonly kind: RootKind
  readonly names: readonly string[]
}

interface ClassRule extends Rule {
  readonly constructors: Constructors
  /** Whether the framework calls all public methods. */
  readonly isPublicCalled?: boolean
}

const SPRING = 'org/springframework'

/** Annotations of methods that a framework calls, on an object that it creates. */
export const METHOD_ANNOTATIONS: readonly Rule[] = [
  {
    kind: 'test',
    names: [
      ...['Test', 'Before', 'After', 'BeforeClass', 'AfterClass', 'Rule', 'ClassRule'].map(
        (name) => `org/junit/${name}`,
      ),
      'org/junit/experimental/theories/Theory',
      'org/junit/experimental/theories/DataPoint',
      'org/junit/experimental/theories/DataPoints',
      'org/junit/runners/Parameterized$Parameters',
      'org/junit/platform/commons/annotation/Testable',
      ...[
        'Test',
        'TestFactory',
        'TestTemplate',
        'RepeatedTest',
        'BeforeEach',
        'AfterEach',
        'BeforeAll',
        'AfterAll',
      ].map((name) => `org/junit/jupiter/api/${name}`),
      'org/junit/jupiter/params/ParameterizedTest',
      ...[
        'Test',
        'DataProvider',
        'Factory',
        ...['Suite', 'Test', 'Class', 'Method', 'Groups'].flatMap((name) => [
          `Before${name}`,
          `After${name}`,
        ]),
      ].map((name) => `org/testng/annotations/${name}`),
    ],
  },
  {
    kind: 'spring',
    names: [
      'context/annotation/Bean',
      'web/bind/annotation/RequestMapping',
      ...['Get', 'Post', 'Put', 'Delete', 'Patch'].map((name) => `web/bind/annotation/${name}Mapping`),
      ...['ExceptionHandler', 'ModelAttribute', 'InitBinder'].map((name) => `web/bind/annotation/${name}`),
      'messaging/handler/annotation/MessageMapping',
      'messaging/simp/annotation/SubscribeMapping',
      'graphql/data/method/annotation/SchemaMapping',
      'scheduling/annotation/Scheduled',
      'scheduling/annotation/Schedules',
      'context/event/EventListener',
      'transaction/event/TransactionalEventListener',
      'beans/factory/annotation/Autowired',
      'jmx/export/annotation/ManagedOperation',
      'boot/actuate/endpoint/annotation/ReadOperation',
      'boot/actuate/endpoint/annotation/WriteOperation',
      'boot/actuate/endpoint/annotation/DeleteOperation',
    ].map((name) => `${SPRING}/${name}`),
  },
  {
    kind: 'jax-rs',
    names: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'HttpMethod', 'Path'].map(
      (name) => `{javax,jakarta}/ws/rs/${name}`,
    ),
  },
  {
    kind: 'cdi',
    names: [
      '{javax,jakarta}/annotation/PostConstruct',
      '{javax,jakarta}/annotation/PreDestroy',
      '{javax,jakarta}/inject/Inject',
      '{javax,jakarta}/enterprise/inject/Produces',
      '{javax,jakarta}/ejb/Schedule',
      '{javax,jakarta}/ejb/Timeout',
      '{javax,jakarta}/interceptor/AroundInvoke',
      '{javax,jakarta}/jws/WebMethod',
      '{javax,jakarta}/websocket/OnMessage',
      '{javax,jakarta}/websocket/OnOpen',
      '{javax,jakarta}/websocket/OnClose',
      '{javax,jakarta}/websocket/OnError',
    ],
  },
  {
    kind: 'messaging',
    names: [
      `${SPRING}/kafka/annotation/KafkaListener`,
      `${SPRING}/kafka/annotation/KafkaHandler`,
      `${SPRING}/jms/annotation/JmsListener`,
      `${SPRING}/amqp/rabbit/annotation/RabbitListener`,
      `${SPRING}/amqp/rabbit/annotation/RabbitHandler`,
      'io/awspring/cloud/sqs/annotation/SqsListener',
      'org/eclipse/microprofile/reactive/messaging/Incoming',
      'org/eclipse/microprofile/reactive/messaging/Outgoing',
      'com/google/common/eventbus/Subscribe',
    ],
  },
  { kind: 'javafx', names: ['javafx/fxml/FXML'] },
  {
    kind: 'jpa',
    names: ['Pre', 'Post']
      .flatMap((time) => ['Persist', 'Remove', 'Update'].map((event) => time + event))
      .concat('PostLoad')
      .map((name) => `{javax,jakarta}/persistence/${name}`),
  },
]

/** Annotations of classes of which a framework creates objects. */
export const CLASS_ANNOTATIONS: readonly ClassRule[] = [
  {
    kind: 'servlet',
    constructors: 'no-arg',
    names: ['WebServlet', 'WebFilter', 'WebListener'].map(
      (name) => `{javax,jakarta}/servlet/annotation/${name}`,
    ),
  },
  {
    kind: 'spring',
    constructors: 'all',
    names: [
      'stereotype/Component',
      'stereotype/Service',
      'stereotype/Repository',
      'stereotype/Controller',
      'web/bind/annotation/RestController',
      'web/bind/annotation/ControllerAdvice',
      'web/bind/annotation/RestControllerAdvice',
      'context/annotation/Configuration',
      'boot/SpringBootConfiguration',
      'boot/autoconfigure/SpringBootApplication',
      'boot/autoconfigure/AutoConfiguration',
      'boot/context/properties/ConfigurationProperties',
      'boot/actuate/endpoint/annotation/Endpoint',
    ].map((name) => `${SPRING}/${name}`),
  },
  {
    kind: 'jax-rs',
    constructors: 'all',
    names: ['{javax,jakarta}/ws/rs/Path', '{javax,jakarta}/ws/rs/ext/Provider'],
  },
  {
    kind: 'cdi',
    constructors: 'all',
    names: [
      '{javax,jakarta}/inject/Singleton',
      '{javax,jakarta}/inject/Named',
      '{javax,jakarta}/enterprise/context/ApplicationScoped',
      '{javax,jakarta}/enterprise/context/RequestScoped',
      '{javax,jakarta}/enterprise/context/SessionScoped',
      '{javax,jakarta}/enterprise/context/Dependent',
      '{javax,jakarta}/interceptor/Interceptor',
      '{javax,jakarta}/websocket/server/ServerEndpoint',
    ],
  },
  {
    kind: 'cdi',
    constructors: 'all',
    isPublicCalled: true,
    names: [
      '{javax,jakarta}/ejb/Stateless',
      '{javax,jakarta}/ejb/Stateful',
      '{javax,jakarta}/ejb/Singleton',
      '{javax,jakarta}/ejb/MessageDriven',
      '{javax,jakarta}/jws/WebService',
    ],
  },
  {
    kind: 'service',
    constructors: 'no-arg',
    names: ['com/google/auto/service/AutoService'],
  },
  {
    kind: 'jpa',
    constructors: 'no-arg',
    names: ['Entity', 'Embeddable', 'MappedSuperclass', 'Converter'].map(
      (name) => `{javax,jakarta}/persistence/${name}`,
    ),
  },
  {
    kind: 'xml',
    constructors: 'no-arg',
    names: ['XmlRootElement', 'XmlType'].map((name) => `{javax,jakarta}/xml/bind/annotation/${name}`),
  },
]

/** Supertypes of classes of which a framework creates objects. */
export const SUPERTYPES: readonly ClassRule[] = [
  { kind: 'test', constructors: 'all', names: ['junit/framework/TestCase'] },
  {
    kind: 'servlet',
    constructors: 'no-arg',
    names: [
      'Servlet',
      'Filter',
      'ServletContextListener',
      'ServletContextAttributeListener',
      'ServletRequestListener',
      'ServletContainerInitializer',
      'http/HttpSessionListener',
      'http/HttpSessionAttributeListener',
    ].map((name) => `{javax,jakarta}/servlet/${name}`),
  },
  {
    kind: 'spring',
    constructors: 'all',
    names: ['boot/CommandLineRunner', 'boot/ApplicationRunner', 'web/WebApplicationInitializer'].map(
      (name) => `${SPRING}/${name}`,
    ),
  },
  { kind: 'jax-rs', constructors: 'all', names: ['{javax,jakarta}/ws/rs/core/Application'] },
  {
    kind: 'javafx',
    constructors: 'no-arg',
    names: ['javafx/application/Application', 'javafx/application/Preloader'],
  },
  {
    kind: 'android',
    constructors: 'all',
    names: [
      'android/app/Activity',
      'android/app/Application',
      'android/app/Service',
      'android/app/backup/BackupAgent',
      'android/app/Fragment',
      'androidx/fragment/app/Fragment',
      'android/content/BroadcastReceiver',
      'android/content/ContentProvider',
      'android/view/View',
      'androidx/work/ListenableWorker',
    ],
  },
  { kind: 'jpa', constructors: 'no-arg', names: ['{javax,jakarta}/persistence/AttributeConverter'] },
]

/** Returns the names of a rule. */
export function namesOf({ names }: Rule): readonly string[] {
  return names.flatMap((name) =>
    name.startsWith('{')
      ? ['javax', 'jakarta'].map((vendor) => vendor + name.slice(name.indexOf('}') + 1))
      : [name],
  )
}
