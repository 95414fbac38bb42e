// Takes the classes that are compiled for practice, and keeps none.
package sandpiper;

import java.io.OutputStream;
import java.net.URI;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;

/** Finds files as another file manager does. */
final class Discard extends ForwardingJavaFileManager<JavaFileManager> {
    Discard(JavaFileManager files) {
        super(files);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(Location location,
            String className, JavaFileObject.Kind kind, FileObject sibling) {
        return new SimpleJavaFileObject(URI.create("discard:/"), kind) {
            @Override
            public OutputStream openOutputStream() {
                return OutputStream.nullOutputStream();
            }
        };
    }
}
