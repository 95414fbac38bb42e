// Finds the class that starts a program, or says why the entry file has none.
package sandpiper;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import com.sun.source.util.TreePath;
import com.sun.source.util.Trees;
import java.io.PrintWriter;
import javax.lang.model.element.Element;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.TypeElement;
import javax.lang.model.util.Elements;
import javax.tools.Diagnostic;
import javax.tools.JavaFileObject;

/** Listens to one compilation; asked when that has succeeded. */
final class MainSearch implements TaskListener {
    private static final String NOTHING_TO_START =
        "no class of this file has a main method to start the program with"
        + "\nAdd one, such as: public static void main(String[] args) { }";

    private final JavaFileObject entry;
    private final PrintWriter messages;
    private final Elements elements;
    private final Trees trees;
    /** The parsed entry file, once the first of its classes is analysed. */
    private CompilationUnitTree unit;
    private TypeElement mainClass;
    /** A method that was meant to start the program, and why it does not. */
    private Tree meant;
    private String fault;
    /** Another file's class that could start the program. */
    private JavaFileObject alternative;

    MainSearch(JavacTask task, JavaFileObject entry, PrintWriter messages) {
        this.entry = entry;
        this.messages = messages;
        elements = task.getElements();
        trees = Trees.instance(task);
    }

    @Override
    public void finished(TaskEvent event) {
        if (event.getKind() != TaskEvent.Kind.ANALYZE) {
            return;
        }
        if (event.getSourceFile() != entry) {
            if (mainClass == null && alternative == null
                    && startsWith(event.getTypeElement())) {
                alternative = event.getSourceFile();
            }
        } else if (unit == null) {
            unit = event.getCompilationUnit();
            search();
        }
    }

    /**
     * Returns the binary name of the first class of the entry file that a
     * program can start with. If there is none, reports it in the form of
     * javac's own errors and returns null.
     */
    String mainClass() {
        if (mainClass != null) {
            return elements.getBinaryName(mainClass).toString();
        }
        explain();
        messages.println("1 error");
        return null;
    }

    private void explain() {
        if (meant != null) {
            report(meant, fault);
        } else if (alternative != null) {
            report(firstType(), "no class of this file has a main method, but "
                + alternative.getName()
                + " has one: it could be the entry file");
        } else {
            report(firstType(), NOTHING_TO_START);
        }
    }

    private void report(Tree place, String message) {
        if (place == null) {
            messages.println(entry.getName() + ": error: " + message);
        } else {
            trees.printMessage(Diagnostic.Kind.ERROR, message, place, unit);
        }
    }

    /** Null if the file declares none. */
    private Tree firstType() {
        return unit == null || unit.getTypeDecls().isEmpty()
            ? null
            : unit.getTypeDecls().getFirst();
    }

    /** Looks through the entry file while its whole tree is there. */
    private void search() {
        for (Tree tree : unit.getTypeDecls()) {
            if (!(tree instanceof ClassTree declaration)
                    || !(element(tree) instanceof TypeElement type)) {
                continue;
            }
            if (startsWith(type)) {
                mainClass = type;
                return;
            }
            for (Tree member : declaration.getMembers()) {
                if (meant == null
                        && element(member) instanceof ExecutableElement method
                        && MainMethod.isMeant(method)) {
                    meant = member;
                    fault = MainMethod.fault(method);
                }
            }
        }
    }

    private Element element(Tree tree) {
        return trees.getElement(TreePath.getPath(unit, tree));
    }

    private boolean startsWith(TypeElement type) {
        return MainMethod.starts(type, elements);
    }
}
