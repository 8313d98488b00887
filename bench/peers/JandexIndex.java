import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarFile;
import org.jboss.jandex.IndexWriter;
import org.jboss.jandex.Indexer;

/** Indexes jars with Jandex into one file, like its own command line does for one jar: JandexIndex INDEX JAR… */
class JandexIndex {
  public static void main(String[] arguments) throws IOException {
    var indexer = new Indexer();
    for (int i = 1; i < arguments.length; i++) {
      try (var jar = new JarFile(arguments[i])) {
        for (var entry : (Iterable<java.util.jar.JarEntry>) jar.stream()::iterator) {
          if (!entry.getName().endsWith(".class")) continue;
          try (var in = jar.getInputStream(entry)) {
            indexer.index(in);
          }
        }
      }
    }
    var index = indexer.complete();
    try (var out = new BufferedOutputStream(Files.newOutputStream(Path.of(arguments[0])))) {
      new IndexWriter(out).write(index);
    }
    System.out.println(index.getKnownClasses().size() + " classes");
  }
}
