import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;

/**
 * Prints the violations of rules by ArchUnit. Arguments: a folder of classes, then rules with their arguments
 * separated by "|". Output: "index from to" for dependencies, "index class" for classes.
 */
class Violations {
  public static void main(String[] args) {
    JavaClasses all = new ClassFileImporter().importPath(Path.of(args[0]));
    for (int i = 1; i < args.length; i++) {
      Set<String> found = new TreeSet<>();
      String[] rule = args[i].split("\\|");
      switch (rule[0]) {
        case "mustNotUse" ->
            dependencies(noClasses().that().resideInAPackage(rule[1]).should().dependOnClassesThat().resideInAPackage(rule[2]), all, found);
        case "mayOnlyUse" ->
            dependencies(classes().that().resideInAPackage(rule[1]).should().onlyDependOnClassesThat().resideInAnyPackage(rule[1], rule[2]), all, found);
        case "mayOnlyBeUsedBy" ->
            dependencies(classes().that().resideInAPackage(rule[1]).should().onlyHaveDependentClassesThat().resideInAnyPackage(rule[1], rule[2]), all, found);
        case "layers" ->
            dependencies(
                layeredArchitecture().consideringOnlyDependenciesInLayers()
                    .layer("a").definedBy(rule[1])
                    .layer("b").definedBy(rule[2])
                    .layer("c").definedBy(rule[3])
                    .withOptionalLayers(true)
                    .whereLayer("a").mayOnlyAccessLayers("b")
                    .whereLayer("b").mayOnlyAccessLayers("c")
                    .whereLayer("c").mayNotAccessAnyLayer(),
                all, found);
        case "mustNotCall" ->
            accesses(noClasses().that().resideInAPackage(rule[1]).should().callMethodWhere(target(rule[2], rule[3])), all, found);
        case "mustBeNamed" ->
            names(classes().that().resideInAPackage(rule[1]).and().areNotAnonymousClasses().and().areNotLocalClasses().should().haveSimpleNameEndingWith(rule[2]), all, found);
        case "mustResideIn" ->
            names(classes().that().areAssignableTo(rule[1]).and().areNotAnonymousClasses().and().areNotLocalClasses().should().resideInAPackage(rule[2]), all, found);
        case "mustBeSubtypeOf" ->
            names(classes().that().resideInAPackage(rule[1]).and().areNotAnonymousClasses().and().areNotLocalClasses().should().beAssignableTo(rule[2]), all, found);
        case "noCycles" ->
            found.add(String.valueOf(SlicesRuleDefinition.slices().matching(rule[1]).should().beFreeOfCycles().evaluate(all).hasViolation()));
        default -> throw new IllegalArgumentException(rule[0]);
      }
      for (String line : found) System.out.println((i - 1) + " " + line);
    }
  }

  private static DescribedPredicate<com.tngtech.archunit.core.domain.JavaCall<?>> target(String owner, String name) {
    return DescribedPredicate.describe("", call -> call.getTargetOwner().getName().equals(owner) && call.getName().equals(name));
  }

  private static void dependencies(ArchRule rule, JavaClasses all, Set<String> found) {
    rule.allowEmptyShould(true).evaluate(all).handleViolations((java.util.Collection<Dependency> each, String message) -> {
      for (Dependency dependency : each) found.add(written(dependency.getOriginClass()).getName() + " " + dependency.getTargetClass().getBaseComponentType().getName());
    });
  }

  /** A class that a compiler made counts for the one around it. */
  private static JavaClass written(JavaClass type) {
    return type.getModifiers().contains(JavaModifier.SYNTHETIC) ? type.getEnclosingClass().orElse(type) : type;
  }

  private static void accesses(ArchRule rule, JavaClasses all, Set<String> found) {
    rule.allowEmptyShould(true).evaluate(all).handleViolations((java.util.Collection<JavaMethodCall> each, String message) -> {
      for (JavaMethodCall access : each) found.add(written(access.getOriginOwner()).getName() + " " + access.getTargetOwner().getName());
    });
  }

  private static void names(ArchRule rule, JavaClasses all, Set<String> found) {
    rule.allowEmptyShould(true).evaluate(all).handleViolations((java.util.Collection<JavaClass> each, String message) -> {
      for (JavaClass type : each) found.add(type.getName());
    });
  }
}
