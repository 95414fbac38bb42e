# Builds the launcher of Java inside the image, and the caches of loaded
# classes and profiles that its two JVMs start from.
home=$(dirname "$(dirname "$(readlink -f /usr/bin/javac)")")
launcher() {
    gcc -O2 -s -Wall -Wextra -Werror -D_GNU_SOURCE "$@" \
        -I"$home/include" -I"$home/include/linux" java.c jvm.c \
        -L"$home/lib/server" -ljvm -Wl,-rpath,"$home/lib/server"
}
launcher -o /opt/sandpiper/java
javac -Xlint:all -Werror -d classes ./*.java
jar --create --file /opt/sandpiper/compiler.jar -C classes .

# A launcher that records takes the place of the real one, with an empty class
# path: a cache whose class path holds folders fits only where they are empty.
# The JVM then finds classes in the working directory.
launcher -o record -DPROGRAM_CLASS_PATH='""' \
    -DCACHE_OPTION='"-XX:AOTCacheOutput=%s"'
mkdir /artifacts
(cd training && ../record compile Training.java)
(cd /artifacts && echo line | /build/record run >/build/output 2>&1)
rm -r /artifacts

