import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the names that may follow a dot in Java, for the editor page.
 * web/src/editor/members/library.ts describes the file.
 */
class Members {
    private static final List<String> PACKAGES = List.of(
            "java.lang", "java.util", "java.util.function", "java.util.stream", "java.util.concurrent",
            "java.util.concurrent.atomic", "java.util.concurrent.locks", "java.util.regex", "java.io", "java.nio.file",
            "java.nio.charset", "java.math", "java.text", "java.time", "java.time.format", "java.time.temporal");

    /** The name of each type. Of two with one name, that of the first package counts. */
    private static final Map<Class<?>, String> NAMES = new LinkedHashMap<>();

    public static void main(String[] args) throws Exception {
        Map<String, Set<String>> packages = new TreeMap<>();
        for (String name : PACKAGES) {
            packages.put(name, new TreeSet<>());
            for (Class<?> type : typesOf(name)) {
                if (add(type)) {
                    packages.get(name).add(type.getSimpleName() + "=" + type.getSimpleName());
                }
            }
        }
        for (String name : PACKAGES) {
            for (int dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
                String inner = name.indexOf('.', dot + 1) < 0 ? name : name.substring(0, name.indexOf('.', dot + 1));
                packages.computeIfAbsent(name.substring(0, dot), _ -> new TreeSet<>())
                        .add(inner.substring(dot + 1) + "=" + inner);
            }
        }
        Map<String, String> types = new TreeMap<>();
        for (Class<?> type : NAMES.keySet()) {
            types.put(withParameters(type), entry(type));
        }
        types.put("E[]", "{\"is\":[\"Object\"],\"has\":\"length:int clone():E[]\",\"each\":\"E\"}");
        System.out.print("{\"globals\":\"java=java\",\"modules\":{" + packages.entrySet().stream()
                .map(one -> quoted(one.getKey()) + ":" + quoted(String.join(" ", one.getValue())))
                .collect(Collectors.joining(",")) + "},\"types\":{" + types.entrySet().stream()
                .map(one -> quoted(one.getKey()) + ":" + one.getValue())
                .collect(Collectors.joining(",")) + "}}");
    }

    private static List<Class<?>> typesOf(String name) throws IOException, ClassNotFoundException {
        Path folder = FileSystems.getFileSystem(URI.create("jrt:/"))
                .getPath("modules/java.base/" + name.replace('.', '/'));
        List<String> files;
        try (Stream<Path> entries = Files.list(folder)) {
            files = entries.map(path -> path.getFileName().toString()).filter(file -> file.matches("\\w+\\.class"))
                    .sorted().toList();
        }
        List<Class<?>> types = new ArrayList<>();
        for (String file : files) {
            types.add(Class.forName(name + "." + file.replace(".class", ""), false, null));
        }
        return types;
    }

    private static boolean add(Class<?> type) {
        String name = type.getName().substring(type.getPackageName().length() + 1).replace('$', '.');
        // Each part of Unicode has a name there.
        boolean isRare = name.startsWith("Character.Unicode");
        if (!Modifier.isPublic(type.getModifiers()) || isRare || NAMES.containsValue(name)) {
            return false;
        }
        NAMES.put(type, name);
        Stream.of(type.getDeclaredClasses()).sorted((a, b) -> a.getName().compareTo(b.getName())).forEach(Members::add);
        return true;
    }

    private static String withParameters(Class<?> type) {
        String parameters = Stream.of(type.getTypeParameters()).map(TypeVariable::getName)
                .collect(Collectors.joining(","));
        return NAMES.get(type) + (parameters.isEmpty() ? "" : "<" + parameters + ">");
    }

    private static String entry(Class<?> type) {
        List<Type> parents = new ArrayList<>();
        parents(type, parents);
        if (type.isInterface() && parents.isEmpty()) {
            parents.add(Object.class);
        }
        Set<String> inherited = new LinkedHashSet<>();
        for (Type parent : parents) {
            addItems(raw(parent), false, inherited);
        }
        Set<String> has = new LinkedHashSet<>();
        addItems(type, false, has);
        has.removeAll(inherited);
        Set<String> own = new LinkedHashSet<>();
        addItems(type, true, own);
        List<String> parts = new ArrayList<>();
        if (!parents.isEmpty()) {
            parts.add("\"is\":[" + parents.stream().map(one -> quoted(text(one))).collect(Collectors.joining(",")) + "]");
        }
        if (!has.isEmpty()) {
            parts.add("\"has\":" + quoted(String.join(" ", has)));
        }
        if (!own.isEmpty()) {
            parts.add("\"own\":" + quoted(String.join(" ", own)));
        }
        if (type == Iterable.class) {
            parts.add("\"each\":\"T\"");
        }
        return "{" + String.join(",", parts) + "}";
    }

    /** The nearest types above that are listed. */
    private static void parents(Class<?> type, List<Type> parents) {
        List<Type> above = new ArrayList<>();
        if (type.getGenericSuperclass() != null) {
            above.add(type.getGenericSuperclass());
        }
        above.addAll(Arrays.asList(type.getGenericInterfaces()));
        for (Type one : above) {
            if (NAMES.containsKey(raw(one))) {
                parents.add(one);
            } else {
                parents(raw(one), parents);
            }
        }
    }

    private static void addItems(Class<?> type, boolean isStatic, Set<String> items) {
        Map<String, String> found = new TreeMap<>();
        // Of several methods with one name, that with the fewest parameters counts.
        List<Method> methods = Stream.of(type.getMethods())
                .sorted(Comparator.comparing(Method::getParameterCount).thenComparing(Method::toGenericString)).toList();
        for (Method method : methods) {
            if (Modifier.isStatic(method.getModifiers()) == isStatic && !method.isBridge()) {
                found.putIfAbsent(method.getName(), method.getName() + "():" + text(method.getGenericReturnType()));
            }
        }
        for (Field field : type.getFields()) {
            if (Modifier.isStatic(field.getModifiers()) == isStatic) {
                found.put(field.getName(), field.getName() + ":" + text(field.getGenericType()));
            }
        }
        if (isStatic) {
            for (Class<?> inner : type.getDeclaredClasses()) {
                if (NAMES.containsKey(inner)) {
                    found.put(inner.getSimpleName(), inner.getSimpleName() + "=" + NAMES.get(inner));
                }
            }
        }
        items.addAll(found.values());
    }

    private static Class<?> raw(Type type) {
        return type instanceof ParameterizedType one ? (Class<?>) one.getRawType() : (Class<?>) type;
    }

    private static String text(Type type) {
        return switch (type) {
            case Class<?> one when one.isArray() -> text(one.getComponentType()) + "[]";
            case Class<?> one -> NAMES.getOrDefault(one, one.getSimpleName());
            case GenericArrayType one -> text(one.getGenericComponentType()) + "[]";
            case ParameterizedType one -> text(one.getRawType()) + Stream.of(one.getActualTypeArguments())
                    .map(Members::text).collect(Collectors.joining(",", "<", ">"));
            case WildcardType one -> text(one.getLowerBounds().length > 0 ? one.getLowerBounds()[0] : one.getUpperBounds()[0]);
            // The call decides on the parameters of a method.
            case TypeVariable<?> one -> one.getGenericDeclaration() instanceof Class<?> ? one.getName() : "?";
            default -> "?";
        };
    }

    private static String quoted(String text) {
        return '"' + text + '"';
    }
}
