import io.github.classgraph.ClassGraph;

/** Scans jars and folders with ClassGraph, all information and dependencies between classes, and prints how many classes it found. */
class ClassGraphScan {
  public static void main(String[] places) {
    // Without enableSystemJarsAndModules it passes over java.*; only the places named are scanned all the same.
    var graph = new ClassGraph()
        .overrideClasspath((Object[]) places)
        .enableSystemJarsAndModules()
        .enableAllInfo()
        .enableInterClassDependencies();
    try (var result = graph.scan()) {
      System.out.println(result.getAllClasses().size() + " classes, " + result.getClassDependencyMap().size() + " with dependencies");
    }
  }
}
