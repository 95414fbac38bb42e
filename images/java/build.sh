# Builds the launcher of Java inside the image, and the caches of loaded
# classes that its two JVMs start from.
home=$(dirname "$(dirname "$(readlink -f /usr/bin/javac)")")
launcher() {
    gcc -O2 -s -Wall -Wextra -Werror -D_GNU_SOURCE "$@" \
        -I"$home/include" -I"$home/include/linux" java.c jvm.c \
        -L"$home/lib/server" -ljvm -Wl,-rpath,"$home/lib/server"
}
launcher -o /opt/sandpiper/java
javac -Xlint:all -Werror -d classes ./*.java
jar --create --file /opt/sandpiper/compiler.jar -C classes .
# A cache holds the time of the archive, which must be one that packing the
# image does not change.
touch --date=2000-01-01 /opt/sandpiper/compiler.jar
# The names that the editor page offers after a dot.
java members/Members.java >/opt/sandpiper/members.json
# Sources for the compiler to practise with.
mkdir /opt/sandpiper/samples
cp training/*.java samples/*.java /opt/sandpiper/samples

# A launcher that records takes the place of the real one, with an empty class
# path: a cache whose class path holds folders fits only if they are empty.
# The JVM then finds classes in the working directory.
launcher -o record -DPROGRAM_CLASS_PATH='""' \
    -DCACHE_OPTION='"-XX:AOTCacheOutput=%s"'
# Profiles stay out: compiling what they name ahead of its use costs short
# programs more than it saves.
export JAVA_TOOL_OPTIONS="-XX:+UnlockDiagnosticVMOptions -XX:-AOTRecordTraining"
mkdir /artifacts
# A file stands for the gate. It is never found open, so that the compiler
# practises and a cache holds what it needs for that.
printf Training.java >entry
(cd training && ../record compile 3<../entry)
(cd /artifacts && echo line | /build/record run 3</build/entry) >output 2>&1
rm /artifacts/*.class

# A JVM that must use its cache fails if that does not fit.
JAVA_TOOL_OPTIONS=-XX:AOTMode=on
(cd training && /opt/sandpiper/java compile 3<../entry)
(cd training && echo line | /opt/sandpiper/java run 3<../entry) >output 2>&1
rm -r /artifacts
