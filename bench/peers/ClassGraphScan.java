import io.github.classgraph.ClassGraph;

/**
 * Scans jars and folders with ClassGraph, with all information and dependencies between classes, and prints the
 * number of classes.
 */
class ClassGraphScan {
  public static void main(String[] places) {
    // ClassGraph skips java.* unless system modules are enabled, and then it would scan the running JDK's 27,000
    // classes too.
    var graph = new ClassGraph()
        .overrideClasspath((Object[]) places)
        .enableSystemJarsAndModules()
        .disableModuleScanning()
        .enableAllInfo()
        .enableInterClassDependencies();
    try (var result = graph.scan()) {
      System.out.println(result.getAllClasses().size() + " classes, " + result.getClassDependencyMap().size() + " with dependencies");
    }
  }
}
