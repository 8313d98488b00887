import static javax.lang.model.element.Modifier.PUBLIC;

import com.sun.source.tree.ClassTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.File;
import java.util.Arrays;
import java.util.List;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;
import javax.tools.ToolProvider;

/** Prints what sources declare, one class or member a line: "a.B$C" or "a.B$C#method". */
public class DeclaredNames {
  public static void main(String[] args) throws Exception {
    var compiler = ToolProvider.getSystemJavaCompiler();
    var files = compiler.getStandardFileManager(null, null, null);
    List<File> sources = Arrays.stream(args).map(File::new).toList();
    var options = List.of("-proc:none", "-nowarn", "-XDsuppressNotes");
    var units = files.getJavaFileObjectsFromFiles(sources);
    JavacTask task = (JavacTask) compiler.getTask(null, files, null, options, null, units);
    var trees = task.parse();
    task.analyze();
    var out = new StringBuilder();
    for (var unit : trees)
      new TreePathScanner<Void, Void>() {
        @Override
        public Void visitClass(ClassTree tree, Void unused) {
          TypeElement type = (TypeElement) Trees.instance(task).getElement(getCurrentPath());
          var name = task.getElements().getBinaryName(type);
          out.append(name).append('\n').append(name).append("#<clinit>\n");
          for (Element member : task.getElements().getAllMembers(type))
            if (!(member instanceof TypeElement) && (member.getEnclosingElement() == type || isShown(type, member))) out.append(name).append('#').append(member.getSimpleName()).append('\n');
          return super.visitClass(tree, unused);
        }
      }.scan(unit, null);
    System.out.print(out);
  }

  /** Whether a visible class inherits a member from an invisible one of the sources. */
  private static boolean isShown(TypeElement type, Element member) {
    var above = member.getEnclosingElement().getModifiers();
    return type.getModifiers().contains(PUBLIC) && member.getModifiers().contains(PUBLIC) && !above.contains(PUBLIC);
  }
}
