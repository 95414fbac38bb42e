// Which main methods start a program, as `java` of this version decides.
package sandpiper;

import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.ArrayType;
import javax.lang.model.type.TypeKind;
import javax.lang.model.util.ElementFilter;
import javax.lang.model.util.Elements;

/** Rules about one class and its methods. */
final class MainMethod {
    private MainMethod() {}

    /** Whether `java` could start the class; inherited methods count. */
    static boolean starts(TypeElement type, Elements elements) {
        // One that takes the arguments comes before one that takes none.
        return candidates(type, elements)
            .filter(MainMethod::takesArguments).findFirst()
            .or(() -> candidates(type, elements)
                .filter(MainMethod::takesNothing).findFirst())
            .filter(method -> isStatic(method) || isInstantiable(type))
            .isPresent();
    }

    /** Why a method that {@link #isMeant} starts nothing. */
    static String fault(ExecutableElement method) {
        String name = method.getSimpleName().toString();
        if (!name.equals("main")) {
            return "a program starts with a method called main, not " + name;
        }
        if (has(method, Modifier.PRIVATE)) {
            return "a private main method starts no program";
        }
        if (method.getReturnType().getKind() != TypeKind.VOID) {
            return "a main method that starts a program returns void";
        }
        if (!takesArguments(method) && !takesNothing(method)) {
            return "a main method that starts a program takes a String[], "
                + "or nothing";
        }
        return "a main method that is not static starts a program only in a "
            + "class that has a constructor without parameters\n"
            + "Make the method static";
    }

    /** Whether the method was likely meant to start the program. */
    static boolean isMeant(ExecutableElement method) {
        return method.getSimpleName().toString().equalsIgnoreCase("main");
    }

    private static Stream<ExecutableElement> candidates(
            TypeElement type, Elements elements) {
        return ElementFilter.methodsIn(elements.getAllMembers(type)).stream()
            .filter(method -> method.getSimpleName().contentEquals("main"))
            .filter(method -> !has(method, Modifier.PRIVATE))
            .filter(method -> method.getReturnType().getKind() == TypeKind.VOID)
            // Static methods of interfaces are not inherited.
            .filter(method -> !isStatic(method)
                || method.getEnclosingElement().equals(type)
                || !method.getEnclosingElement().getKind().isInterface());
    }

    private static boolean takesNothing(ExecutableElement method) {
        return method.getParameters().isEmpty();
    }

    private static boolean takesArguments(ExecutableElement method) {
        return method.getParameters().size() == 1
            && method.getParameters().getFirst().asType() instanceof ArrayType a
            && a.getComponentType().toString().equals("java.lang.String");
    }

    private static boolean isInstantiable(TypeElement type) {
        return type.getKind() == ElementKind.CLASS
            && !has(type, Modifier.ABSTRACT)
            && ElementFilter.constructorsIn(type.getEnclosedElements()).stream()
                .anyMatch(constructor -> takesNothing(constructor)
                    && !has(constructor, Modifier.PRIVATE));
    }

    private static boolean isStatic(ExecutableElement method) {
        return has(method, Modifier.STATIC);
    }

    private static boolean has(Element element, Modifier modifier) {
        return element.getModifiers().contains(modifier);
    }
}
