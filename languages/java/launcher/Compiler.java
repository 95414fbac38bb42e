// Compiles a submission with javac, in the JVM that the launcher has started.
package sandpiper;

import com.sun.source.util.JavacTask;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Makes classes of the .java files in the working directory. */
final class Compiler {
    private static final Path CLASSES = Path.of("/artifacts");
    /** Read by the launcher's other half. */
    private static final Path MAIN_CLASS = CLASSES.resolve(".main-class");

    private static final List<String> OPTIONS = List.of(
        "-d", CLASSES.toString(),
        "-proc:none",
        // Plugins are looked for here, and not among the submitted files.
        "-processorpath", "",
        // Names of variables are in the messages of NullPointerExceptions.
        "-g",
        // The default of javac itself.
        "-classpath", ".");

    /** The same, and all warnings of javac. */
    private static final List<String> WITH_WARNINGS =
        Stream.concat(OPTIONS.stream(), Stream.of("-Xlint:all")).toList();

    /** javac shows where it was when it fails itself, as when its stack ends. */
    private static final Pattern OWN_FRAME =
        Pattern.compile("(?m)^\\tat [\\w.$/<>]+\\([^()]*\\)\\R");

    private static final JavaCompiler JAVAC =
        ToolProvider.getSystemJavaCompiler();
    private static final StandardJavaFileManager FILES =
        JAVAC.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);

    /** Finds what is there, and writes nothing. */
    private static final JavaFileManager DISCARD = new Discard(FILES);

    private static final String SAMPLES = "/opt/sandpiper/samples/";
    /** Programs that use much of the language and of javac's messages. */
    private static final List<List<String>> PRACTICE = List.of(
        List.of(SAMPLES + "Training.java", SAMPLES + "Library.java"),
        List.of(SAMPLES + "Mistakes.java"),
        List.of(SAMPLES + "Flow.java"),
        List.of(SAMPLES + "Syntax.java"));
    /** With more, compiling becomes only a little faster. */
    private static final int ROUNDS = 2;

    private Compiler() {}

    /**
     * Compiles the submission; {@code entry} is the path of its entry file, in
     * UTF-8. Prints what javac says if the program cannot be run, or if its
     * warnings are asked for. Returns the exit status.
     */
    static int submit(byte[] entry, boolean warnings) throws IOException {
        String path = new String(entry, StandardCharsets.UTF_8);
        if (!path.endsWith(".java")) {
            System.err.println("error: the entry file " + path
                + " is no Java source; its name must end in .java");
            return 1;
        }
        StringWriter messages = new StringWriter();
        String mainClass =
            compile(sources(path), FILES, new PrintWriter(messages),
                warnings ? WITH_WARNINGS : OPTIONS);
        if (mainClass == null || warnings) {
            System.err.print(
                OWN_FRAME.matcher(messages.toString()).replaceAll(""));
        }
        if (mainClass == null) {
            return 1;
        }
        try (var file = new DataOutputStream(
                Files.newOutputStream(MAIN_CLASS))) {
            file.writeUTF(mainClass);
        }
        return 0;
    }

    /**
     * Makes a later submission faster and leaves nothing else: the JVM compiles
     * those parts of javac that compile samples. One step of it; returns
     * whether there is another.
     */
    static boolean practise(int step) {
        compile(PRACTICE.get(step % PRACTICE.size()), DISCARD,
            new PrintWriter(Writer.nullWriter()), OPTIONS);
        if ((step + 1) % PRACTICE.size() == 0) {
            // Keeps the heap small, and a collection out of the submission.
            System.gc();
        }
        return step + 1 < ROUNDS * PRACTICE.size();
    }

    /** Returns the binary name of the class to start, or null. */
    private static String compile(List<String> paths, JavaFileManager files,
            PrintWriter messages, List<String> options) {
        var sources = FILES.getJavaFileObjectsFromStrings(paths);
        var task = (JavacTask) JAVAC.getTask(
            messages, files, null, options, null, sources);
        var search = new MainSearch(task, sources.iterator().next(), messages);
        task.addTaskListener(search);
        return task.call() ? search.mainClass() : null;
    }

    /** The submission's sources in the order of their messages. */
    private static List<String> sources(String entry) throws IOException {
        var sources = new ArrayList<String>();
        sources.add(entry);
        try (Stream<Path> paths = Files.walk(Path.of(""))) {
            paths.map(Path::toString)
                .filter(path -> path.endsWith(".java") && !path.equals(entry))
                .sorted()
                .forEach(sources::add);
        }
        return sources;
    }
}
